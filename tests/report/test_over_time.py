"""Charts over time: each interval has its place, and the last fifth its mean."""

from __future__ import annotations

from statistics import fmean

import pytest
from msgspec.structs import replace
from report_charts import ID, column, drawn, interval
from run_data import (
    counts,
    flat,
    latencies_ns,
    progress,
    record,
    result,
    stream,
)

from ioplan.language import METRICS, Metric
from ioplan.language.metric import HOST, why_not_in_intervals
from ioplan.records import RunDetail, TelemetryPoint
from ioplan.results.measure import (
    IntervalCounts,
    Measurement,
    Sample,
    figure,
    in_series,
    stretch,
)
from ioplan.results.report import Reader, Request, chart, points
from ioplan.results.report.charts.over_time import (
    MOST_POINTS,
    bands_over_time,
    over_time,
)
from ioplan.results.report.charts.timeline import Instant, metric_at
from ioplan.results.report.html.spec import x_choices
from ioplan.results.store import Store
from ioplan.workload import COUNTED, DIRECTIONS, Direction, Rate

SCOPES: list[tuple[str | None, Direction | None]] = [
    (stream, direction) for stream in (None, "log") for direction in (None, *COUNTED)
]


def test_a_curve_of_a_stream_is_of_its_own_latencies(store: Store) -> None:
    """In each interval, as counted by hand: the other stream is ten times as slow."""
    made = Measurement()
    fast = [latencies_ns(second, 1500) for second in range(4)]
    slow = [[10 * one for one in latencies_ns(9 + second, 1500)] for second in range(4)]
    for second, (f, s) in enumerate(zip(fast, slow, strict=True), 1):
        parts = stream("fast", read=counts(f)), stream("slow", read=counts(s))
        made.add(progress(second, *parts))
    store.add(record(1), made.detail)
    for name, latencies in (("fast", fast), ("slow", slow)):
        (found,) = over_time(asked(store, "lines", Metric(name="max", stream=name)))
        assert column(found, "x") == [1, 2, 3, 4]
        assert column(found, "y") == [max(one) for one in latencies]
        (found,) = bands_over_time(
            asked(store, "bands", Metric(name="p99", stream=name))
        )
        p99s_ns = [sorted(one)[1484] for one in latencies]
        assert column(found, "y1") == pytest.approx(p99s_ns, rel=0.01)
        assert found.title == f"Latency percentiles of {name} over time"


def asked(store: Store, kind: str, *metrics: Metric) -> Request:
    made = replace(chart(kind, (), ("time",)), metrics=metrics)
    return Request(made, points({"A": list(store.records(ID))}), Reader(store))


def test_a_run_without_counts_has_no_curve_of_a_stream(store: Store) -> None:
    store.add(record(1), RunDetail(series=(interval(1, 5), interval(2, 5))))
    for metric in (Metric(name="p99", stream="a"), Metric(name="p95")):
        (found,) = over_time(asked(store, "lines", metric))
        assert not found.frame.rows
        assert found.notes == (f"not counted in the intervals of some runs: {metric}",)


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


@pytest.mark.parametrize("name", ["iops", "p99"])
def test_a_metric_of_a_step_is_drawn_of_its_runs_only(store: Store, name: str) -> None:
    """Of one in the series, and of one that is counted for each stream."""
    for seq, step in ((1, "first"), (2, "then")):
        made = Measurement()
        for second in range(1, 5):
            load = stream("load", read=counts(latencies_ns(seq, 1000 * seq)))
            made.add(progress(second, load))
        of = record(seq, cell={}).asked.model_copy(update={"name": step, "step": seq})
        run = record(seq).model_copy(update={"asked": of, "run_s": 4.0})
        store.add(run, made.detail)
    then, first = (Metric(name=name, step=step) for step in ("then", "first"))
    (both,) = over_time(asked(store, "lines", then, first))
    named = (column(both, "x"), column(both, both.channels.color or ""))
    assert dict(zip(*named, strict=True)) == {
        **dict.fromkeys((1.0, 2.0, 3.0, 4.0), f"first.{name}"),
        **dict.fromkeys((5.0, 6.0, 7.0, 8.0), f"then.{name}"),
    }
    (one,) = over_time(asked(store, "lines", then))
    assert column(one, "x") == [5.0, 6.0, 7.0, 8.0] and "at step then" in one.title
    if name == "iops":
        assert {*column(one, "y")} == {2000}
    (bands,) = bands_over_time(asked(store, "bands", then))
    assert column(bands, "x") == [5.0, 6.0, 7.0, 8.0] and "at step then" in bands.title


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


@pytest.mark.parametrize(("metric", "first"), [("iops", 2400.0), ("p99", 200.0)])
def test_each_level_of_a_run_is_marked(store: Store, metric: str, first: float) -> None:
    """A cache that is full after 11 s, with the latencies of the same intervals."""
    rates = [2400 if n <= 11 else 670 for n in range(1, 61)]
    series = tuple(interval(n, rate) for n, rate in enumerate(rates, 1))
    store.add(record(1), RunDetail(series=series))
    found = drawn(store, "lines", ("time",), metrics=(metric,))
    assert found.overlay
    assert [row[:2] for row in found.overlay.rows] == [(1.0, 11.0), (12.0, 60.0)]
    assert found.overlay.rows[0][2] == first
    assert "before and after the rate changed" in found.notes[0]
    assert " 1.00 s to 11 s: " in found.notes[1]


def test_a_rate_that_the_plan_changes_has_no_levels(store: Store) -> None:
    ramp = Rate(iops=1500, first_per_s=2400, last_per_s=670)
    series = tuple(interval(n, 2400 if n <= 11 else 670) for n in range(1, 61))
    made = record(1)
    (asked_of,) = made.asked.workload.streams
    phased = asked_of.model_copy(update={"rate": ramp})
    workload = made.asked.workload.model_copy(update={"streams": (phased,)})
    asked = made.asked.model_copy(update={"workload": workload})
    store.add(made.model_copy(update={"asked": asked}), RunDetail(series=series))
    found = drawn(store, "lines", ("time",))
    assert found.overlay and len(found.overlay.rows) == 1


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


@pytest.mark.long
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
    assert found.notes[-1].endswith("2.20 µs, deviation 81.8 %")


def test_what_the_checker_accepts_over_time_is_drawn() -> None:
    """And nothing that it refuses is: of an interval that knows all there is."""
    made = Measurement()
    did = dict.fromkeys(COUNTED, counts([5, 7]))
    made.add(progress(1, stream("log", **did), stream("main", **did)))
    part = stretch(IntervalCounts(made.detail.intervals), 0, 1)
    assert part
    point = interval(1, 10).model_copy(
        update={"ios": dict.fromkeys(DIRECTIONS, 5), "mean_ns": 1.0, "p50_ns": 1.0}
        | {"p99_ns": 1.0, "p99_9_ns": 1.0}
    )
    known = dict.fromkeys(TelemetryPoint.model_fields, 1.0)
    readings = TelemetryPoint.model_validate(known)
    names = (*METRICS, "p50", "p90", "p99", "p99.9", "p99.99")
    for name in names:
        scopes = [(None, None)] if name in HOST else SCOPES
        for stream_name, direction in scopes:
            metric = Metric(name=name, stream=stream_name, direction=direction)
            own = (
                {}
                if name in HOST or in_series(metric)
                else {metric: part.value(metric)}
            )
            is_drawn = Instant(1, 1, point, readings, own).value(metric) is not None
            assert is_drawn == (not why_not_in_intervals(metric)), metric
