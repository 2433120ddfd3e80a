"""The figures of a report's charts and tables, limits in them, and ways to draw many."""

from itertools import product
from statistics import fmean

import pytest
import scripted
from command import ioplan, plan_file
from figures import (
    assessed,
    counts,
    interval,
    measured,
    measurement,
    progress,
    record,
    result,
    run,
    stream,
)
from report_charts import ID, charts, column, composed, headlines_by_test
from sessions import session

from ioplan import latency_text
from ioplan.cli import plan_of
from ioplan.language import parse_metric
from ioplan.records import (
    RunDetail,
    Telemetry,
    TelemetryPoint,
    Verdict,
    current_records,
)
from ioplan.results.report import (
    ChartSpec,
    Column,
    Datum,
    Reader,
    convergence,
    framed,
    modes,
    pictures,
    points,
    session_sections,
    spec,
)
from ioplan.results.store import Store

THREE = tuple(interval(n, 100) for n in (1, 2, 3))
DISCARDS = stream(trim=counts(range(2000, 4000)))
TRIMMED = measured(progress(1, DISCARDS), result(1, DISCARDS))
CPUS = {
    "cpu": "CPU of the load generator",
    "system_cpu": "CPU of the whole system",
    "stack_cpu": "CPU of the storage stack only",
    "iops_per_cpu": "IOPS per % CPU of the load generator",
    "iops_per_system_cpu": "IOPS per % CPU of the whole system",
    "iops_per_stack_cpu": "IOPS per % CPU of the storage stack only",
}


def test_a_percentile_curve_ends_with_its_samples(store):
    """The ten slowest I/Os support the last point, and each known percentile is one."""
    made = measurement(seconds=4, ios=500)
    store.add(record(1, made), made.detail)
    (found,) = charts(store, "percentiles", "p99")
    percents = column(found, "percent")
    assert percents == sorted(set(percents))
    assert {50.0, 90.0, 99.0} <= {*percents} and 99.9 not in percents
    assert all(made.total.ios * (100 - p) / 100 >= 9.99 for p in percents)


@pytest.mark.parametrize(
    ("reads", "qds", "kind"),
    [(5, 7, "lines"), (8, 7, "heatmap"), (3, 20, "lines"), (20, 3, "lines")],
)
def test_a_wide_matrix_is_a_heatmap(store, reads, qds, kind):
    one, cells = measurement(), product(range(reads), range(qds))
    runs = [
        record(n, one, cell={"read": f"{read}%", "qd": str(2**qd)})
        for n, (read, qd) in enumerate(cells, start=1)
    ]
    load, *drawn = pictures(None, points({"A": runs}), Reader(store))
    assert load.title == "Latency against load"
    assert load.subtitle == "99th percentile over IOPS, 4 KiB, each point a queue depth"
    assert {one.kind for one in drawn} == {kind}


def test_shares_add_up(store):
    store.add(*run(1))
    (bars,) = charts(store, "histogram", "iops")
    assert sum(column(bars, "y")) == pytest.approx(100)
    assert sum(column(bars, "count")) == next(store.records(ID)).total.ios
    (curve,) = charts(store, "cumulative", "iops")
    ios, time = (
        [row[-2:] for row in curve.frame.rows if w in row]
        for w in ("of I/Os", "of time")
    )
    for rows in (ios, time):
        shares = [share for _, share in rows]
        assert shares[-1] == pytest.approx(100) and shares == sorted(shares)
    for (at, share), (same, other) in zip(ios, time, strict=True):
        assert at == same and other <= share + 1e-9


def test_an_interrupted_run_does_not_count_beside_the_finished_one():
    """After a resume both are there, and compare and expectations take one."""
    cell = record(1).asked.cell
    half = record(1, status="interrupted", run_id="a")
    whole, other = (record(n, cell=cell, run_id="a") for n in (2, 3))
    edited = record(4, cell=cell, run_id="b", status="interrupted")
    elsewhere = [record(5), whole]  # of another cell
    for runs, counted in (
        ([half], [half]),
        ([half, whole], [whole]),
        ([whole, half], [whole]),
        ([whole, other], [other]),
        ([half, whole, edited], [edited]),  # of another plan
        (elsewhere, elsewhere),
    ):
        assert current_records(runs) == counted


def test_trims_alone_have_their_figures(store):
    """A total is of reads and writes, and would be nothing."""
    store.add(record(1, made=TRIMMED), TRIMMED.detail)
    records, reader = list(store.records(ID)), Reader(store)
    assert reader.figure(parse_metric("trim.iops"), records).value == 2000
    p99 = reader.figure(parse_metric("trim.p99"), records).value
    assert p99 == pytest.approx(3980, rel=0.01)
    (section,) = composed(store).sections
    assert [p.kind for p in section.pictures] == ["scatter", "percentiles"]
    assert all(p.frame.rows for p in section.pictures)
    (row,) = section.runs.records()
    assert row["iops"] == 2000


