"""Exports agree with the store, the report and verdicts; figures for programs of fleets."""

import csv
import io
import json
import sys
from datetime import datetime
from decimal import Decimal
from itertools import product

import pyarrow.parquet
import pytest
from command import ioplan, plan_file
from figures import SESSION_ID as ID
from figures import assessed, interval, measurement, record, run, without_io
from plans import checked
from sessions import put

from ioplan import ExplainedError
from ioplan.records import EventMade, RunDetail, RunRecord
from ioplan.results import export
from ioplan.results.measure import Sample
from ioplan.results.report import document
from ioplan.results.store import Store
from ioplan.runner import judge

NASTY = 'a,"b"\nc\rd; =1+1 é'


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "results.db") as opened:
        other = run(2, cell={"qd": "8", "note": NASTY})
        put(opened, run(1), other, without_io(3, cell={"qd": "16"}))
        yield opened


def exported(store, format, **options):
    out = io.BytesIO()
    export(store, "last", format, out, **options)
    return out.getvalue()


def from_csv(data):
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def from_parquet(data):
    rows = pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist()
    return [{k: v for k, v in row.items() if v is not None} for row in rows]


READ = {"csv": from_csv, "parquet": from_parquet}


def as_csv(row):
    """What the cells of a row look like; an absent value is empty."""
    words = {True: "true", False: "false", None: ""}
    return {
        name: words[value] if isinstance(value, bool) or value is None else str(value)
        for name, value in row.items()
    }


@pytest.mark.parametrize("series", [False, True])
@pytest.mark.promise("figures.export")
def test_csv_and_parquet_have_the_same_rows(store, series):
    found = from_csv(exported(store, "csv", series=series))
    typed = from_parquet(exported(store, "parquet", series=series))
    for row, want in zip(found, map(as_csv, typed), strict=True):
        assert {k: row[k] for k in want} == want
    assert all(len(row) == len(found[0]) and None not in row for row in found)


@pytest.mark.promise("figures.export")
def test_a_series_has_what_the_intervals_have(store):
    rows = from_parquet(exported(store, "parquet", series=True))
    points = [(n, point) for n in (1, 2, 3) for point in store.detail(ID, n).series]
    assert len(rows) == 6
    for row, (seq, point) in zip(rows, points, strict=True):
        assert (row["seq"], row["t_s"], row["length_s"]) == (seq, point.t_s, 1.0)
        for direction in ("read", "write"):
            assert row[f"{direction}_ios"] == point.ios[direction]
            assert row[f"{direction}_bytes"] == point.bytes[direction]
        for name in ("mean_ns", "p50_ns", "p99_ns", "p99_9_ns", "max_ns"):
            assert row[name.replace("p99_9", "p99.9")] == getattr(point, name)
    lines = exported(store, "jsonl", series=True).splitlines()
    document = json.loads(exported(store, "json", series=True))
    assert [json.loads(line) for line in lines] == document["series"] == rows


@pytest.mark.parametrize("format", READ)
def test_streams_add_up_to_the_runs(store, format):
    """Three intervals of two directions in each of two runs; the third has no counts."""
    rows = READ[format](exported(store, format, series=True, streams=True))
    places = [(int(row["seq"]), float(row["t_s"]), row["scope"]) for row in rows]
    assert places == [*product((1, 2), (1.0, 2.0, 3.0), ("read", "write"))]
    for one in list(store.records(ID))[:2]:
        for scope, told in one.directions.items():
            own = [r for r in rows if (int(r["seq"]), r["scope"]) == (one.seq, scope)]
            assert sum(int(row["ios"]) for row in own) == told.ios
            assert sum(int(row["bytes"]) for row in own) == told.bytes
            assert told.latency
            assert max(int(row["max_ns"]) for row in own) == told.latency.max_ns
            for row in own:
                p50, p99 = float(row["p50_ns"]), float(row["p99_ns"])
                assert p50 <= p99 <= int(row["max_ns"])


