"""What a report says: its labels, curves, verdicts, and the errors of `report`."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import paths
import pytest
from command import ioplan
from hypothesis import given
from hypothesis import strategies as st
from run_data import (
    counts,
    flat,
    latencies_ns,
    progress,
    record,
    result,
    run,
    session,
    stream,
)

from ioplan.cli.commands import sessions as sessions_command
from ioplan.core.units import latency_text
from ioplan.language.metric import Metric, parse_metric
from ioplan.language.plan import Chart, Test
from ioplan.measure.measurement import Measurement
from ioplan.measure.metrics import Sample, figure
from ioplan.records.record import Interval, RunDetail, Steady, Verdict
from ioplan.records.superseded import current_records
from ioplan.records.telemetry import Telemetry, TelemetryPoint
from ioplan.report.build import document
from ioplan.report.charts.axis import in_order, numbers, scale_of
from ioplan.report.charts.charts import pictures
from ioplan.report.charts.convergence import convergence
from ioplan.report.charts.defaults import chart
from ioplan.report.charts.distribution import distributions, percents
from ioplan.report.charts.encoding import Datum, framed
from ioplan.report.charts.over_time import MOST_POINTS, bands_over_time, over_time
from ioplan.report.charts.request import Request
from ioplan.report.charts.timeline import metric_at
from ioplan.report.document import Document, Picture
from ioplan.report.header import pts_header
from ioplan.report.html.axes import x_choices
from ioplan.report.html.page import page, worst
from ioplan.report.html.payload import safe
from ioplan.report.html.spec import spec
from ioplan.report.many_sessions import many_sessions
from ioplan.report.points import points
from ioplan.report.reader import Reader
from ioplan.report.sentences import main_result
from ioplan.report.session_labels import labels
from ioplan.store.store import Store
from ioplan.workload import DIRECTIONS, Workload

HTML = paths.ROOT / "dsl/ioplan/report/html"
ID = session().id
words = st.sampled_from(["", "A", "B", "A, B"])
texts = st.text(max_size=12) | st.sampled_from(["</script>", "<!--", "\u2028"])
values = st.recursive(
    st.none()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
    ),
)


# ---- sessions and axes


@given(st.lists(st.tuples(words, words, words), min_size=1, max_size=5))
def test_each_session_has_a_label_of_its_own(drives: list[tuple[str, ...]]) -> None:
    sessions = [
        session(id=f"20261121-05451{n}-k3f{n}", backend=backend or "sim")
        for n, (_, _, backend) in enumerate(drives)
    ]
    targets = [{"identity": {"model": m, "firmware": f}} for m, f, _ in drives]
    found = labels(sessions, targets)
    assert len(set(found)) == len(found) or "A, B" in str(drives)
    assert all(found)


def test_a_label_says_no_more_than_it_must() -> None:
    target: dict[str, Any] = {"identity": {"model": "M", "firmware": "F1"}}
    other: dict[str, Any] = {"identity": {"model": "M", "firmware": "F2"}}
    alone: dict[str, Any] = {"identity": {"model": "N", "firmware": "F1"}}
    three = [session(id=f"20261121-054512-aaa{n}") for n in range(3)]
    assert labels(three, [target, other, alone]) == ["M, F1", "M, F2", "N"]
    assert labels(three[:1], [target]) == ["M"]
    assert labels(three[:2], [target, target]) == ["M, aaa0", "M, aaa1"]


def test_axes_are_numbers_where_all_values_are() -> None:
    assert numbers(["4KiB", "1MiB"]) == ({"4KiB": 4096, "1MiB": 1 << 20}, "size")
    assert numbers(["size", "512B"]) is None
    assert numbers(["4KiB", "8"]) is None
    assert in_order(["128", "16", "2", "16"]) == ("2", "16", "128")
    assert in_order(["oltp", "email"]) == ("oltp", "email")
    assert scale_of([1, 2, 4]) == "log"
    assert scale_of([0, 50, 100]) == "linear"
    assert scale_of([10, 20, 30]) == "linear"


def test_dimensions_become_colour_dash_and_panel() -> None:
    data = [
        Datum({"session": s, "qd": qd, "read": read, "metric": m}, (1.0,))
        for s in ("A", "B")
        for qd in ("1", "2", "4", "8")
        for read in ("0%", "100%")
        for m in ("mean", "p99")
    ]
    frame, given_to = framed(data, (), per=("qd",))
    titles = {c.key: c.title for c in frame.columns}
    assert titles[given_to.color] == "queue depth"
    assert titles[given_to.panel] == "session"
    assert titles[given_to.dash] == "figure"
    assert titles[given_to.pick] == "read share"
    frame, given_to = framed(data[:2], ())
    assert [c.title for c in frame.columns] == ["figure"]
    assert given_to.color == "d0"


def test_axes_that_move_together_are_one() -> None:
    data = [Datum({"threads": t, "qd": t, "size": s}, ()) for t in "12" for s in "48"]
    frame, _ = framed(data, ())
    assert [c.title for c in frame.columns] == ["threads", "block size"]
    assert frame.columns[0].order == ("1 (queue depth 1)", "2 (queue depth 2)")


# ---- curves


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(tmp_path / "results.db") as opened:
        opened.begin(session())
        yield opened


def drawn(store: Store, kind: str, by: tuple[str, ...] = (), **more: Any) -> Picture:
    """The first picture of a chart of all runs."""
    runs = points({"A": list(store.records(ID))})
    request = Request(
        chart(kind, more.get("metrics", ("iops",)), by), runs, Reader(store)
    )
    draw = over_time if by else distributions
    return next(iter(draw(request)))


def column(picture: Picture, key: str) -> list[Any]:
    at = [c.key for c in picture.frame.columns].index(key)
    return [row[at] for row in picture.frame.rows]


@given(st.integers(0, 10**9))
def test_a_percentile_curve_ends_with_its_samples(total: int) -> None:
    found = percents(total)
    assert found == sorted(set(found))
    assert all(total * (100 - p) / 100 >= 9.99 for p in found)
    for known in (50.0, 90.0, 99.0, 99.9, 99.99, 99.999):
        assert (known in found) == (total * (100 - known) / 100 >= 10 - 1e-6)


def test_shares_add_up(store: Store) -> None:
    store.add(*run(1))
    bars = drawn(store, "histogram")
    assert sum(column(bars, "y")) == pytest.approx(100)
    assert sum(column(bars, "count")) == next(store.records(ID)).total.ios
    curve = drawn(store, "cumulative")
    by = {w: [r for r in curve.frame.rows if w in r] for w in ("of I/Os", "of time")}
    for rows in by.values():
        shares = [row[-1] for row in rows]
        assert shares[-1] == pytest.approx(100)
        assert all(a <= b for a, b in pairwise(shares))  # type: ignore[operator]
    for one, other in zip(by["of I/Os"], by["of time"], strict=True):
        assert one[-2] == other[-2]
        assert float(other[-1] or 0) <= float(one[-1] or 0) + 1e-9


def interval(t_s: float, ios: int, length_s: float = 1.0) -> Interval:
    return Interval(
        t_s=t_s,
        length_s=length_s,
        ios={"write": ios},
        bytes={"write": ios * 4096},
        errors=0,
        mean_ns=100.0,
        p50_ns=90.0,
        p99_ns=200.0,
        p99_9_ns=300.0,
        max_ns=400,
    )


def test_a_timeline_has_each_second_but_the_one_cut_short(store: Store) -> None:
    points = [interval(n, 100 + n) for n in range(1, 31)]
    store.add(record(1), RunDetail(series=(*points, interval(30.1, 1, 0.1))))
    found = drawn(store, "scatter", ("time",))
    assert column(found, "x") == [float(n) for n in range(1, 31)]
    assert column(found, "y") == [100.0 + n for n in range(1, 31)]
    assert found.overlay
    (window,) = found.overlay.rows
    assert window[:3] == (25.0, 30.0, 127.5)
    written = drawn(store, "lines", ("bytes",))
    assert column(written, "x")[-1] == 4096 * sum(100 + n for n in range(1, 31))


def test_a_stall_at_the_end_hides_nothing_before_it(store: Store) -> None:
    """fio tells of the last seconds and of the stall as of one interval."""
    points = [interval(n, 100) for n in range(1, 9)]
    store.add(record(1), RunDetail(series=(*points, interval(33, 200, 25))))
    found = drawn(store, "scatter", ("time",))
    assert column(found, "y") == [100.0] * 8 + [8.0]


def test_what_is_cut_short_was_written_nevertheless(store: Store) -> None:
    """One cell's steps, one after the other, over the bytes written."""
    for seq in (1, 2):
        asked = record(seq, cell={}).asked.model_copy(update={"step": seq})
        made = record(seq).model_copy(update={"asked": asked, "run_s": 2.1})
        series = (interval(1, 10), interval(2, 10), interval(2.1, 5, 0.1))
        store.add(made, RunDetail(series=series))
    found = drawn(store, "lines", ("bytes",))
    assert column(found, "x") == [4096 * n for n in (10, 20, 35, 45)]