def test_convergence_shows_window_limits_and_fit():
    values = (100.0, 92.0, 84.0, 76.0, 68.0)
    runs = [
        record(n, round=n, cell={}, steady=assessed(*values[:n])) for n in range(1, 6)
    ]
    (found,) = convergence(points({"A": runs}), [])
    assert column(found, "y") == list(values)
    (window,) = found.overlay.rows
    assert window == pytest.approx((1, 5, 84, 75.6, 92.4, 68, 100, 100, 68))
    assert found.notes[0].startswith("A: not steady: range 38.1 % (limit 20 %)")
    assert "; window of 5" in found.notes[0]


def test_the_header_gives_the_window_in_units(store):
    steady = assessed(3.234e9, 3.254e9, metric="bandwidth", window=2)
    store.add(record(1, round=2, steady=steady), RunDetail())
    (header,) = composed(store).sections[0].headers
    facts = dict(header.pairs)
    assert facts["Window values"] == "3.23 GB/s, 3.25 GB/s"
    assert facts["Window mean"] == "3.24 GB/s"


def test_power_and_temperature_appear_where_they_were_measured(store):
    add_read_meters(store, cell={}, temperature_max_celsius=43, watts=7.0)
    found = composed(store)
    assert found.absent == ()
    shown = {picture.title: picture for picture in found.sections[0].pictures}
    assert column(shown["Power over time"], "y") == [6.0, 7.0, 8.0]
    assert column(shown["Temperature over time"], "y") == [41.0, 42.0, 43.0]


def add_read_meters(store, seq=1, *, cell, **said):
    """A run of 3 s whose power, temperature and CPU time were measured."""
    cpus = {"system_cpu_percent": 80.0, "stack_cpu_percent": 50.0}
    times = {"length_s": 1, "generator_cpu_percent": 40.0, **cpus}
    meters = tuple(
        TelemetryPoint(t_s=n, watts=5.0 + n, temperature_celsius=40.0 + n, **times)
        for n in (1, 2, 3)
    )
    told = Telemetry(covered_s=3, intervals=3, **said or cpus)
    made = record(seq, cell=cell, telemetry=told, cpu_percent=40.0)
    store.add(made, RunDetail(series=THREE, telemetry=meters))


@pytest.mark.parametrize("name", CPUS)
def test_each_cpu_time_has_its_name_its_unit_and_its_meaning(store, name):
    for seq in (1, 2):
        add_read_meters(store, seq, cell={"qd": str(seq)})
    for kind, by in (("lines", "qd"), ("lines", "time"), ("table", "qd")):
        (picture,) = charts(store, kind, name, by=by)
        assert picture.title.startswith(CPUS[name])
        assert picture.notes[-1].startswith(f"{name.removeprefix('iops_per_')}: ")
        assert len(picture.frame.rows) == (6 if by == "time" else 2)
        if kind == "lines":
            unit = "IOPS per % of one CPU" if "iops" in name else "(% of one CPU)"
            made_of = spec(picture)
            assert unit in made_of["encoding"]["y"]["axis"]["title"]


@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_the_largest_latency_is_averaged_over_the_sweep(store, kind):
    for seq in (1, 2, 3):
        store.add(*run(seq, cell={"qd": str(2**seq)}))
    (found,) = charts(store, kind, "max", by="qd")
    parts = [one.total.latency for one in store.records(ID)]
    mean_ns = fmean(part.max_ns for part in parts if part)
    (note,) = found.notes
    assert note.endswith(f"averaged over the queue depths: {latency_text(mean_ns)}")


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ((2400, 670, 660, 690), "falls from 3,600 at QD 2 to 1,010 at QD 4"),
        ((300, 400, 390, 395), "95 % of the maximum at QD 4"),
        ((300, 400, 200, 395), "95 % of the maximum at QD 4"),
    ],
)
def test_what_falls_for_good_is_not_saturated(store, rates, said):
    for seq, rate in enumerate(rates, 1):
        made = record(seq, cell={"qd": str(2**seq)}, made=measurement(seq, 2, rate))
        store.add(made, RunDetail())
    (found,) = charts(store, "lines", "iops", by="qd")
    assert found.notes[-1] == f"A: {said}"


def test_a_table_has_a_column_a_figure_and_tells_what_is_missing(store):
    for seq in (1, 2):
        store.add(*run(seq, cell={"read": f"{seq}%"}))
    names = ("iops", "mean", "watts", "p99.999")
    (found,) = charts(store, "table", *names, by="read")
    heads = [(column.title, column.unit) for column in found.frame.columns]
    assert heads == [("read share", "text"), ("IOPS", "1/s"), ("mean latency", "ns")]
    assert column(found, "d0") == ["1%", "2%"]
    totals = [one.total for one in store.records(ID)]
    assert column(found, "m0") == [pytest.approx(total.iops) for total in totals]
    assert found.notes == ("2 points skipped: p99.999: needs 1,000,000 I/Os",)


