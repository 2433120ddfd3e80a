"""The pictures of one test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from ioplan.language.metric import LATENCY, Metric
from ioplan.language.output_table import CHARTS
from ioplan.language.plan import Chart, Test
from ioplan.results.report.charts.defaults import charts_of
from ioplan.results.report.charts.distribution import cumulative, histogram, percentiles
from ioplan.results.report.charts.latencies import latencies_over_time
from ioplan.results.report.charts.limits import with_limits
from ioplan.results.report.charts.over_axis import (
    over_axis,
    over_iops,
    over_rounds,
    over_two,
)
from ioplan.results.report.charts.over_time import bands_over_time, over_time
from ioplan.results.report.charts.power import power_charts, without_power
from ioplan.results.report.charts.request import Request, meanings, unit_of
from ioplan.results.report.charts.rows_over_time import rows_over_time
from ioplan.results.report.charts.sweep_summary import (
    largest_notes,
    largest_over_sweep,
    saturation_notes,
)
from ioplan.results.report.charts.tables import listed
from ioplan.results.report.document import ChartSpec
from ioplan.results.report.points import Point, figures_of, meeting
from ioplan.results.report.reader import Reader

Draw = Callable[[Request], Iterable[ChartSpec]]

OF_INTERVALS = (
    *(bands_over_time, latencies_over_time, rows_over_time, over_time, over_rounds),
)
"""Charts of all rounds, rather than of the window that figures are of."""
BY_AXIS: dict[str, Draw] = {
    "time": over_time,
    "bytes": over_time,
    "round": over_rounds,
    "iops": over_iops,
}
"""Lines, bars and points, by what they are drawn over."""
RENDERERS: dict[str, Callable[[Chart], Draw]] = {
    "axis": lambda chart: BY_AXIS.get(_first_axis(chart), over_axis),
    "intervals": lambda chart: BY_AXIS.get(_first_axis(chart) or "time", over_axis),
    "cells": lambda chart: (
        (latencies_over_time if has_latencies(chart) else rows_over_time)
        if _first_axis(chart) == "time"
        else over_two
        if len(chart.by) > 1
        else listed
    ),
    "bands": lambda _: bands_over_time,
    "percentiles": lambda _: percentiles,
    "cumulative": lambda _: cumulative,
    "histogram": lambda _: histogram,
}
"""What makes the rows of a chart, by the `renderer` of its kind."""
OF_CELLS = (over_axis, over_two, listed)
"""Charts that mark what was not measured, too."""


def pictures(
    test: Test | None, points: list[Point], reader: Reader
) -> Iterator[ChartSpec]:
    """A picture or several for each chart that has points."""
    if not any(point.runs for point in points):
        return
    for chart in (*charts_of(test, points), *power_charts(test, points)):
        found = meeting(points, chart.when, test)
        if renderer(chart) not in OF_CELLS:
            found = [point for point in found if point.runs]
        if found:
            yield from _drawn(Request(chart, found, reader))


def _drawn(request: Request) -> Iterator[ChartSpec]:
    chart = request.chart
    draw, used = renderer(chart), set[str]()
    for picture in draw(request):
        if without_power(picture):
            continue
        found = _notes(request, picture) if draw is over_axis else ()
        notes = [note for note in found if note not in used]
        used.update(notes)
        notes += meanings(_metrics(chart, picture))
        if draw not in OF_INTERVALS and (rounds := figures_of(request.points)):
            notes.append(f"of {rounds}")
        yield with_limits(request, replace(picture, notes=(*picture.notes, *notes)))
    yield from largest_over_sweep(request)


def renderer(chart: Chart) -> Draw:
    """What draws a chart."""
    return RENDERERS[CHARTS[chart.kind].renderer](chart)


def has_latencies(chart: Chart) -> bool:
    """Whether it draws all latencies, and no figure of them."""
    return any(metric.name == LATENCY for metric in chart.metrics)


def _first_axis(chart: Chart) -> str:
    return chart.by[0] if chart.by else ""


def _metrics(chart: Chart, picture: ChartSpec) -> list[Metric]:
    """The metrics of a chart that are in this picture."""
    units = {column.unit for column in picture.frame.columns}
    return [metric for metric in chart.metrics if unit_of(metric) in units]


def _notes(request: Request, picture: ChartSpec) -> tuple[str, ...]:
    """What is read off a sweep, under the curve that it is read off."""
    if picture.frame.column(picture.y).unit == "ns":
        return largest_notes(request)
    return saturation_notes(request, picture.frame.column(picture.y).unit)
