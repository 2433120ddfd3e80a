"""fio's JSON as sessions: nothing is lost in silence, and nothing invented."""

import copy
import json
import re
import subprocess

import pytest
from command import ioplan, plan_file
from fio_documents import BINS, NOTHING, direction, document, job, summary
from fio_jobs import NEEDS_FIO

from ioplan.language import Metric, Source
from ioplan.results.measure import Sample, figure
from ioplan.results.store import Store
from ioplan_importer import (
    SUMMARY_ONLY,
    Findings,
    ImportFault,
    import_results,
    kind_of,
)


def imported(*documents, around=""):
    lines = (json.dumps(one) + "\n" for one in documents)
    return imported_text(around + around.join(lines) + around)


def imported_text(text):
    return import_results(Source("r.json", text), None, None, None, Findings())


def value(session, metric):
    record, detail = session.records[0]
    found = figure(metric, [Sample(record, detail)])
    return found.value, found.why


def test_json_plus_has_its_histogram():
    session = imported(document())
    record, detail = session.records[0]
    assert (record.total.ios, record.total.iops, record.run_s) == (1000, 500.0, 2.0)
    assert record.total.latency and record.total.latency.mean_ns == 90_000
    assert sum(detail.histograms[0].bins[1::2]) == 1000
    p99, _ = value(session, Metric(name="p99"))
    assert p99 == pytest.approx(120_320, rel=0.01)
    assert SUMMARY_ONLY not in record.warnings
    assert record.cpu_percent == pytest.approx(30.0)


def verifies(record):
    return any("verif" in one for one in record.warnings)


def test_reads_that_verify_are_none_of_a_job_that_writes():
    """They come in a phase of their own, and the longest phase is not the whole time."""
    done = job(**{"job options": {"rw": "randwrite"}}, write=summary())
    (record, _) = imported(document(done)).records[0]
    assert (record.total.ios, record.total.iops) == (1000, 500.0)
    assert list(record.directions) == ["write"] and verifies(record)
    both = job(**{"job options": {"rw": "randrw"}}, write=summary())
    (record, _) = imported(document(both)).records[0]
    assert record.total.ios == 2000 and not verifies(record)


@pytest.mark.parametrize(
    ("engine", "version", "depth"),
    [("io_uring", "3.33", 8), ("io_uring", "3.39", 6), ("libaio", "3.33", 6)],
)
def test_the_queue_depth_is_that_of_the_fio_that_ran(engine, version, depth):
    """Also where the depth is an option of all jobs."""
    told = {"direct": "1", "ioengine": engine, "runtime": "2", "iodepth": "6"}
    one = job(**{"job options": {"rw": "randread"}})
    more = {"global options": told, "fio version": f"fio-{version}"}
    (record, _) = imported(document(one, **more)).records[0]
    assert record.asked.job.streams[0].qd == depth


def test_plain_json_has_the_percentiles_that_fio_wrote_and_no_other():
    session = imported(document(job(read=summary())))
    record, detail = session.records[0]
    assert not detail.histograms and SUMMARY_ONLY in record.warnings
    assert value(session, Metric(name="p99")) == (120_320, "")
    none, why = value(session, Metric(name="p95"))
    assert none is None and why == "only a summary was recorded, no histogram"
    none, why = value(session, Metric(name="p99.99"))
    assert none is None and "too few" in why


def test_summaries_are_not_merged():
    both = document(job(read=summary(), write=summary()))
    session = imported(both)
    none, why = value(session, Metric(name="p99"))
    assert none is None and "summary" in why
    one = Metric(name="p99", direction="read")
    assert value(session, one) == (120_320, "")
    mean, _ = value(session, Metric(name="mean"))
    assert mean == pytest.approx(90_000)


def test_a_histogram_of_some_threads_is_none_of_all():
    session = imported(document(job(), job(read=summary())))
    record, detail = session.records[0]
    assert record.total.ios == 2000 and not detail.histograms
    assert record.total.latency and not record.total.latency.percentiles


def test_it_is_marked_everywhere():
    session = imported(document())
    record, _ = session.records[0]
    assert session.session.backend == "fio, imported"
    assert (record.backend.mode, record.target["kind"]) == ("imported", "imported")
    assert any("ioplan did not measure it" in one for one in record.warnings)
    assert record.telemetry is None and record.host == {}