def test_rows_agree_with_the_records(store):
    rows = from_parquet(exported(store, "parquet"))
    scopes = [*product((1, 2), ("total", "read", "write")), (3, "total")]
    assert [(r["seq"], r["scope"]) for r in rows] == scopes
    first, write, failed = rows[0], rows[2], rows[6]
    one = next(store.records(ID))
    latency = one.total.latency
    assert latency is not None
    assert first["iops"] == one.total.iops
    assert first["p99_ns"] == latency.percentiles[3].latency_ns
    assert first["p50_supported"] and not first["p99.999_supported"]
    assert first["p99.999_ns"] == latency.percentiles[6].latency_ns
    assert write["ios"] == one.directions["write"].ios
    assert failed["ios"] == 0 and "mean_ns" not in failed


@pytest.fixture
def rounds(tmp_path):
    """Five rounds of two cells, and round 4 of one of them done once more."""
    values = []
    turns = [*product(range(1, 6), ("4", "8")), (4, "8")]
    made = [record(20, cell={}, test="alone")]
    for seq, (number, qd) in enumerate(turns, start=1):
        asked = {"cell": {"qd": qd}, "run_id": f"{number} {qd}", "round": number}
        one = record(seq, measurement(seq), **asked)
        if qd == "4":
            values.append(one.total.iops)
            steady = assessed(*values, window=3, range_percent=1000)
            one = one.model_copy(update={"steady": steady})
        made.append(one)
    with Store.open(tmp_path / "rounds.db") as store:
        put(store, *made)
        yield store


@pytest.mark.parametrize("format", READ)
def test_a_row_says_its_round_and_if_it_counts(rounds, format):
    """The figures of the marked rows are those of the report."""
    found = READ[format](exported(rounds, format))
    rows = [row for row in found if row["scope"] == "total"]

    def are(name, said):
        return [row for row in rows if str(row.get(name, "")).lower() == said]

    def numbers(some):
        return {int(row["round"]) for row in some}

    assert numbers(are("in_window", "true")) == {3, 4, 5}
    assert numbers(are("in_window", "false")) == {1, 2}
    replaced = are("current", "false")
    assert [(int(row["seq"]), int(row["round"])) for row in replaced] == [(8, 4)]
    (alone,) = are("test", "alone")
    assert not alone.get("in_window") and alone in are("current", "true")
    (section, *_) = document(rounds, [rounds.session(ID)], {}, "").sections
    for row in section.runs.records():
        if row["scope"] != "all":
            continue
        counted = [r for r in are("in_window", "true") if r["cell.qd"] == row["d0"]]
        counted = [one for one in counted if one not in replaced]
        assert len(counted) == 3 == row["runs"] and row["rounds"] == "3–5 steady"
        ios = sum(int(one["ios"]) for one in counted)
        run_s = sum(float(one["run_s"]) for one in counted)
        assert row["iops"] == pytest.approx(ios / run_s)
    windows = json.loads(exported(rounds, "json"))["windows"]
    assert windows == {"demo": {"first": 3, "last": 5, "steady": True, "own": {}}}


def test_csv_has_lines_for_unix_and_quotes_what_needs_it(store):
    data = exported(store, "csv")
    assert b"\r\n" not in data
    assert from_csv(data)[3]["cell.note"] == NASTY
    header = data.splitlines()[0].decode().split(",")
    assert header[:2] == ["session", "seq"]
    assert {"cell.qd", "cell.bs", "cell.note", "p99.999_supported"} <= set(header)


def test_parquet_has_types(store):
    data = io.BytesIO(exported(store, "parquet"))
    schema = pyarrow.parquet.read_schema(data)
    kinds = {name: str(schema.field(name).type) for name in schema.names}
    assert kinds["seq"] == "int64" and kinds["iops"] == "double"
    assert kinds["p99.9_supported"] == "bool" and kinds["cell.qd"] == "string"


def test_json_is_one_document_and_jsonl_a_record_a_line(store):
    document = json.loads(exported(store, "json", detail=True))
    assert document["session"]["id"] == ID
    for runs in (
        document["runs"],
        map(json.loads, exported(store, "jsonl").splitlines()),
    ):
        found = [RunRecord.model_validate(one) for one in runs]
        assert found == list(store.records(ID))
    for detail in document["details"]:
        seq = detail.pop("seq")
        assert RunDetail.model_validate(detail) == store.detail(ID, seq)
    assert "details" not in json.loads(exported(store, "json"))


@pytest.mark.parametrize("series", [False, True])
def test_an_empty_session_is_exported(tmp_path, series):
    with Store.open(tmp_path / "empty.db") as store:
        put(store)
        for format in ("json", "jsonl", "csv", "parquet"):
            data = exported(store, format, series=series)
            assert data or format == "jsonl"
            assert format != "parquet" or from_parquet(data) == []


