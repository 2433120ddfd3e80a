"""The figures of a report's charts, tables and headers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

import pytest
from figures import (
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
from report_charts import ID, charts, column, composed

from ioplan import latency_text
from ioplan.language import parse_metric
from ioplan.records import (
    RunDetail,
    RunRecord,
    Steady,
    Telemetry,
    TelemetryPoint,
    current_records,
)
from ioplan.results.measure import Measurement
from ioplan.results.report import Reader, by_test, convergence, pictures, points, spec
from ioplan.results.store import Store

CPUS = {
    "cpu": "CPU of the load generator",
    "system_cpu": "CPU of the whole system",
    "stack_cpu": "CPU of the storage stack only",
    "iops_per_cpu": "IOPS per % CPU of the load generator",
    "iops_per_system_cpu": "IOPS per % CPU of the whole system",
    "iops_per_stack_cpu": "IOPS per % CPU of the storage stack only",
}


def trimmed() -> Measurement:
    done = stream(trim=counts(range(2000, 4000)))
    return measured(progress(1, done), result(1, done))


def test_a_percentile_curve_ends_with_its_samples(store: Store) -> None:
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
def test_a_wide_matrix_is_a_heatmap(
    store: Store, reads: int, qds: int, kind: str
) -> None:
    one_made = measurement()
    cells = [
        {"read": f"{r}%", "qd": str(2**q)} for r in range(reads) for q in range(qds)
    ]
    runs = [record(n, one_made, cell=cell) for n, cell in enumerate(cells, start=1)]
    drawn = pictures(None, points({"A": runs}), Reader(store))
    assert {one.kind for one in drawn} == {kind}


def test_shares_add_up(store: Store) -> None:
    store.add(*run(1))
    (bars,) = charts(store, "histogram", "iops")
    assert sum(column(bars, "y")) == pytest.approx(100)
    assert sum(column(bars, "count")) == next(store.records(ID)).total.ios
    (curve,) = charts(store, "cumulative", "iops")
    by = {w: [r for r in curve.frame.rows if w in r] for w in ("of I/Os", "of time")}
    for rows in by.values():
        shares = [row[-1] for row in rows]
        assert shares[-1] == pytest.approx(100)
        assert all(a <= b for a, b in pairwise(shares))  # type: ignore[operator]
    for one, other in zip(by["of I/Os"], by["of time"], strict=True):
        assert one[-2] == other[-2]
        assert float(other[-1] or 0) <= float(one[-1] or 0) + 1e-9


def test_a_run_that_was_interrupted_does_not_count_beside_the_finished_one(
    store: Store,
) -> None:
    """After a resume both are there, and compare and expectations take one."""
    cell = record(1).asked.cell
    half = record(1, status="interrupted", run_id="a")
    whole, other = (record(n, cell=cell, run_id="a") for n in (2, 3))
    edited = record(4, cell=cell, run_id="b", status="interrupted")
    assert current_records([half]) == [half]
    assert current_records([half, whole]) == current_records([whole, half]) == [whole]
    assert current_records([whole, other]) == [other]
    assert current_records([half, whole, edited]) == [edited]  # of another plan
    assert current_records([record(5), whole]) == [record(5), whole]  # another cell


def test_trims_alone_have_their_figures(store: Store) -> None:
    """A total is of reads and writes, and would be nothing."""
    made = trimmed()
    store.add(record(1, made=made), made.detail)
    records = list(store.records(ID))
    reader = Reader(store)
    assert reader.figure(parse_metric("trim.iops"), records).value == 2000
    assert reader.figure(parse_metric("trim.p99"), records).value == pytest.approx(
        3980, rel=0.01
    )
    (section,) = composed(store).sections
    assert [p.kind for p in section.pictures] == ["scatter", "percentiles"]
    assert all(p.frame.rows for p in section.pictures)
    keys = [c.key for c in section.runs.columns]
    assert section.runs.rows[0][keys.index("iops")] == 2000


def test_convergence_shows_window_limits_and_fit() -> None:
    values = (100.0, 92.0, 84.0, 76.0, 68.0)
    runs = []
    for number in range(1, 6):
        steady = Steady(
            metric="iops",
            values=values[:number],
            mean=84.0,
            range_percent=38.1,
            slope_percent=38.1,
            range_limit_percent=20.0,
            slope_limit_percent=10.0,
            window=5,
            reached=False,
            why="range 38.1 % > 20 %",
        )
        runs.append(record(number, round=number, cell={}, steady=steady))
    (found,) = convergence(points({"A": runs}), [])
    assert column(found, "y") == list(values)
    assert found.overlay
    (window,) = found.overlay.rows
    assert window == pytest.approx((1, 5, 84, 75.6, 92.4, 68, 100, 100, 68))
    assert found.notes[0].startswith("A: not steady: range 38.1 % > 20 %; window of 5")


def test_the_header_gives_the_window_in_units(store: Store) -> None:
    steady = Steady(
        metric="bandwidth",
        values=(3.234e9, 3.254e9),
        mean=3.244e9,
        range_percent=0.6,
        slope_percent=0.6,
        range_limit_percent=20.0,
        slope_limit_percent=10.0,
        window=2,
        reached=True,
        why="",
    )
    store.add(record(1, round=2, steady=steady), RunDetail())
    (header,) = composed(store).sections[0].headers
    facts = dict(header.pairs)
    assert facts["Window values"] == "3234 MB/s, 3254 MB/s"
    assert facts["Window mean"] == "3244 MB/s"


def test_power_and_temperature_appear_where_they_were_measured(store: Store) -> None:
    points = tuple(interval(n, 100) for n in (1, 2, 3))
    heat = tuple(
        TelemetryPoint(t_s=n, length_s=1, watts=5.0 + n, temperature_celsius=40.0 + n)
        for n in (1, 2, 3)
    )
    said = Telemetry(covered_s=3, intervals=3, watts=7.0, temperature_max_celsius=43)
    store.add(
        record(1, cell={}, telemetry=said), RunDetail(series=points, telemetry=heat)
    )
    found = composed(store)
    assert found.absent == ()
    shown = {picture.title: picture for picture in found.sections[0].pictures}
    assert column(shown["Power over time"], "y") == [6.0, 7.0, 8.0]
    assert column(shown["Temperature over time"], "y") == [41.0, 42.0, 43.0]


@pytest.mark.parametrize("name", CPUS)
def test_each_cpu_time_has_its_name_its_unit_and_its_meaning(
    store: Store, name: str
) -> None:
    said = Telemetry(
        covered_s=3, intervals=3, system_cpu_percent=80.0, stack_cpu_percent=50.0
    )
    points = tuple(
        TelemetryPoint(
            t_s=n,
            length_s=1,
            system_cpu_percent=80.0,
            stack_cpu_percent=50.0,
            generator_cpu_percent=40.0,
        )
        for n in (1, 2, 3)
    )
    series = tuple(interval(n, 100) for n in (1, 2, 3))
    for seq in (1, 2):
        made = record(seq, cell={"qd": str(seq)}, telemetry=said, cpu_percent=40.0)
        store.add(made, RunDetail(series=series, telemetry=points))
    for kind, by in (("lines", "qd"), ("lines", "time"), ("table", "qd")):
        (picture,) = charts(store, kind, name, by=by)
        assert picture.title.startswith(CPUS[name])
        assert picture.notes[-1].startswith(f"{name.removeprefix('iops_per_')}: ")
        assert len(picture.frame.rows) == (6 if by == "time" else 2)
        if kind == "lines":
            unit = "IOPS per % of one CPU" if "iops" in name else "(% of one CPU)"
            made_of = spec(picture)
            assert made_of
            assert unit in made_of["encoding"]["y"]["axis"]["title"]


@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_the_largest_latency_is_averaged_over_the_sweep(
    store: Store, kind: str
) -> None:
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
        ((2400, 670, 660, 690), "falls from 3.60k at QD 2 to 1.00k at QD 4"),
        ((300, 400, 390, 395), "95 % of the largest at QD 4"),
        ((300, 400, 200, 395), "95 % of the largest at QD 4"),
    ],
)
def test_what_falls_for_good_is_not_saturated(
    store: Store, rates: Sequence[int], said: str
) -> None:
    for seq, rate in enumerate(rates, 1):
        made = record(seq, cell={"qd": str(2**seq)}, made=measurement(seq, 2, rate))
        store.add(made, RunDetail())
    (found,) = charts(store, "lines", "iops", by="qd")
    assert found.notes[-1] == f"A: {said}"


def test_a_table_has_a_column_a_figure_and_tells_what_is_missing(store: Store) -> None:
    for seq in (1, 2):
        store.add(*run(seq, cell={"read": f"{seq}%"}))
    names = ("iops", "mean", "watts", "p99.999")
    (found,) = charts(store, "table", *names, by="read")
    heads = [(column.title, column.unit) for column in found.frame.columns]
    assert heads == [("read share", "text"), ("IOPS", "1/s"), ("mean latency", "ns")]
    assert column(found, "d0") == ["1%", "2%"]
    totals = [one.total for one in store.records(ID)]
    assert column(found, "m0") == [pytest.approx(total.iops) for total in totals]
    assert found.notes == ("2 points skipped: p99.999: needs 1_000_000 I/Os",)


def test_the_table_of_runs_leaves_out_what_is_always_so(store: Store) -> None:
    figures = ["IOPS", "throughput", "mean", "p50", "p99", "p99.9", "max"]
    titles, last = ["queue depth", "I/Os", *figures], "against it"
    for seq in (1, 2):
        made = record(seq, cell={"qd": str(seq)}, cpu_percent=None)
        store.add(made, RunDetail())
    (section,) = composed(store).sections
    assert [c.title for c in section.runs.columns] == [*titles, last]
    lost = record(
        3, status="failed", message="gone", cell={"qd": "3"}, cpu_percent=None
    )
    store.add(lost, RunDetail())
    (section,) = composed(store).sections
    assert [c.title for c in section.runs.columns] == [*titles, "status", last]


def test_sequential_runs_are_drawn_by_their_throughput(store: Store) -> None:
    series = tuple(interval(n, 100) for n in (1, 2, 3))
    made = record(1, cell={}, load={"pattern": "sequential"})
    store.add(made, RunDetail(series=series))
    (section,) = composed(store).sections
    assert section.pictures[0].title == "Throughput over time"


def test_trims_beside_other_cells_have_their_headline(store: Store) -> None:
    """Of the cell that does nothing else; its kind is told by the workload."""
    made = trimmed()
    only = record(1, made, cell={"trim": "100%"}, load={"trim_percent": 100.0})
    store.add(only, made.detail)
    store.add(record(2, cell={"trim": "0%"}), RunDetail())
    found = by_test(store, list(store.records(ID)))["demo"]
    trims = {h.metric: h.value for h in found if "trims" in h.kind}
    assert list(trims) == ["trim.mean", "trim.iops"] and trims["trim.iops"] == 2000


def test_a_step_has_its_name_or_its_number_and_what_it_does() -> None:
    def step(number: int, name: str = "", **load: object) -> RunRecord:
        return record(number + 1, made, cell={}, step=number, name=name, load=load)

    def shown(*runs: RunRecord) -> list[str]:
        return [one.dimensions.get("step", "") for one in points({"": runs})]

    made = measurement()
    reads = {"pattern": "random", "read_percent": 100.0}
    writes = {"pattern": "sequential", "read_percent": 0.0}
    assert shown(step(0, **reads)) == [""]
    assert shown(step(0, **reads), step(1, **writes)) == [
        "1 random reads",
        "2 sequential writes",
    ]
    assert shown(step(0, "before", **reads), step(1, read_percent=70.0)) == [
        "before",
        "2 random mix",
    ]
    varied = (step(0, **reads), step(0, **writes), step(1, trim_percent=100.0))
    assert shown(*varied) == ["1", "2 random trims"]  # one name for all its cells