def test_the_oldest_form():
    """3.1 has no N, and the layout's constants among the buckets."""
    old = job()
    del old["read"]["clat_ns"]["N"]
    old["read"]["clat_ns"]["bins"] = {"FIO_IO_U_PLAT_BITS": 6, **BINS}
    session = imported(document(old, **{"fio version": "fio-3.1"}))
    assert sum(session.records[0][1].histograms[0].bins[1::2]) == 1000


@pytest.mark.promise("import.same_ids")
def test_a_run_is_that_of_the_same_plan(tmp_path):
    """What fio was asked and what a plan asks have one id."""
    session = imported(document())
    text = 'test "T" { run random 4KiB 100/0, qd 4, permuted for 2s }'
    plan = plan_file(tmp_path, text)
    store = ("--store", tmp_path / "s.db")
    assert (
        ioplan("run", plan, "--backend", "sim", "--create", "64MiB", *store).code == 0
    )
    ours = json.loads(ioplan("export", "--format", "json", *store).out)
    assert ours["runs"][0]["run_id"] == session.records[0][0].run_id


def test_text_around_and_several_documents_are_one_run():
    half = copy.deepcopy(document())
    half["jobs"][0]["read"] = direction(400, bins={"80384": 400}) | {"runtime": 1000}
    session = imported(half, document(), around="fio: this is a message\n")
    record, detail = session.records[0]
    assert record.total.ios == 1000 and len(session.records) == 1
    assert [(one.t_s, one.ios["read"]) for one in detail.series] == [(1, 400), (2, 600)]


def test_groups_are_runs_and_jobs_of_one_are_streams():
    log = job(jobname="b", **{"job options": {"rw": "write", "bs": "64k"}})
    log |= {"read": NOTHING, "write": summary()}
    last = job(jobname="c", groupid=1)
    session = imported(document(job(), log, last))
    streams = [[one.name for one in record.streams] for record, _ in session.records]
    assert streams == [["a", "b"], ["main"]]


def old(version):
    return json.dumps(document(**{"fio version": version}))


OLD_NAMES = {"io_bytes": 4, "total_ios": 1, "clat": {"min": 7, "max": 7, "mean": 7.0}}
ONE_DIRECTION = {k: v for k, v in job().items() if k not in ("read", "write", "trim")}
NO_RESULTS = [
    (json.dumps(document(), indent=1)[:300], "the document that begins in line 2 is cut off", 9),
    ('{"jobs": oops}', "this is no JSON: Expecting value", 2),
    ("fio: failed\n", "there is no result of fio in it", 1),
    (json.dumps(document(jobs=[])), "fio ran no job: it failed before", 2),
    ('{"fio version": "fio-3.2", "jobs": [{"jobname": "a"}]}', "no result of fio 3.1 or newer", 2),
    (json.dumps(document(job(**{"job options": {"ioengine": "net"}}))), "its options are no workload", 1),
    (json.dumps(document(ONE_DIRECTION | {"mixed": summary()})), "unified_rw_reporting", 1),
    # their µs and KiB would be taken for ns and bytes, whatever version they say
    *(
        (old(version), rf"of {version}, whose latencies are in µs", 1)
        for version in ("fio-2.0.13", "fio-2.16", "fio-2.99", "fio-3.0")
    ),
    (json.dumps(document(job(read=OLD_NAMES))), "in µs", 1),
    (json.dumps(document(job(read=OLD_NAMES), **{"fio version": "built by hand"})), "in µs", 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "line"), NO_RESULTS)
def test_what_is_no_result(text, message, line):
    source = Source("r.json", "hello\n" + text)
    with pytest.raises(ImportFault, match=message) as caught:
        import_results(source, None, None, None, Findings())
    span = caught.value.diagnostic.span
    assert span.source.position(span.start)[0] >= min(line, 1)
    assert caught.value.diagnostic.render().startswith("error: ")


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("3;fio-3.33;a;0;0;145308;", "--output-format=json+"),
        ("a: (g=0): rw=randread, bs=(R) 4096B\nfio-3.33\n", "--output-format=json+"),
        ("3;fio-2.16;a;0;0;1;2;3\n", ""),
    ],
)
def test_other_output_of_fio_is_known(text, help):
    with pytest.raises(ImportFault, match="." if help else "or its terse one") as fault:
        kind_of(Source("out.txt", text))
    assert help in (fault.value.diagnostic.help or "")


