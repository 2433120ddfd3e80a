"""The limits of expectations as lines of a chart, and the points that failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from ioplan.core.units import metric_text
from ioplan.language.metric import Metric, MetricError, parse_metric
from ioplan.records.record import RunRecord, Verdict
from ioplan.results.report.charts.axis import axis_title, numbers
from ioplan.results.report.charts.request import Request
from ioplan.results.report.documents import ChartSpec, Column, Frame, Value
from ioplan.results.report.point import Point

MOST_LIMITS = 8
REACH = 3.0
"""A limit so many times beyond the figures would flatten them."""
FAILED = ("failed", "undecided")


class Limit(NamedTuple):
    """One limit, and where along the x axis it was judged."""

    text: str
    value: float
    unit: str


def judged_of(point: Point, metric: Metric) -> str:
    """Which expectations of a figure a point does not meet; empty if it meets all."""
    found = dict.fromkeys(
        f"{verdict.outcome}: {verdict.expectation}"
        for verdict in _verdicts(point.runs, metric)
        if verdict.outcome in FAILED
    )
    return "; ".join(found)


def with_limits(request: Request, picture: ChartSpec) -> ChartSpec:
    """The picture with the limits that its figures were held against."""
    if not picture.marks.has_limits:
        return picture
    unit, along = picture.frame.column(picture.y).unit, _along(picture)
    x_of = _x_values(request, picture)
    places: dict[Limit, set[Value]] = {}
    for point in request.points:
        at = x_of.get(point.dimensions.get(request.by, ""))
        for limit in _limits(point, request, unit):
            places.setdefault(limit, set()).add(at)
    near = [one for one in places if _is_near(one.value, picture)]
    far = [one for one in places if one not in near]
    notes = tuple(
        f"limit beyond the chart: {_spoken(one)}" for one in far[:MOST_LIMITS]
    )
    picture = replace(picture, notes=(*picture.notes, *notes))
    if not near or len(near) > MOST_LIMITS:
        return picture
    rows = [
        row
        for one in near
        for row in _rows(one, places[one], whole=places[one] >= along or None in along)
    ]
    columns = (
        replace(picture.frame.column(picture.x), title=axis_title(request.by)),
        picture.frame.column(picture.y),
        Column("limit", "expectation"),
    )
    events = picture.limits.rows if picture.limits else ()
    return replace(picture, limits=Frame(columns, [*events, *rows]))


def _along(picture: ChartSpec) -> set[Value]:
    """The values of the x axis; over time there are no cells along it."""
    if picture.frame.column(picture.x).unit in ("s", "B"):
        return {None}
    return {row[picture.x] for row in picture.frame.records()}


def _x_values(request: Request, picture: ChartSpec) -> dict[str, Value]:
    """Where the cells of each value of the axis stand."""
    points = request.points
    texts = [p.dimensions[request.by] for p in points if request.by in p.dimensions]
    known = None if picture.x_scale == "names" else numbers(texts)
    return {text: known[0][text] if known else text for text in texts}


def _limits(point: Point, request: Request, unit: str) -> Iterator[Limit]:
    for metric in request.chart.metrics:
        for verdict in _verdicts(point.runs, metric):
            if verdict.limit is not None and metric.unit == unit:
                yield Limit(verdict.expectation, verdict.limit, verdict.unit)


def _verdicts(runs: Sequence[RunRecord], metric: Metric) -> Iterator[Verdict]:
    for run in runs:
        for verdict in run.verdicts:
            if _metric_of(verdict, run) == metric:
                yield verdict


def _metric_of(verdict: Verdict, run: RunRecord) -> Metric | None:
    """What an expectation is of; its line begins with `expect METRIC`."""
    words = verdict.expectation.split()[1:2]
    streams = [stream.name for stream in run.streams]
    try:
        return parse_metric("".join(words), streams, [run.asked.name])
    except MetricError:
        return None  # a store that was passed on may say anything


def _is_near(value: float, picture: ChartSpec) -> bool:
    """Whether the figures can still be told apart with the limit in the chart."""
    rows: Iterable[Value] = (row[picture.y] for row in picture.frame.records())
    found = [one for one in rows if isinstance(one, (int, float))]
    if not found:
        return False
    least = 0.0 if picture.y_scale == "linear" else min(found) / REACH
    return least <= value <= max(found) * REACH


def _rows(limit: Limit, places: set[Value], whole: bool) -> Iterator[tuple[Value, ...]]:
    """One from side to side, or one at each place that it holds at."""
    for at in (None,) if whole else places:
        yield (at, limit.value, limit.text.removeprefix("expect ").strip())


def _spoken(limit: Limit) -> str:
    return f"{limit.text} ({metric_text(limit.value, limit.unit)})"
