"""The limits of expectations as lines of a chart, and the points that failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    text: str
    value: float
    unit: str


def judged_of(point: Point, metric: Metric) -> str:
    """Which expectations of a figure a point does not meet; empty if it meets all."""
    failed = dict.fromkeys(
        f"{verdict.outcome}: {verdict.expectation}"
        for verdict in _verdicts(point.runs, metric)
        if verdict.outcome in FAILED
    )
    return "; ".join(failed)


def with_limits(request: Request, picture: ChartSpec) -> ChartSpec:
    """The picture with the limits that its figures were held against: from side to
    side, or at each place along the axis that they hold at."""
    if not picture.marks.has_limits:
        return picture
    x, y = picture.frame.column(picture.x), picture.frame.column(picture.y)
    records = [*picture.frame.records()]
    # over time there are no cells along it
    along = {None} if x.unit in ("s", "B") else {row[picture.x] for row in records}
    places = _places(request, picture, y.unit)
    figures = [v for row in records if isinstance(v := row[picture.y], (int, float))]
    near = [limit for limit in places if _is_near(limit.value, figures, picture)]
    far = [limit for limit in places if limit not in near][:MOST_LIMITS]
    notes = tuple(
        f"limit beyond the chart: {limit.text} ({metric_text(limit.value, limit.unit)})"
        for limit in far
    )
    picture = replace(picture, notes=(*picture.notes, *notes))
    if not near or len(near) > MOST_LIMITS:
        return picture
    rows = [
        (at, limit.value, limit.text.removeprefix("expect ").strip())
        for limit in near
        for at in (
            (None,) if places[limit] >= along or None in along else places[limit]
        )
    ]
    columns = (
        replace(x, title=axis_title(request.by)),
        y,
        Column("limit", "expectation"),
    )
    events = picture.limits.rows if picture.limits else ()
    return replace(picture, limits=Frame(columns, [*events, *rows]))


def _places(request: Request, picture: ChartSpec, unit: str) -> dict[Limit, set[Value]]:
    """Each limit of figures of a unit, and where along the x axis it was judged."""
    texts = [p.dimensions[request.by] for p in request.along if request.by]
    numbered = None if picture.x_scale == "names" else numbers(texts)
    places: dict[Limit, set[Value]] = {}
    for point in request.points:
        text = point.dimensions.get(request.by)
        at = numbered[0][text] if numbered and text is not None else text
        for metric in request.chart.metrics:
            for verdict in _verdicts(point.runs, metric):
                if verdict.limit is not None and metric.unit == unit:
                    limit = Limit(verdict.expectation, verdict.limit, verdict.unit)
                    places.setdefault(limit, set()).add(at)
    return places


def _verdicts(runs: Sequence[RunRecord], metric: Metric) -> Iterator[Verdict]:
    """Those of a metric; their line begins with `expect METRIC`."""
    for run in runs:
        streams = [stream.name for stream in run.streams]
        for verdict in run.verdicts:
            words = verdict.expectation.split()[1:2]
            try:
                own = parse_metric("".join(words), streams, [run.asked.name])
            except MetricError:
                continue  # a store that was passed on may say anything
            if own == metric:
                yield verdict


def _is_near(value: float, figures: Sequence[float], picture: ChartSpec) -> bool:
    """Whether the figures can still be told apart with the limit in the chart."""
    if not figures:
        return False
    least = 0.0 if picture.y_scale == "linear" else min(figures) / REACH
    return least <= value <= max(figures) * REACH