def test_a_cut_document_behind_whole_ones_is_told():
    findings = Findings()
    text = json.dumps(document()) + "\n" + json.dumps(document(), indent=1)[:200]
    made = import_results(Source("r.json", text), None, None, None, findings)
    assert len(made.records) == 1 and "is cut off" in findings.losses[0].message


def test_importing_twice_changes_nothing(tmp_path):
    file = tmp_path / "r.json"
    file.write_text(json.dumps(document()))
    store = ("--store", tmp_path / "s.db")
    first = ioplan("import", file, "--drive", "d1", "--tag", "old", *store)
    again = ioplan("import", file, "--drive", "d1", "--tag", "old", *store)
    assert (first.code, again.code) == (0, 0), first.err
    assert "imported before" in again.out
    assert ioplan("ls", *store).out.count("imported") == 1
    shown = ioplan("show", *store)
    assert shown.code == 0 and "ioplan did not measure it" in shown.out
    changed = json.loads(file.read_text())
    changed["jobs"][0]["read"]["total_ios"] = 1100
    file.write_text(json.dumps(changed))
    assert ioplan("import", file, "--drive", "d1", *store).code == 0
    ids = sorted(set(re.findall(r"20231114-\d{6}-\w+", ioplan("ls", *store).out)))
    assert len(ids) == 2
    assert " a " in ioplan("compare", *ids, *store).out.replace("─", " ")
    page = tmp_path / "r.html"
    assert ioplan("report", "-o", page, *store).code == 0
    assert "imported" in page.read_text()


def test_an_import_that_was_killed_is_finished(tmp_path, monkeypatch):
    file, store = tmp_path / "r.json", ("--store", tmp_path / "s.db")
    file.write_text(json.dumps(document(job(), job(jobname="c", groupid=1))))
    add = Store.add

    def killed(self, record, detail):
        if record.seq > 1:
            raise KeyboardInterrupt
        return add(self, record, detail)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "add", killed)
        assert ioplan("import", file, *store).code == 130
    again = ioplan("import", file, *store)
    assert again.code == 0 and "imported before" not in again.out
    assert (
        len(json.loads(ioplan("export", "--format", "json", *store).out)["runs"]) == 2
    )
    assert "imported before" in ioplan("import", file, *store).out


@pytest.mark.slow
@NEEDS_FIO
def test_real_results_with_the_job_file_that_ran(tmp_path):
    """The job file tells what the JSON leaves out, such as norandommap."""
    jobs = tmp_path / "j.fio"
    jobs.write_text(
        "[global]\nioengine=null\nfilename=x\nsize=8m\nrw=randread\nnorandommap\n"
        "[a]\nnumjobs=2\n[b]\nstonewall\nbs=64k\n"
    )
    words = ["--output-format=json+", "--output=r.json", "j.fio"]
    subprocess.run(["fio", *words], cwd=tmp_path, check=True)
    store = ("--store", tmp_path / "s.db")
    done = ioplan("import", jobs, tmp_path / "r.json", *store)
    assert done.err.count("warning:") == done.code == 1, done.err
    assert "ioengine=null does no I/O" in done.err
    runs = json.loads(ioplan("export", "--format", "json", *store).out)["runs"]
    assert [run["total"]["ios"] for run in runs] == [2 * 2048, 128]
    assert not runs[0]["asked"]["workload"]["streams"][0]["permuted"]


UNMEASURED = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
LAST_NS = 17_112_760_320
"""fio's last bucket, which holds all that took longer."""


@pytest.mark.parametrize("version", ["fio-3.1", "fio-3.33-12-gabc", "fio-10.2"])
def test_newer_ones_are_not(version):
    assert imported(document(**{"fio version": version})).records


def test_a_latency_that_was_not_measured_is_absent(tmp_path, store_path):
    """As with gtod_reduce: not 0, in no figure, and never the first."""
    read = direction(1000, **UNMEASURED) | {"lat_ns": UNMEASURED}
    file = tmp_path / "r.json"
    file.write_text(json.dumps(document(job(read=read))))
    assert ioplan("import", file).code == 0
    shown = ioplan("show", "--tables").out
    assert "0 ns" not in shown and "fio measured no latency" in shown
    assert "it was not measured" in shown
    for name in ("mean", "p99", "max", "read.mean"):
        assert "no latency" in ioplan("show", "--metric", name).out
    (row,) = json.loads(ioplan("export", "last", "--format", "json").out)["runs"]
    assert row["total"]["latency"] is row["directions"]["read"]["latency"] is None


