"""Results that fio itself wrote: logs as series, all versions, and those that contradict themselves."""

import json

import pytest
from command import ioplan
from fio_documents import NOTHING, direction, document, job

from golden import Golden
from ioplan.language import Source
from ioplan.results.store import Store
from ioplan.workload import DIRECTIONS
from ioplan_importer import (
    SUMMARY_ONLY,
    Findings,
    ImportFault,
    import_results,
    log_of,
)


def series(*logs, ios, run_s=2, **options):
    """The intervals of a run with these logs, and what is told of them.

    A log is its kind with the number of its thread, and its text. All I/Os of the run
    stand in its first thread.
    """
    ran = {"runtime": int(run_s * 1000)}
    first = {way: direction(count) | ran for way, count in ios.items()}
    threads = {int(name.split(".")[1]) for name, _ in logs}
    own = {"job options": {"rw": "randrw", **options}, "job_runtime": ran["runtime"]}
    jobs = [
        job(**own, **(first if n == 1 else {"read": NOTHING})) for n in sorted(threads)
    ]
    findings, text = Findings(), json.dumps(document(*jobs))
    found = [log_of(Source(f"a_{name}.log", log)) for name, log in logs]
    made = import_results(Source("r.json", text), None, None, None, findings, found)
    ((_, detail),) = made.records
    told = [one.message for one in findings.found if "the logs" in one.message]
    return detail.series, told


def test_every_io_of_several_threads():
    one = ("clat.1", "1, 1000, 0, 4096, 0\n1000, 3000, 1, 8192, 0\n")
    two = ("clat.2", "1001, 5000, 0, 4096\n1400, 9000, 2, 4096\n")
    (first, last), found = series(one, two, ios={"read": 2, "write": 1}, run_s=1.5)
    assert not found
    assert (first.t_s, first.length_s, last.t_s, last.length_s) == (1, 1, 1.5, 0.5)
    assert (first.ios, first.bytes) == (
        {"read": 1, "write": 1},
        {"read": 4096, "write": 8192},
    )
    assert (first.mean_ns, first.max_ns, first.p50_ns) == (2000, 3000, 1001.5)
    assert last.ios == {"read": 1, "trim": 1}
    assert last.max_ns == 5000  # of reads and writes


def test_averages_are_weighted_by_the_threads_iops():
    rows = "1000, {}, 0, 0, 0\n2000, {}, 0, 0, 0\n"
    logs = [
        (f"{kind}.{thread}", rows.format(*values))
        for kind, thread, values in (
            *(("iops", 1, (100, 100)), ("iops", 2, (300, 0))),
            *(("bw", 1, (400, 400)), ("bw", 2, (1200, 0))),
            *(("clat", 1, (1000, 1000)), ("clat", 2, (5000, 7000))),
        )
    ]
    found, told = series(*logs, ios={"read": 500}, log_avg_msec="1000")
    assert not told
    assert [one.ios["read"] for one in found] == [400, 100]
    assert [one.bytes["read"] for one in found] == [400 * 4096, 100 * 4096]
    assert [one.mean_ns for one in found] == [4000, 1000]
    assert all(one.p50_ns is None for one in found)


def test_an_interval_that_a_thread_did_not_end_is_left_out():
    whole = "".join(f"{t}, 100, 0, 0\n" for t in (500, 1000, 1500))
    cut = "".join(f"{t}, 100, 0, 0\n" for t in (500, 1000))
    logs = [
        (f"{kind}.{thread}", text)
        for kind in ("iops", "bw")
        for thread, text in ((1, whole), (2, cut))
    ]
    found, told = series(*logs, ios={"read": 300}, run_s=1.5, log_avg_msec="500")
    assert [(one.t_s, one.ios) for one in found] == [
        (0.5, {"read": 100}),
        (1.0, {"read": 100}),
    ]
    assert not told


def test_averages_over_other_times_than_asked():
    """fio's first row was of 408 ms, where 250 were asked."""
    rows = "408, 500, 0, 0\n658, 1000, 0, 0\n908, 500, 0, 0\n"
    logs = [(f"{kind}.1", rows) for kind in ("iops", "bw")]
    found, told = series(*logs, ios={"read": 579}, run_s=0.908, log_avg_msec="250")
    assert [one.ios["read"] for one in found] == [125, 171, 204, 79]
    assert [one.t_s for one in found] == [0.25, 0.5, 0.75, 0.908] and not told


def test_logs_of_another_run_are_reported():
    one = ("lat.1", "1, 1000, 0, 4096\n1900, 2000, 0, 4096\n")
    _, told = series(one, ios={"read": 900})
    assert "the logs have 2 reads, and the result has 900" in told[0]


@pytest.mark.parametrize(
    ("name", "text", "message", "line"),
    [
        ("a_lat.1.log", "1, 2, 0, 4096\n2, 3, 0\n", "no row of 4 numbers", "2, 3, 0"),
        ("a_bw.1.log", "1, x, 0, 4096\n", "no row of 4 numbers", "1, x"),
        ("a_clat_hist.1.log", "1, 0, 4096, 5\n", "no row of 1859 numbers", "1, 0"),
        ("a_lat.1.log", "1763800000000, 2, 0, 4096\n", "since 1970", "1763800000000"),
    ],
)
def test_what_is_no_log(name, text, message, line):
    with pytest.raises(ImportFault, match=message) as caught:
        log_of(Source(name, text))
    assert line in caught.value.diagnostic.render()


