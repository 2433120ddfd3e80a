"""How a test came to its steady state: the tracked values, the window, the limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ioplan.core.units import metric_text
from ioplan.language.metric import Metric, parse_metric
from ioplan.measure.steady_state import least_squares_slope
from ioplan.records.record import RunRecord, Steady
from ioplan.report.charts.encoding import Point, framed
from ioplan.report.charts.request import metric_name
from ioplan.report.document import Column, Frame, Picture
from ioplan.report.many_sessions import some
from ioplan.report.points import Spot

Curve = tuple[dict[str, str], list[tuple[int, float]], Steady]


def convergence(runs: Sequence[Spot], prepared: Sequence[Spot]) -> Iterator[Picture]:
    """A picture of the rounds, and one of the writes that were to become steady."""
    yield from _pictures(list(_round_curves(runs)), "round", "rounds", _metrics(runs))
    found = list(_window_curves(prepared))
    yield from _pictures(found, "window", "preparation", _metrics(prepared))


def _metrics(spots: Sequence[Spot]) -> dict[str, Metric]:
    """What the tracked metrics are, by their text."""
    return {
        record.steady.metric: parse_metric(
            record.steady.metric, [stream.name for stream in record.streams]
        )
        for spot in spots
        for record in spot.records
        if record.steady
    }


def _pictures(
    curves: list[Curve], x: str, what: str, metrics: dict[str, Metric]
) -> Iterator[Picture]:
    for name in dict.fromkeys(steady.metric for _, _, steady in curves):
        found = [curve for curve in curves if curve[2].metric == name]
        yield _picture(found, x, what, metrics[name])


def _round_curves(spots: Sequence[Spot]) -> Iterator[Curve]:
    """The tracked cells: the last assessment of each round has its value."""
    tracked: dict[str, list[RunRecord]] = {}
    for spot in spots:
        for record in spot.records:
            if record.steady and record.asked.round:
                tracked.setdefault(spot.place["session"], []).append(record)
    for label, records in tracked.items():
        by_round = {r.asked.round: r.steady for r in records if r.steady}
        values = [(n, s.values[-1]) for n, s in sorted(by_round.items()) if s.values]
        if values:
            yield {"session": label}, values, by_round[max(by_round)]


def _window_curves(spots: Sequence[Spot]) -> Iterator[Curve]:
    """A preparation keeps its last window."""
    for spot in spots:
        steady = spot.records[-1].steady
        if steady and len(steady.values) > 1:
            values = list(enumerate(steady.values, start=1))
            yield spot.place, values, steady


def _picture(curves: list[Curve], x: str, what: str, metric: Metric) -> Picture:
    unit = metric.unit
    y = Column("y", metric_name(metric), unit)
    points = [
        Point(place, (float(number), value))
        for place, values, _ in curves
        for number, value in values
    ]
    frame, channels = framed(points, (Column("x", x, ""), y), colored=False)
    unsteady_first = sorted(curves, key=lambda curve: curve[2].reached)
    windows = [Point(place, _window(values, s)) for place, values, s in curves]
    drawn = ("x", "x2", "mean", "low", "high", "least", "most", "fit", "fit2")
    columns = tuple(
        Column(key, key, "" if key.startswith("x") else unit) for key in drawn
    )
    overlay, _ = framed(windows, columns, colored=False)
    return Picture(
        kind="convergence",
        title=f"Steady state of the {what}: {metric_name(metric)}",
        line="",
        frame=frame,
        x="x",
        y="y",
        channels=channels,
        overlay=overlay if _same(frame, overlay) else None,
        notes=some([steady_line(place, s, unit) for place, _, s in unsteady_first]),
    )


def _same(frame: Frame, overlay: Frame) -> bool:
    return [c.key for c in frame.columns[:-2]] == [c.key for c in overlay.columns[:-9]]


def _window(values: list[tuple[int, float]], steady: Steady) -> tuple[float, ...]:
    """The window, its limits as the standard draws them, and its straight line."""
    last = values[-len(steady.values) :]
    mean, half = steady.mean, steady.range_limit_percent / 200
    slope = least_squares_slope(steady.values) if len(steady.values) > 1 else 0.0
    rise = slope * (len(steady.values) - 1) / 2
    return (
        float(last[0][0]),
        float(last[-1][0]),
        mean,
        mean * (1 - half),
        mean * (1 + half),
        min(steady.values),
        max(steady.values),
        mean - rise,
        mean + rise,
    )


def steady_line(place: dict[str, str], steady: Steady, unit: str) -> str:
    """What was judged, in one sentence."""
    state = "steady" if steady.reached else f"not steady ({steady.why})"
    where = ", ".join(place.values())
    return (
        f"{where}: {state}; window of {steady.window}: mean "
        f"{metric_text(steady.mean, unit)}, "
        f"range {steady.range_percent:.1f} % of at most "
        f"{steady.range_limit_percent:g} %, "
        f"slope {steady.slope_percent:.1f} % of at most "
        f"{steady.slope_limit_percent:g} %"
    )