def test_the_table_of_runs_leaves_out_what_is_always_so(store):
    figures = ["IOPS", "throughput", "mean", "p50", "p99", "p99.9", "max"]
    titles, last = ["queue depth", "I/Os", *figures], "against it"
    lost = {"status": "failed", "message": "gone"}
    for seq, how, more in ((1, {}, []), (2, {}, []), (3, lost, ["status"])):
        made = record(seq, cell={"qd": str(seq)}, cpu_percent=None, **how)
        store.add(made, RunDetail())
        (section,) = composed(store).sections
        shown = [c.title for c in section.runs.columns]
        assert seq == 1 or shown == [*titles, *more, last]


def test_sequential_runs_are_drawn_by_their_throughput(store):
    made = record(1, cell={}, load={"pattern": "sequential"})
    store.add(made, RunDetail(series=THREE))
    (section,) = composed(store).sections
    assert section.pictures[0].title == "Throughput over time"


def test_trims_beside_other_cells_have_their_headline(store):
    """Of the cell that does nothing else; its kind is told by the workload."""
    only = {"cell": {"trim": "100%"}, "load": {"trim_percent": 100.0}}
    store.add(record(1, TRIMMED, **only), TRIMMED.detail)
    store.add(record(2, cell={"trim": "0%"}), RunDetail())
    found = headlines_by_test(store, list(store.records(ID)))["demo"]
    trims = {h.metric: h.value for h in found if "trims" in h.kind}
    assert list(trims) == ["trim.mean", "trim.iops"] and trims["trim.iops"] == 2000


def test_a_step_has_its_name_or_its_number_and_what_it_does():
    made = measurement()

    def step(number, name="", **load):
        return record(number + 1, made, cell={}, step=number, name=name, load=load)

    reads = {"pattern": "random", "read_percent": 100.0}
    writes = {"pattern": "sequential", "read_percent": 0.0}
    trims, mix = step(1, trim_percent=100.0), step(1, read_percent=70.0)
    for runs, names in (
        ([step(0, **reads)], [""]),
        (
            [step(0, **reads), step(1, **writes)],
            ["1 random reads", "2 sequential writes"],
        ),
        ([step(0, "before", **reads), mix], ["before", "2 random mix"]),
        ([step(0, **reads), step(0, **writes), trims], ["1", "2 random trims"]),
    ):  # of the last, step 1 has one name for all its cells
        found = points({"": runs})
        assert [one.dimensions.get("step", "") for one in found] == names


def verdict(limit, outcome="held", text="iops > 100"):
    line = f"expect {text}"
    return Verdict(expectation=line, outcome=outcome, actual=1, limit=limit, unit="1/s")


def sweep(store, *verdicts, kind="lines"):
    for seq, found in enumerate(verdicts, start=1):
        store.add(*run(seq, cell={"qd": str(seq)}, verdicts=found))
    (found,) = charts(store, kind, "iops", by="qd")
    return found


@pytest.mark.parametrize(("kind", "second"), [("lines", 2.0), ("bars", "2")])
def test_a_limit_of_all_cells_goes_across_one_of_some_stands_there(store, kind, second):
    """Of the three cells all have one limit, the second another one, too."""
    every, some = verdict(250), verdict(200, text="iops > 200 when qd == 2")
    found = sweep(store, (every,), (every, some), (every,), kind=kind)
    assert set(found.limits.rows) == {
        (None, 250, "iops > 100"),
        (second, 200, "iops > 200 when qd == 2"),
    }


def test_a_point_tells_which_expectation_it_does_not_meet(store):
    found = sweep(store, (verdict(250),), (verdict(400, "failed"),))
    rows = [row["judged"] for row in found.frame.records()]
    assert rows == ["", "failed: expect iops > 100"]
    marked = [{"filter": "datum.judged && !datum.role"}]
    assert [one.get("transform") for one in layers_of(found)].count(marked) == 1


def layers_of(picture):
    view = modes(picture)["together"]["spec"]
    return view.get("spec", view)["layer"]


def test_a_limit_far_away_is_a_note(store, tmp_path):
    """Nothing is told of what was met, or is of another figure."""
    found = sweep(store, (verdict(9_000_000),), (verdict(9_000_000),))
    assert found.limits is None
    assert "limit beyond the chart: expect iops > 100 (9.00M IOPS)" in found.notes
    other = verdict(1, "failed", "mean < 1ns")
    with Store.open(tmp_path / "other.db") as opened:
        opened.begin(session())
        found = sweep(opened, (verdict(250),), (other,))
    assert "judged" not in [one.key for one in found.frame.columns]
    assert len(found.limits.rows) == 1