def test_iops_over_time_add_up_to_those_of_the_record() -> None:
    """Reads and writes together; trims only by their name."""
    made = Measurement()
    parts = [[latencies_ns(10 * n + k, 50) for k in range(3)] for n in (1, 2)]
    for second, (read, write, trim) in enumerate(parts, start=1):
        by = {"read": counts(read), "write": counts(write), "trim": counts(trim)}
        made.add(progress(second, stream(**by)))
    whole = [counts(flat(found)) for found in zip(*parts, strict=True)]
    made.add(result(2, stream(**dict(zip(DIRECTIONS, whole, strict=True)))))
    sample = Sample(record(1, made=made), made.detail)
    for name in ("iops", "bandwidth"):
        for direction in (None, *DIRECTIONS):
            metric = Metric(name=name, direction=direction)
            values = [metric_at(metric, point) or 0 for point in made.detail.series]
            assert fmean(values) == pytest.approx(figure(metric, [sample]).value)
    assert fmean(values) > 0  # the trims are there


def test_runs_follow_one_another(store: Store) -> None:
    """On a simulated clock all of them began at once."""
    for seq in (1, 2):
        asked = record(seq, cell={}).asked.model_copy(update={"step": seq})
        made = record(seq).model_copy(update={"asked": asked, "run_s": 3.0})
        store.add(made, RunDetail(series=tuple(interval(n, 1) for n in (1, 2, 3))))
    found = drawn(store, "lines", ("time",))
    assert column(found, "x") == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_points_of_steps_are_one_curve_with_one_window(store: Store) -> None:
    """A run to settle, and one to measure: the last fifth is the second run."""
    for seq, seconds in ((1, 80), (2, 20)):
        asked = record(seq, cell={}).asked.model_copy(update={"step": seq})
        made = record(seq).model_copy(update={"asked": asked, "run_s": seconds})
        series = tuple(interval(n, 100 * seq) for n in range(1, seconds + 1))
        store.add(made, RunDetail(series=series))
    found = drawn(store, "scatter", ("time",))
    assert found.overlay
    assert found.overlay.rows == [(81.0, 100.0, 200.0, 200.0, 200.0)]
    assert found.notes[-1] == "A, 1 min 21 s to 1 min 40 s: IOPS 200, deviation 0 %"


