"""How a test came to its steady state: the tracked values, the window, the limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from ioplan.language.metric import Metric, parse_metric
from ioplan.records.record import RunRecord, Steady
from ioplan.results.measure.steady_state import least_squares_slope
from ioplan.results.report.charts.encoding import Datum, framed, same_dimensions
from ioplan.results.report.charts.over_axis import failed_note
from ioplan.results.report.charts.request import metric_name
from ioplan.results.report.documents import ChartSpec, Column
from ioplan.results.report.many_sessions import first_lines
from ioplan.results.report.point import Dimensions, Point
from ioplan.results.report.sentences import has_all_values, steady_window_line

LIMITS = ("x", "x2", "mean", "low", "high", "least", "most", "fit", "fit2")


class Curve(Struct, frozen=True):
    """The value of each round or window by its number, and the last assessment."""

    dimensions: Dimensions
    values: dict[int, float]
    steady: Steady
    failed: Mapping[int, str]

    @property
    def data(self) -> Iterator[Datum]:
        """A row a round; one that failed has its status only."""
        for number in sorted({*self.values, *self.failed}):
            value, status = self.values.get(number), self.failed.get(number, "ok")
            yield Datum(self.dimensions, (float(number), value), status)


def convergence(
    runs: Sequence[Point], prepared: Sequence[Point]
) -> Iterator[ChartSpec]:
    """A picture of the rounds, and one of the writes that were to become steady."""
    yield from _pictures(list(_round_curves(runs)), "round", "rounds", _metrics(runs))
    found = list(_window_curves(prepared))
    yield from _pictures(found, "window", "preparation", _metrics(prepared))


def _metrics(points: Sequence[Point]) -> dict[str, Metric]:
    """What the tracked metrics are, by their text."""
    return {
        run.steady.metric: parse_metric(
            run.steady.metric, [stream.name for stream in run.streams]
        )
        for point in points
        for run in point.runs
        if run.steady
    }


def _pictures(
    curves: list[Curve], x: str, what: str, metrics: dict[str, Metric]
) -> Iterator[ChartSpec]:
    for name in dict.fromkeys(curve.steady.metric for curve in curves):
        found = [curve for curve in curves if curve.steady.metric == name]
        yield _picture(found, x, what, metrics[name])


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
    unit = metric.unit
    y = Column("y", metric_name(metric), unit)
    data = [datum for curve in curves for datum in curve.data]
    frame, channels = framed(data, (Column("x", x, ""), y), colored=False)
    whole = [curve for curve in curves if has_all_values(curve.steady)]
    windows = [Datum(curve.dimensions, _window(curve)) for curve in whole]
    columns = tuple(
        Column(key, key, "" if key.startswith("x") else unit) for key in LIMITS
    )
    overlay, _ = framed(windows, columns, colored=False)
    unsteady_first = sorted(curves, key=lambda curve: curve.steady.reached)
    failed = failed_note(sum(len(curve.failed) for curve in curves))
    return ChartSpec(
        kind="convergence",
        title=f"Steady state of the {what}: {metric_name(metric)}",
        line="",
        frame=frame,
        channels=channels,
        overlay=overlay if whole and same_dimensions(frame, overlay) else None,
        notes=(*first_lines([_note(curve, unit) for curve in unsteady_first]), *failed),
    )


def _window(curve: Curve) -> tuple[float, ...]:
    """The window, its limits as the standard draws them, and its straight line."""
    steady, last = curve.steady, max(curve.values)
    count = len(steady.values)
    mean, half = steady.mean, steady.range_limit_percent / 200
    slope = least_squares_slope(steady.values) if count > 1 else 0.0
    rise = slope * (count - 1) / 2
    return (
        float(last - count + 1),
        float(last),
        mean,
        mean * (1 - half),
        mean * (1 + half),
        min(steady.values),
        max(steady.values),
        mean - rise,
        mean + rise,
    )


def _note(curve: Curve, unit: str) -> str:
    where = ", ".join(curve.dimensions.values())
    return f"{where}: {steady_window_line(curve.steady, unit)}"
