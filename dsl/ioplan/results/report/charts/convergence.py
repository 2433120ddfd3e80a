"""How a test came to its steady state: the tracked values, the window, the limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ioplan.core.grouping import grouped
from ioplan.language.metric import Metric, parse_metric
from ioplan.records.record import RunRecord, Steady
from ioplan.results.measure.steady_state import least_squares_slope
from ioplan.results.report.charts.encoding import Datum, drawn
from ioplan.results.report.charts.over_axis import failed_note
from ioplan.results.report.charts.request import metric_name
from ioplan.results.report.documents import ChartSpec, Column
from ioplan.results.report.many_sessions import first_lines
from ioplan.results.report.point import Dimensions, Point
from ioplan.results.report.sentences import has_all_values, steady_window_line

LIMITS = ("x", "x2", "mean", "low", "high", "least", "most", "fit", "fit2")


class Curve(NamedTuple):
    """The value of each round or window by its number, and the last assessment."""

    dimensions: Dimensions
    values: dict[int, float]
    steady: Steady
    failed: Mapping[int, str]


def convergence(
    runs: Sequence[Point], prepared: Sequence[Point]
) -> Iterator[ChartSpec]:
    """A picture of the rounds, and one of the writes that were to become steady."""
    yield from _pictures(runs, _round_curves(runs), "round", "rounds")
    yield from _pictures(prepared, _window_curves(prepared), "window", "preparation")


def _pictures(
    points: Sequence[Point], curves: Iterator[Curve], x: str, what: str
) -> Iterator[ChartSpec]:
    """A picture for each tracked metric."""
    metrics = {
        run.steady.metric: parse_metric(
            run.steady.metric, [stream.name for stream in run.streams]
        )
        for point in points
        for run in point.runs
        if run.steady
    }
    by_metric = grouped(curves, key=lambda curve: curve.steady.metric)
    for name, few in by_metric.items():
        yield _picture(few, x, what, metrics[name])


def _round_curves(points: Sequence[Point]) -> Iterator[Curve]:
    """The tracked cells: the last assessment of each round has its value."""
    tracked: dict[str, list[RunRecord]] = {}
    for point in points:
        if any(run.steady and run.asked.round for run in point.runs):
            tracked.setdefault(point.dimensions["session"], []).extend(point.runs)
    for label, runs in tracked.items():
        judged = {run.asked.round: run.steady for run in runs if run.steady}
        values = {n: s.values[-1] for n, s in judged.items() if s.values}
        failed = {r.asked.round: r.status for r in runs if r.status != "ok"}
        values = {n: value for n, value in values.items() if n not in failed}
        if values:
            yield Curve({"session": label}, values, judged[max(judged)], failed)


def _window_curves(points: Sequence[Point]) -> Iterator[Curve]:
    """A preparation keeps its last window."""
    for point in points:
        steady = point.runs[-1].steady
        if steady and len(steady.values) > 1:
            values = dict(enumerate(steady.values, start=1))
            yield Curve(point.dimensions, values, steady, {})


def _picture(curves: list[Curve], x: str, what: str, metric: Metric) -> ChartSpec:
    """A row a round; one that failed has its status only."""
    unit, name = metric.unit, metric_name(metric)
    data = [
        Datum(places, (float(n), values.get(n)), failed.get(n, "ok"))
        for places, values, _, failed in curves
        for n in sorted({*values, *failed})
    ]
    failed = failed_note(sum(len(curve.failed) for curve in curves))
    unsteady_first = sorted(curves, key=lambda curve: curve.steady.reached)
    lines = [
        f"{', '.join(curve.dimensions.values())}: "
        f"{steady_window_line(curve.steady, unit)}"
        for curve in unsteady_first
    ]
    judged = [curve for curve in curves if has_all_values(curve.steady)]
    return drawn(
        "convergence",
        f"Steady state of the {what}: {name}",
        data,
        (Column("x", x, ""), Column("y", name, unit)),
        colored=False,
        over=[Datum(curve.dimensions, _window(curve)) for curve in judged],
        over_columns=tuple(
            Column(key, key, "" if key.startswith("x") else unit) for key in LIMITS
        ),
        notes=(*first_lines(lines), *failed),
    )


def _window(curve: Curve) -> tuple[float, ...]:
    """The window, its limits as the standard draws them, and its straight line."""
    values, last, mean = curve.steady.values, max(curve.values), curve.steady.mean
    count, half = len(values), curve.steady.range_limit_percent / 200
    slope = least_squares_slope(values) if count > 1 else 0.0
    rise = slope * (count - 1) / 2
    return (
        *(float(last - count + 1), float(last), mean),
        *(mean * (1 - half), mean * (1 + half), min(values), max(values)),
        *(mean - rise, mean + rise),
    )