@pytest.mark.parametrize(
    ("end_s", "ticks"),
    [
        (300, [0, 60, 120, 180, 240, 300]),
        (22 * 3600, [0, 14400, 28800, 43200, 57600, 72000, 86400]),
    ],
)
def test_long_times_have_whole_minutes_or_hours(
    store: Store, end_s: int, ticks: list[int]
) -> None:
    series = tuple(interval(n, 1, 60) for n in range(60, end_s + 1, 60))
    store.add(record(1), RunDetail(series=series))
    axis = x_choices(drawn(store, "lines", ("time",)))["linear"]["axis"]
    assert axis["values"] == ticks
    assert axis["labelExpr"] == "tick(datum.value, 'duration')"


@pytest.mark.parametrize(("p50_ns", "scale"), [(90.0, "log"), (150.0, "linear")])
def test_bands_that_lie_close_have_a_linear_axis(
    store: Store, p50_ns: float, scale: str
) -> None:
    series = [interval(n, 9).model_copy(update={"p50_ns": p50_ns}) for n in (1, 2)]
    store.add(record(1), RunDetail(series=tuple(series)))
    runs = points({"A": list(store.records(ID))})
    request = Request(chart("scatter", ("p50",), ("time",)), runs, Reader(store))
    assert next(bands_over_time(request)).y_scale == scale