@pytest.mark.parametrize(
    ("format", "options", "said"),
    [
        ("parket", {}, "did you mean 'parquet'"),
        ("csv", {"detail": True}, "json only"),
        ("csv", {"streams": True}, "add --series"),
        ("json", {"phases": True}, "csv or parquet"),
        ("pkb", {"series": True}, "leave --series out"),
    ],
)
def test_what_no_format_has_is_refused(store, format, options, said):
    with pytest.raises(ExplainedError, match=said):
        exported(store, format, **options)


def test_the_missing_extra_is_named(store, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ExplainedError, match=r"pip install 'ioplan\[parquet\]'"):
        exported(store, "parquet")


BURSTS = """
workload mixed {
  reader = random 8KiB 100/0, qd 4, rate 4_000 iops
  writer = random 8KiB 0/100, qd 4,
      burst 1s of 2_000 iops as busy, then 4s of 100 iops as calm
}
test "Burst" { run mixed for 10s expect p50 < 1s during 2s..3s }
test "Plain" { run random 4KiB 100/0 for 1s }
"""


def phases_of(folder, format):
    out = folder / f"out.{format}"
    done = ioplan("export", "last", "--phases", "--format", format, "-o", out)
    assert done.code == 0, done.err
    return READ[format](out.read_bytes())


@pytest.mark.usefixtures("rough_sim")
def test_a_phase_has_its_figures(tmp_path, store_path):
    plan = plan_file(tmp_path, BURSTS)
    assert ioplan("run", plan, "--backend", "sim", "--create", "64MiB").code == 0
    told = json.loads(ioplan("export", "last", "--format", "json").out)
    (whole, _) = told["runs"]
    for format in READ:
        rows = phases_of(tmp_path, format)
        assert {row["test"] for row in rows} == {"Burst"}
        named = [(r["phase"], r["scope"], r.get("stream") or "") for r in rows]
        assert len(set(named)) == len(named) == 15
        for row, (name, scope, stream) in zip(rows, named, strict=True):
            phase = part = whole["phases"][name]
            seconds = {"busy": 2, "calm": 8, "2s..3s": 1}[name]
            assert float(row["phase_s"]) == phase["run_s"] == seconds
            if stream:
                (part,) = [s for s in phase["streams"] if s["name"] == stream]
            found = part["total"] if scope == "total" else part["directions"][scope]
            assert int(row["ios"]) == found["ios"]
            assert float(row["iops"]) == found["iops"]
            (p99,) = [p for p in found["latency"]["percentiles"] if p["percent"] == 99]
            assert float(row["p99_ns"]) == p99["latency_ns"]
        own = (
            row
            for row, (name, _, stream) in zip(rows, named, strict=True)
            if stream and ".." not in name
        )
        assert sum(int(row["ios"]) for row in own) == whole["total"]["ios"]


EVENT_PLAN = """test "demo" {
  run random 4KiB 100/0, qd 4 for 30s, event "down" at 10s
  expect recovery of p99 to 120% < 4s
  expect lost_work < 1
  chart table recovery of iops to 30%, recovery of mean to 400% for 8s
  headline recovery of iops to 90%
}
"""


def of_event(slow_until_s, seq=1):
    """1,000 IOPS at 1 ms; from the event at 10 s on 400 at 5 ms, for that long."""
    made = EventMade(
        name="down", start_s=10.0, end_s=10.1, host="", exit_code=0, output=""
    )
    slow = range(11, slow_until_s + 1)
    series = [
        interval(n, 400 if n in slow else 1000, 1.0, "read", 5e6 if n in slow else 1e6)
        for n in range(1, 31)
    ]
    return record(seq, events=(made,), cell={}), RunDetail(series=series)


def exported_totals(folder, *made):
    with Store.open(folder / "results.db") as store:
        put(store, *made)
        rows = from_csv(exported(store, "csv", plan=checked(EVENT_PLAN)))
    return [row for row in rows if row["scope"] == "total"]


def judged(made):
    (test,) = checked(EVENT_PLAN).tests
    sample = Sample(*made)
    return [judge(one, [sample]) for one in test.expectations]