def test_a_heatmap_frames_the_cell(store):
    for seq, some in ((1, ()), (2, (verdict(1, "failed"),))):
        cell = {"qd": "1", "size": f"{4 * seq}KiB"}
        store.add(*run(seq, cell=cell, verdicts=some))
    (found,) = charts(store, "heatmap", "iops", by="qd size")
    assert [row["judged"] != "" for row in found.frame.records()] == [False, True]
    assert [one["mark"]["type"] for one in layers_of(found)].count("rect") == 2


FEW, NUMBER = 8, 20


def picture(sessions, kind="lines", per=1):
    data = [
        Datum({"session": f"drive {s}", "read": f"{p}%"}, (2.0**q, 1000.0 * s))
        for s in range(sessions)
        for p in range(per)
        for q in range(4)
    ]
    columns = (Column("x", "queue depth", ""), Column("y", "IOPS", "1/s"))
    frame, channels = framed(data, columns, per=("read",))
    return ChartSpec(kind, "IOPS", "", frame, "x", "y", channels)


def test_many_have_more_ways_and_a_spread_needs_a_shared_x():
    """What the plan wants takes the panels, and is a choice where sessions have them."""
    each = {w: made["channels"] for w, made in modes(picture(NUMBER, per=6)).items()}
    assert each["together"]["panel"] == each["apart"]["pick"] != ""
    assert each["spread"]["panel"] == each["together"]["panel"]
    assert list(modes(picture(FEW))) == ["together"]
    assert list(modes(picture(NUMBER))) == ["together", "apart", "spread"]
    for kind in ("hockey", "cumulative", "histogram"):
        assert list(modes(picture(NUMBER, kind))) == ["together", "apart"]


CELLS = """test "Capacity" {
  run  random 4KiB 100/0, qd 64 for 30s
  vary size in 4KiB, 16KiB
  seek highest rate in 1_000 iops..100_000 iops where p99 <= 1ms and errors == 0
}
"""
KNEE = """test "Knee" {
  run  random 4KiB 100/0, qd 8 for 30s
  seek knee rate in 1_000 iops..8_000 iops, within 50%
}
"""
COMMAND = ("--backend", "scripted", "--option", "target=cliff", "--option", "seed=1")


@pytest.fixture
def sought(tmp_path, monkeypatch):
    """Runs a plan on a target that bears 20 000 IOPS: what it is told by, its picture of
    probes, and what is printed."""
    monkeypatch.syspath_prepend(str(scripted.install(tmp_path / "installed")))

    def ran(text):
        store = tmp_path / "results.db"
        done = ioplan("run", plan_file(tmp_path, text), *COMMAND, "--store", store)
        assert done.code == 0, done.err
        with Store.open(store) as opened:
            last = opened.session("last")
            records = list(opened.records(last.id))
            (found,), _ = session_sections(opened, last, records, plan_of(last))
        (probes,) = (one for one in found.pictures if one.kind == "probes")
        tables = ioplan("show", "--tables", "--store", store).out
        return found, probes, done.out + tables

    return ran


@pytest.mark.long
def test_what_was_found_and_what_was_tried(sought):
    found, picture, printed = sought(CELLS)
    rows = list(found.runs.records())
    assert [(row["found"], row["found_no"]) for row in rows] == [(19_240, 20_200)] * 2
    titles = [one.title for one in found.pictures]
    assert titles[0] == "Rate by block size" and "IOPS by block size" not in titles
    assert "4KiB 19.2k 20.2k 19.2k" in " ".join(printed.split())

    assert picture.title == "Probes: p99 latency by rate, p99 <= 1ms"
    rows, answer = list(picture.frame.records()), picture.channels.color
    for row in rows:
        yes = row["x"] < 20_000
        assert row[answer] == ("yes" if yes else "no")
        assert row["y"] == pytest.approx(500_000 if yes else 2_000_000, rel=0.01)
    assert len(rows) == sum("rate=" in line for line in printed.splitlines())
    assert {row["limit"] for row in picture.overlay.records()} == {1_000_000}
    assert picture.notes[0].startswith("size=4KiB: rate = 19,240 iops: fails at 20,200")
    drawn = printed.partition(picture.title)[2]
    assert "a answer yes   b answer no" in drawn and "1 ms┤─" in drawn


def test_a_knee_has_no_limit_and_no_answers(sought):
    _, picture, _ = sought(KNEE)
    assert picture.title == "Probes: IOPS by rate"
    assert picture.overlay is None and not picture.channels.color
    assert [row["x"] for row in picture.frame.records()][-1] == 8_000