def test_a_long_timeline_is_thinned_to_means(store: Store) -> None:
    many = MOST_POINTS * 2
    series = tuple(interval(n, n % 2) for n in range(1, many + 1))
    store.add(record(1), RunDetail(series=series))
    found = drawn(store, "scatter", ("time",))
    assert set(column(found, "y")) == {0.5}
    assert len(found.frame.rows) == MOST_POINTS
    assert "each point stands for 2 intervals" in found.notes
    worst = drawn(store, "scatter", ("time",), metrics=("p99",))
    assert set(column(worst, "y")) == {200.0}


def test_the_window_is_of_what_was_measured_not_of_what_is_drawn(store: Store) -> None:
    """Of two percentiles the larger is drawn; their mean is not that of the larger."""
    both = [interval(1, 1), interval(1, 1).model_copy(update={"max_ns": 4000})]
    series = [
        both[n % 2].model_copy(update={"t_s": float(n)})
        for n in range(1, 2 * MOST_POINTS + 1)
    ]
    store.add(record(1), RunDetail(series=tuple(series)))
    found = drawn(store, "scatter", ("time",), metrics=("max",))
    assert set(column(found, "y")) == {4000.0}
    assert found.overlay
    assert found.overlay.rows[0][2] == 2200.0
    assert found.notes[-1].endswith("2.20 us, deviation 81.8 %")


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


def trimmed() -> Measurement:
    made = Measurement()
    done = stream(trim=counts(range(2000, 4000)))
    made.add(progress(1, done))
    made.add(result(1, done))
    return made


def test_trims_alone_have_their_figures(store: Store) -> None:
    """A total is of reads and writes, and would be nothing."""
    made = trimmed()
    store.add(record(1, made=made), made.detail)
    (only,) = records = list(store.records(ID))
    reader = Reader(store)
    assert reader.figure(parse_metric("trim.iops"), records).value == 2000
    assert reader.figure(parse_metric("trim.p99"), records).value == pytest.approx(
        3980, rel=0.01
    )
    assert main_result(only)[0].ios == 2000 and main_result(only)[1] == "trim "
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
        asked = record(number).asked.model_copy(update={"round": number, "cell": {}})
        runs.append(
            record(number).model_copy(update={"asked": asked, "steady": steady})
        )
    (found,) = convergence(points({"A": runs}), [])
    assert column(found, "y") == list(values)
    assert found.overlay
    (window,) = found.overlay.rows
    assert window == pytest.approx((1, 5, 84, 75.6, 92.4, 68, 100, 100, 68))
    assert found.notes[0].startswith("A: not steady (range 38.1 % > 20 %); window of 5")


def test_the_header_gives_the_window_in_units() -> None:
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
    asked = record(1).asked.model_copy(update={"round": 2})
    made = record(1).model_copy(update={"asked": asked, "steady": steady})
    header = pts_header("A", session(), [made], [])
    assert header
    facts = dict(header.pairs)
    assert facts["Window values"] == "3234 MB/s, 3254 MB/s"
    assert facts["Window mean"] == "3244 MB/s"


# ---- the whole document


def composed(store: Store) -> Document:
    sessions = [store.session(ID)]
    return document(store, sessions, {}, "Made in a test")


def verdict(outcome: Any, number: int = 0) -> Verdict:
    text = f"expect p99 < {number}us"
    return Verdict(expectation=text, outcome=outcome, actual=1.0, limit=2.0, unit="ns")