@pytest.mark.parametrize(
    ("changes", "mean_ns"),
    [
        ({"clat_ns": UNMEASURED, "lat_ns": {**UNMEASURED, "max": 9, "mean": 9.0, "N": 1}}, 9.0),
        ({"lat_ns": UNMEASURED}, 90_000.0),
        ({"clat_ns": {**UNMEASURED, "N": None}}, None),
    ],
    ids=["disable_clat", "disable_lat", "before N was written"],
)  # fmt: skip
def test_of_two_latencies_the_measured_one_counts(changes, mean_ns):
    session = imported(document(job(read=direction(1000) | changes)))
    assert value(session, Metric(name="mean"))[0] == mean_ns


def test_a_part_that_was_not_measured_makes_the_whole_unknown():
    """One of two threads, and one of two directions."""
    unmeasured = direction(1000, **UNMEASURED)
    threads = imported(document(job(), job(read=unmeasured)))
    assert value(threads, Metric(name="mean"))[0] is None
    mixed = job(write=unmeasured, **{"job options": {"rw": "randrw"}})
    session = imported(document(mixed))
    assert value(session, Metric(name="mean"))[0] is None
    assert value(session, Metric(name="mean", direction="read"))[0] == 90_000.0


@pytest.mark.parametrize("bins", [{}, {"90112": 400, str(LAST_NS): 600}])
def test_a_saturated_percentile_is_a_bound(bins, tmp_path, store_path):
    """Summary or histogram: no figure, the bound as its reason, and a verdict of it."""
    percentile = {"50.000000": 90_112, "99.000000": LAST_NS}
    largest = {"max": 94_396_000_000, "mean": 41e9}
    read = direction(1000, percentile=percentile, bins=bins, **largest)
    session = imported(document(job(read=read)))
    record, detail = session.records[0]
    found = figure(Metric(name="p99"), [Sample(record, detail)])
    assert found.value is None and found.at_least == LAST_NS
    assert value(session, Metric(name="p50"))[0] == 90_112
    assert value(session, Metric(name="mean"))[0] == pytest.approx(41e9)
    file = tmp_path / "r.json"
    file.write_text(json.dumps(document(job(read=read))))
    assert ioplan("import", file).code == 0
    shown = " ".join(ioplan("show", "--tables").out.split())
    assert "at least 17.1 s" in shown and "lower bounds" in shown
    assert "17.1 s p99" not in shown


def test_a_percentile_in_the_last_bucket_is_none_where_nothing_is_beyond_it():
    percentile = {"99.000000": LAST_NS}
    read = direction(1000, percentile=percentile, max=LAST_NS + 9)
    session = imported(document(job(read=read)))
    assert value(session, Metric(name="p99"))[0] == LAST_NS


def test_a_client_has_the_jobs_of_its_servers_and_not_their_sum():
    one = document(client_stats=[job(jobname="a"), job(jobname="b"), job(jobname="All clients")])  # fmt: skip
    del one["jobs"]
    session = imported(one, around='<h1> {"hostname": "h1"}\n')
    (record, _) = session.records[0]
    assert [stream.name for stream in record.streams] == ["a", "b"]
    assert record.total.ios == 2000


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    "prefix", ["", "2026-11-27T10:00:00.123Z ", "fio_1  | ", "[10:00:01] ", "   12: "]
)
def test_what_a_log_has_before_each_line_is_left_out(prefix, indent):
    text = json.dumps(document(), indent=1).replace("\n", f"\n{prefix}")
    half = document(job(read=direction(400, bins={"80384": 400}) | {"runtime": 1000}))
    listed = json.dumps([half, document()], indent=indent)
    for one, intervals in ((f"{prefix}fio starts\n{prefix}{text}\n", 0), (listed, 2)):
        ((record, detail),) = imported_text(one).records
        assert (record.total.ios, len(detail.series)) == (1000, intervals)