@pytest.mark.parametrize("slow_s", [3, 6])
def test_verdict_and_export_have_one_figure(slow_s, tmp_path):
    made = of_event(10 + slow_s)
    (row,) = exported_totals(tmp_path, made)
    recovered, lost = judged(made)
    assert float(row["recovery_ns"]) == recovered.actual == slow_s * 1e9
    assert float(row["recovery_of_iops_to_30_ns"]) == 0
    assert float(row["recovery_of_mean_to_400_for_8s_ns"]) == slow_s * 1e9
    assert float(row["recovery_of_iops_to_90_ns"]) == slow_s * 1e9
    assert float(row["lost_work_ios"]) == lost.actual == slow_s * 600
    assert recovered.outcome == ("held" if slow_s < 4 else "failed")


def test_what_did_not_recover_has_no_figure(tmp_path):
    """It failed: the recovery took longer than was waited for."""
    never, without = of_event(30), of_event(10, seq=2)
    without = (without[0].model_copy(update={"events": ()}), without[1])
    rows = exported_totals(tmp_path, never, without)
    assert [row["recovery_ns"] for row in rows] == ["", ""]
    assert [row["lost_work_ios"] for row in rows] == ["12000.0", ""]
    recovered, _ = judged(never)
    assert (recovered.outcome, recovered.actual) == ("failed", None)


PLAN = """test "=Reads" {
  run random 4KiB 70/30, qd 4 for 20ms
  vary qd in 1, 4
}
"""


@pytest.fixture
def records(tmp_path, store_path):
    plan = plan_file(tmp_path, PLAN)
    assert ioplan("run", plan, "--backend", "sim", "--create", "16MiB").code == 0
    return json.loads(ioplan("export", "last", "--format", "json").out)["runs"]


def expected(runs):
    """From the records: by queue depth and metric."""
    found = {}
    for whole in runs:
        parts = {f"{name}_": whole["directions"][name] for name in ("read", "write")}
        for before, one in {"": whole["total"], **parts}.items():
            depth, latency = whole["asked"]["cell"]["qd"], one["latency"]
            told = {
                "iops": one["iops"],
                "bandwidth": one["bandwidth_bytes_per_s"],
                "errors": one["errors"],
                "latency_mean": latency["mean_ns"],
                "latency_max": latency["max_ns"],
            }
            for p in latency["percentiles"]:
                if p["supported"]:
                    told[f"latency_p{p['percent']:g}"] = p["latency_ns"]
            found |= {(depth, before + name): value for name, value in told.items()}
    return found


def test_virtualclient_s_metrics(records, tmp_path):
    """Read as the programs that take its file do: by the names of the columns."""
    out = tmp_path / "metrics.csv"
    done = ioplan("export", "last", "--format", "virtualclient", "-o", out)
    assert done.code == 0, done.err
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for row in rows:
        times = ("ScenarioStartTime", "ScenarioEndTime", "Timestamp")
        start, end, _ = (
            datetime.strptime(row[name].rstrip("Z"), "%Y-%m-%dT%H:%M:%S.%f")
            for name in times
        )
        assert (end - start).total_seconds() == pytest.approx(0.02, rel=0.01)
        depth = row["MetricCategorization"].removeprefix("qd=")
        found[depth, row["MetricName"]] = float(Decimal(row["MetricValue"]))
        better = row["MetricName"].endswith(("iops", "bandwidth"))
        relativity = "HigherIsBetter" if better else "LowerIsBetter"
        assert row["MetricRelativity"] == relativity
        assert row["ScenarioName"] == "'=Reads" and row["ExecutionSystem"] == "sim"
    assert found == pytest.approx(expected(records))
    assert len({row["OperationId"] for row in rows}) == 2


def test_pkb_s_samples(records, tmp_path):
    out = tmp_path / "samples.json"
    assert ioplan("export", "last", "--format", "pkb", "-o", out).code == 0
    found = {}
    for line in out.read_text().splitlines():
        sample = json.loads(line)
        keys = {"metric", "value", "unit", "metadata", "timestamp"}
        assert sample.keys() == keys and sample["metadata"]["backend"] == "sim"
        name = sample["metric"].removeprefix("=Reads:")
        found[sample["metadata"]["qd"], name] = sample["value"]
    assert found == pytest.approx(expected(records))