@pytest.mark.parametrize(
    ("outcomes", "sentence"),
    [
        ((), "Measured; the plan has no expectations"),
        (("held",), "The expectation held"),
        (("held", "held"), "All 2 expectations held"),
        (
            ("held", "undecided"),
            "1 of 2 expectations could not be judged; the rest held",
        ),
        (("failed", "undecided"), "1 of 2 expectations did not hold"),
    ],
)
def test_the_first_screen(
    store: Store, outcomes: tuple[str, ...], sentence: str
) -> None:
    judged = tuple(verdict(one, number) for number, one in enumerate(outcomes))
    store.add(*run(1, verdicts=judged))
    store.finish(ID, "ok", "2026-11-21T05:46:12Z")
    found = composed(store)
    assert found.verdict.sentence == sentence
    told = [f"{line.outcome}: {line.text}" for line in found.sections[0].judged]
    assert all(text.endswith("1.00 ns, limit 2.00 ns") for text in told)


def test_what_has_not_run_takes_from_a_good_verdict(store: Store) -> None:
    store.add(*run(1, verdicts=(verdict("held"),)))
    found = composed(store).verdict
    assert found.outcome == "undecided"
    assert found.sentence == "The expectation held, but not all of the plan has run"


def test_a_failed_run_comes_first(store: Store) -> None:
    store.add(*run(1, verdicts=(verdict("held"),)))
    store.add(*run(2, status="failed", message="the drive is gone", cell={"qd": "4"}))
    found = composed(store)
    assert found.verdict.sentence == "1 run failed"
    assert any("the drive is gone" in line.text for line in found.sections[0].remarks)


def test_what_was_not_measured_is_said_once(store: Store) -> None:
    store.add(*run(1))
    assert page(composed(store)).count("Power was not measured") == 1


def test_power_and_temperature_appear_where_they_were_measured(store: Store) -> None:
    points = tuple(interval(n, 100) for n in (1, 2, 3))
    heat = tuple(
        TelemetryPoint(t_s=n, length_s=1, watts=5.0 + n, temperature_celsius=40.0 + n)
        for n in (1, 2, 3)
    )
    said = Telemetry(covered_s=3, intervals=3, watts=7.0, temperature_max_celsius=43)
    made = record(1, cell={}).model_copy(update={"telemetry": said})
    store.add(made, RunDetail(series=points, telemetry=heat))
    found = composed(store)
    assert found.absent == ()
    shown = {picture.title: picture for picture in found.sections[0].pictures}
    assert column(shown["Power over time"], "y") == [6.0, 7.0, 8.0]
    assert column(shown["Temperature over time"], "y") == [41.0, 42.0, 43.0]


CPUS = {
    "cpu": "CPU of the load generator",
    "system_cpu": "CPU of the whole system",
    "stack_cpu": "CPU of the storage stack only",
    "iops_per_cpu": "IOPS per % CPU of the load generator",
    "iops_per_system_cpu": "IOPS per % CPU of the whole system",
    "iops_per_stack_cpu": "IOPS per % CPU of the storage stack only",
}


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
        made = record(seq, cell={"qd": str(seq)})
        made = made.model_copy(update={"telemetry": said, "cpu_percent": 40.0})
        store.add(made, RunDetail(series=series, telemetry=points))
    for kind, by in (("lines", "qd"), ("lines", "time"), ("table", "qd")):
        (picture,) = asked_for(store, chart(kind, (name,), (by,)))
        assert picture.title.startswith(CPUS[name])
        assert picture.notes[-1].startswith(f"{name.removeprefix('iops_per_')}: ")
        assert len(picture.frame.rows) == (6 if by == "time" else 2)
        if kind == "lines":
            unit = "IOPS per % of one CPU" if "iops" in name else "(% of one CPU)"
            made_of = spec(picture)
            assert made_of
            assert unit in made_of["encoding"]["y"]["axis"]["title"]


def asked_for(store: Store, one: Chart) -> list[Picture]:
    """The pictures of one chart of all runs."""
    test = Test.model_construct(title="demo", charts=(one,), axes=())
    runs = points({"A": list(store.records(ID))})
    return list(pictures(test, runs, Reader(store)))


@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_the_largest_latency_is_averaged_over_the_sweep(
    store: Store, kind: str
) -> None:
    for seq in (1, 2, 3):
        store.add(*run(seq, cell={"qd": str(2**seq)}))
    (found,) = asked_for(store, chart(kind, ("max",), ("qd",)))
    parts = [one.total.latency for one in store.records(ID)]
    mean_ns = fmean(part.max_ns for part in parts if part)
    (note,) = found.notes
    assert note.endswith(f"averaged over the queue depths: {latency_text(mean_ns)}")


