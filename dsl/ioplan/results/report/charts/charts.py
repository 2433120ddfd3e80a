"""The pictures of one test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean

from msgspec.structs import replace

from ioplan.core.units import latency_text, metric_text
from ioplan.language.metric import LATENCY, RATES, Metric
from ioplan.language.output_table import CHARTS
from ioplan.language.plan import Chart, Test
from ioplan.results.report.charts.axis import numbers
from ioplan.results.report.charts.defaults import (
    against_load,
    charts_of,
    power_charts,
    without_power,
)
from ioplan.results.report.charts.distribution import cumulative, histogram, percentiles
from ioplan.results.report.charts.encoding import Datum, framed, together
from ioplan.results.report.charts.latencies import latencies_over_time
from ioplan.results.report.charts.limits import with_limits
from ioplan.results.report.charts.over_axis import (
    over_axis,
    over_iops,
    over_rounds,
    over_two,
)
from ioplan.results.report.charts.over_time import bands_over_time, over_time
from ioplan.results.report.charts.request import Request, meanings, unit_of
from ioplan.results.report.charts.rows_over_time import rows_over_time
from ioplan.results.report.charts.tables import listed
from ioplan.results.report.documents import ChartSpec, Column
from ioplan.results.report.point import Point, figures_of, meeting, only_writes
from ioplan.results.report.reader import Reader

# Figures that a review adds to a sweep: the averaged maximum, the saturation.

ENOUGH = 0.95
"""Throughput is saturated where it first reaches this share of its largest."""
FALL = 0.7
"""A curve that stays below this share of its largest value has fallen."""
LEAST = 3
"""So many values make a sweep."""

Curves = dict[tuple[tuple[str, str], ...], dict[float, tuple[str, float]]]


def largest_over_sweep(request: Request) -> Iterator[ChartSpec]:
    """Bars of the largest latency, averaged over the sweep of the queue depth."""
    data = _largest(request)
    if len(data) < 2:
        return
    columns = (
        Column("x", "", "text", ("",)),
        Column("y", "largest latency, averaged", "ns"),
    )
    yield request.picture(
        "bars",
        "Largest latency, averaged over the queue depths",
        framed(data, columns, request.per, dashes=0),
        x_scale="names",
        notes=("every queue depth has the same weight",),
    )


def largest_notes(request: Request) -> tuple[str, ...]:
    """The largest latency as a line, where there is only one such figure."""
    data = _largest(request)
    if len(data) != 1:
        return ()
    text = latency_text(float(data[0].values[1] or 0))
    return (f"largest latency, averaged over the queue depths: {text}",)


def _largest(request: Request) -> list[Datum]:
    by = request.by
    metrics = [m for m in request.chart.metrics if m.name == "max"]
    if by != "qd" or not request.is_over_axis:
        return []
    return [
        Datum(dict(place), ("", fmean(value for _, value in curve.values())))
        for metric in metrics
        for place, curve in _curves(request, by, str(metric)).items()
        if len(curve) >= LEAST
    ]


def saturation_notes(request: Request, unit: str) -> tuple[str, ...]:
    """From which queue depth on throughput grows no more."""
    by = request.by
    names = [m for m in request.chart.metrics if m.unit == unit and m.name in RATES]
    if by != "qd" or not names:
        return ()
    notes = []
    for place, curve in _curves(request, by, str(names[0])).items():
        if len(curve) < LEAST:
            continue
        where = together({n: t for n, t in place if n != "session"})
        label = dict(place)["session"] + (f", {where}" if where else "")
        notes.append(
            f"{label}: {_saturation([*dict(sorted(curve.items())).values()], unit)}"
        )
    return tuple(notes) if len(notes) <= 6 else ()


def _saturation(curve: list[tuple[str, float]], unit: str) -> str:
    """Where a curve is flat; or from where on it has less than before.

    A drive whose cache is full, or that is hot, has less at each later queue depth:
    the largest value then says nothing of what more I/Os outstanding bring.
    """
    most = max(value for _, value in curve)
    last = max(k for k, (_, value) in enumerate(curve) if value > FALL * most)
    if last + 1 < len(curve):
        (at, high), (first, low) = curve[last], curve[last + 1]
        return (
            f"falls from {metric_text(high, unit)} at QD {at} to "
            f"{metric_text(low, unit)} at QD {first}"
        )
    at = next(text for text, value in curve if value >= ENOUGH * most)
    return f"{100 * ENOUGH:g} % of the maximum at QD {at}"


def _curves(request: Request, by: str, metric: str) -> Curves:
    """Each place without the axis: number on it to its text and the figure."""
    wanted = next(m for m in request.chart.metrics if str(m) == metric)
    points = [p for p in request.points if by in p.dimensions and not p.failed]
    known = numbers(point.dimensions[by] for point in points)
    found: Curves = {}
    for point in points if known else ():
        value = request.reader.figure(wanted, point.counted).value
        rest = {n: t for n, t in point.dimensions.items() if n != by}
        text = point.dimensions[by]
        if value is not None and known:
            curve = found.setdefault(tuple(rest.items()), {})
            curve[known[0][text]] = (text, value)
    return found


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
BYTES = ("bytes",)
OF_CELLS = (over_axis, over_two, listed)
"""Charts that mark what was not measured, too."""


def pictures(
    test: Test | None, points: list[Point], reader: Reader
) -> Iterator[ChartSpec]:
    """A picture or several for each chart that has points."""
    if not any(point.runs for point in points):
        return
    charts = charts_of(test, points)
    load = against_load(points, charts)
    for chart in (*load, *charts, *power_charts(test, points)):
        found = meeting(points, chart.when, test)
        if renderer(chart) not in OF_CELLS:
            found = [point for point in found if point.runs]
        for each in (chart, *_over_bytes(chart, found, charts)) if found else ():
            yield from _drawn(Request(each, found, reader))


def _over_bytes(
    chart: Chart, found: Sequence[Point], charts: Sequence[Chart]
) -> Iterator[Chart]:
    """A chart over time of nothing but writes, over the bytes written as well, as
    caches and erased blocks are used up by these; unless the plan has its own."""
    is_named = any(one.by[:1] == BYTES for one in charts)
    if renderer(chart) is not over_time or is_named:
        return
    if only_writes(run for point in found for run in point.runs):
        text = chart.text.replace("over time", "over bytes")
        yield replace(chart, by=(*BYTES, *chart.by[1:]), text=text)


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