def test_logs_that_say_too_little():
    with pytest.raises(ImportFault, match="too little") as caught:
        series(("iops.1", "1000, 5, 0, 0\n"), ios={"read": 5})
    assert "write_bw_log" in caught.value.diagnostic.render()


# results that fio itself wrote, from 3.1 to 3.42: golden cases VERSION[.plus]
#
# Of versions that write the same fields (3.19 to 3.33) the last one is kept. jobs.fio,
# beside them, ran on the engine null; `plus` is json+, as --output-format has it.

RESULTS = Golden("fio_results")
VERSIONS = [case for case in RESULTS if case[0] == "3"]
SIZES = {"mixed": 4096, "threads": 16384}
IOS = {"mixed": 2048, "threads": 1024}
BUCKET = 1 / 64
"""The width of a bucket of fio, relative."""


def imported(case, jobs=None):
    source = Source(f"{case}.json", RESULTS[case].input)
    return import_results(source, jobs, None, None, Findings())


def with_jobs(case):
    return imported(case, Source("jobs.fio", RESULTS["jobs.fio"].input))


@pytest.mark.parametrize("case", VERSIONS)
def test_figures_are_those_of_the_document(case):
    document = json.loads(RESULTS[case].input)
    made = with_jobs(case)
    assert len(made.records) == 2
    for (record, _), own in zip(made.records, document["jobs"], strict=True):
        assert record.backend.version == case.removesuffix(".plus")
        assert record.asked.test == own["jobname"]
        assert (
            sum(part.ios for part in record.directions.values()) == IOS[own["jobname"]]
        )
        for way, part in record.directions.items():
            of = own[way]
            assert part.ios == of["total_ios"]
            assert part.bytes == part.ios * SIZES[own["jobname"]]
            assert part.latency
            assert part.latency.mean_ns == pytest.approx(of["clat_ns"]["mean"], abs=1)
            assert part.latency.max_ns == of["clat_ns"]["max"]
            check_percentiles(part.latency.percentiles, of["clat_ns"]["percentile"])


def check_percentiles(found, told):
    """Those that fio wrote; rebuilt of a histogram they may be half a bucket off."""
    by_percent = {one.percent: one.latency_ns for one in found}
    both = [
        (by_percent[p], ns) for t, ns in told.items() if (p := float(t)) in by_percent
    ]
    assert len(both) >= 5
    for ours, theirs in both:
        assert ours == pytest.approx(theirs, rel=BUCKET, abs=1)


@pytest.mark.parametrize("case", VERSIONS)
def test_histograms_are_kept_where_fio_gave_them(case):
    for record, detail in with_jobs(case).records:
        plus = ".plus" in case
        assert (SUMMARY_ONLY in record.warnings) is not plus
        kept = {one.direction: one for one in detail.histograms}
        used = [d for d in DIRECTIONS if d in record.directions]
        assert list(kept) == (used if plus else [])
        for way, one in kept.items():
            assert sum(one.bins[1::2]) == record.directions[way].ios


def test_all_versions_ran_the_same():
    """The job file decides on the run ids, so that versions can be compared."""
    ids = {tuple(r.run_id for r, _ in with_jobs(case).records) for case in VERSIONS}
    assert len(ids) == 1


def test_a_run_that_failed():
    made = imported("failed")
    record, _ = made.records[0]
    assert (made.session.status, record.status) == ("failed", "failed")
    assert "error 28" in record.message


# results of fio that contradict themselves are not stored as ok; true ones all are


def stored(folder, text):
    source = folder / "r.json"
    source.write_text(text)
    done = ioplan("import", source, "--store", folder / "r.db")
    with Store.open(folder / "r.db") as store:
        records = list(store.records(store.session("last").id))
    assert records, done.err
    return records[0]


LIES = {
    "a mean below the smallest": ("mean", 1e-6),
    "a mean above the largest": ("mean", 1e6),
    "a mean of a third": ("mean", 1 / 3),
    "a deviation without end": ("stddev", 1e4),
    "the extremes swapped": ("min", 1e9),
    "more in the histogram than I/Os": ("bins", 1000),
    "IOPS tenfold": ("iops", 10),
    "bandwidth tenfold": ("bw_bytes", 10),
    "bytes twice": ("io_bytes", 2),
    "a tenth of the time": ("runtime", 0.1),
}


def falsified(way, name, factor):
    """Change a figure of a direction, or of its latencies."""
    latencies = [
        one for key in ("clat_ns", "lat_ns") if (one := way.get(key, {})).get("bins")
    ]
    for part in [way] if name in way else latencies:
        if name == "bins":
            part["bins"][next(iter(part["bins"]))] += 1000
        else:
            kind = type(part[name])
            part[name] = kind(part[name] * factor)


@pytest.mark.parametrize("lie", LIES)
def test_a_changed_result_is_inconsistent(lie, tmp_path):
    told = json.loads(RESULTS["3.33.plus"].input)
    for own in told["jobs"]:
        for way in ("read", "write"):
            falsified(own[way], *LIES[lie])
    record = stored(tmp_path, json.dumps(told))
    assert (record.status, record.cause, record.verdicts) == (
        *("failed", "inconsistent"),
        (),
    ), record.message


@pytest.mark.parametrize("case", [case for case in RESULTS if case[0] == "3"])
def test_a_true_result_is_not(case, tmp_path):
    assert stored(tmp_path, RESULTS[case].input).cause != "inconsistent"