def test_a_table_has_a_column_a_figure_and_tells_what_is_missing(store: Store) -> None:
    for seq in (1, 2):
        store.add(*run(seq, cell={"read": f"{seq}%"}))
    names = ("iops", "mean", "watts", "p99.999")
    (found,) = asked_for(store, chart("table", names, ("read",)))
    heads = [(column.title, column.unit) for column in found.frame.columns]
    assert heads == [("read share", "text"), ("IOPS", "1/s"), ("mean latency", "ns")]
    assert column(found, "d0") == ["1%", "2%"]
    totals = [one.total for one in store.records(ID)]
    assert column(found, "m0") == [pytest.approx(total.iops) for total in totals]
    assert found.notes == ("2 points left out: p99.999: needs 1_000_000 I/Os",)


def test_the_table_of_runs_leaves_out_what_is_always_so(store: Store) -> None:
    titles = ["queue depth", "IOPS", "throughput", "mean", "p50", "p99", "p99.9", "max"]
    for seq in (1, 2):
        made = record(seq, cell={"qd": str(seq)}, cpu_percent=0.0)
        store.add(made, RunDetail())
    (section,) = composed(store).sections
    assert [c.title for c in section.runs.columns] == titles
    lost = record(3, status="failed", message="gone", cell={"qd": "3"})
    store.add(lost.model_copy(update={"cpu_percent": 0.0}), RunDetail())
    (section,) = composed(store).sections
    assert [c.title for c in section.runs.columns] == [*titles, "status"]


def test_sequential_runs_are_drawn_by_their_throughput(store: Store) -> None:
    made = record(1, cell={})
    (one,) = made.asked.workload.streams
    load = Workload(streams=(one.model_copy(update={"pattern": "sequential"}),))
    asked = made.asked.model_copy(update={"workload": load})
    series = tuple(interval(n, 100) for n in (1, 2, 3))
    store.add(made.model_copy(update={"asked": asked}), RunDetail(series=series))
    (section,) = composed(store).sections
    assert section.pictures[0].title == "Throughput over time"


# ---- many sessions


def many(store: Store, count: int, bad: int = -1) -> Document:
    """So many sessions that held, but one."""
    sessions = [session(id=f"20261122-054512-b{n:03}") for n in range(count)]
    for number, one in enumerate(sessions):
        store.begin(one)
        outcome = "failed" if number == bad else "held"
        store.add(*run(1, session=one.id, verdicts=(verdict(outcome),)))
        store.finish(one.id, "ok", "2026-11-22T05:46:12Z")
    sessions = [store.session(one.id) for one in sessions]
    return document(store, sessions, {}, "")


def test_what_fails_in_one_of_many_sessions_is_seen(store: Store) -> None:
    found = many(store, 60, bad=55)
    (section,) = found.sections
    assert found.verdict.sentence == "1 of 60 expectations did not hold"
    assert worst(section) == "failed"
    assert [line.outcome for line in section.judged] == ["failed", "held"]
    assert section.judged[0].text.startswith("sim0, b055: failed: expect p99")
    assert "held in 59 of 60 cells: expect p99" in section.judged[1].text
    assert section.counted == "60 runs of 1 cell in 60 sessions"


def test_many_sessions_share_one_card(store: Store) -> None:
    assert many_sessions(many(store, 8).sessions) is None
    found = many_sessions(many(store, 9).sessions)
    assert found
    assert dict(found.shared.pairs)["Backend"] == "sim 1"
    assert [column.title for column in found.differing.columns] == [
        "session",
        "Session",
    ]
    assert len(found.differing.rows) == 9


def test_what_many_drives_ran_is_checked_once(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    many(store, 9)
    checked: list[str] = []
    monkeypatch.setattr(sessions_command, "plan_of", lambda one: checked.append(one.id))
    ids = [f"20261122-054512-b{n:03}" for n in range(9)]
    out = ("--store", store.where, "-o", tmp_path / "report.html")
    assert ioplan("report", *ids, *out).code == 0
    assert len(checked) == 1


def test_several_sessions_share_their_charts(store: Store) -> None:
    other = session(id="20261122-054512-b7k2", backend="fio")
    store.begin(other)
    for seq in (1, 2, 3):
        store.add(*run(seq))
        store.add(*run(seq, session=other.id))
    found = document(store, [store.session(ID), other], {}, "")
    assert [one.heading for one in found.sessions] == ["sim0, sim", "sim0, fio"]
    (section,) = found.sections
    picture = section.pictures[0]
    assert picture.frame.column(picture.channels.color).order == (
        "sim0, sim",
        "sim0, fio",
    )
    figure = Reader(store).figure(Metric(name="iops"), list(store.records(ID))[:1])
    assert figure.value in column(picture, "y")


# ---- the page


@given(values)
def test_json_cannot_leave_its_script(value: Any) -> None:
    text = safe(value)
    assert json.loads(text) == value
    assert not re.search("[<>&\u2028\u2029]", text)


def expressions(node: Any) -> list[str]:
    """All that Vega would read as a program."""
    names = {"labelExpr", "filter", "calculate", "test", "expr", "signal"}
    if isinstance(node, list):
        return [found for one in node for found in expressions(one)]
    if not isinstance(node, dict):
        return []
    own = [
        text for name, text in node.items() if name in names and isinstance(text, str)
    ]
    assert not isinstance(node.get("sort"), list), "Vega-Lite makes a program of it"
    return own + expressions(list(node.values()))


def test_no_text_of_a_plan_becomes_a_program(store: Store) -> None:
    evil = "'); alert(1) //"
    for seq in range(1, 6):
        cell = {evil: f"{evil}{seq % 2}", "x": f"{evil}{seq}", "y": f"{evil}{seq % 3}"}
        store.add(*run(seq, test=evil, cell=cell))
    found = composed(store)
    made = [spec(p) for section in found.sections for p in section.pictures]
    assert made
    assert not any(evil in text for one in made for text in expressions(one))


def luminance(color: str) -> float:
    """Of WCAG 2: relative luminance of #rrggbb."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
    ]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1])
def test_colours_can_be_read(theme: int) -> None:
    """WCAG's 4.5 for text, 3 for marks."""
    css = (HTML / "page.css").read_text()
    blocks = re.findall(r"\{([^{}]*--page:[^{}]*)\}", css)
    colors = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", blocks[theme]))
    for name in ("ink", "soft", "accent", "held", "failed", "warning"):
        assert contrast(colors[name], colors["card"]) >= 4.5, name
        assert contrast(colors[name], colors["page"]) >= 4.5, name
    script = (HTML / "script/theme.js").read_text()
    palettes = re.findall(r"(?:light|dark): \[((?:\"#[0-9A-F]{6}\"(?:, )?)+)\]", script)
    palette = re.findall(r"#[0-9A-F]{6}", palettes[theme])
    assert len(palette) == 8
    assert all(contrast(color.lower(), colors["card"]) >= 3 for color in palette)


def test_the_licences_are_of_the_versions_that_are_bundled() -> None:
    versions = json.loads((HTML / "vendor/package.json").read_text())["dependencies"]
    licences = (HTML / "vendor/LICENSES.txt").read_text()
    for name, version in versions.items():
        assert f"{name} {version}" in licences


# ---- the command


def test_a_report_of_the_last_session(tmp_path: Path, store: Store) -> None:
    store.add(*run(1))
    out = tmp_path / "report.html"
    done = ioplan("report", "--store", store.where, "-o", out)
    assert done.code == 0
    assert str(out) in done.out.replace("\n", "")
    assert out.read_text().startswith("<!doctype html>")


def test_errors_say_what_to_do(tmp_path: Path, store: Store) -> None:
    out = tmp_path / "missing" / "report.html"
    empty = ioplan("report", "last", "--store", store.where, "-o", out)
    assert (empty.code, "has no run to report" in empty.err) == (2, True)
    store.add(*run(1))
    unknown = ioplan("report", "2027", "--store", store.where)
    assert (unknown.code, "no session '2027'" in unknown.err) == (2, True)
    nowhere = ioplan("report", "last", "--store", store.where, "-o", out)
    assert (nowhere.code, "cannot write" in nowhere.err) == (2, True)
