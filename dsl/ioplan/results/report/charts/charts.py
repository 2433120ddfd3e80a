"""The pictures of one test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from statistics import fmean

from msgspec.structs import replace

from ioplan.core.units import latency_text, metric_text
from ioplan.language.metric import LATENCY, RATES, Metric
from ioplan.language.output_table import CHARTS
from ioplan.language.plan import Chart, Test
from ioplan.results.report.charts.axis import numbers
from ioplan.results.report.charts.cells_over_time import (
    latencies_over_time,
    rows_over_time,
)
from ioplan.results.report.charts.defaults import (
    against_load,
    charts_of,
    power_charts,
    without_power,
)
from ioplan.results.report.charts.distribution import DISTRIBUTIONS, distribution
from ioplan.results.report.charts.encoding import Datum, together, without
from ioplan.results.report.charts.limits import with_limits
from ioplan.results.report.charts.over_axis import (
    over_axis,
    over_iops,
    over_rounds,
    over_two,
)
from ioplan.results.report.charts.over_time import bands_over_time, over_time
from ioplan.results.report.charts.request import Request, meanings, unit_of
from ioplan.results.report.charts.tables import listed
from ioplan.results.report.documents import ChartSpec, Column
from ioplan.results.report.point import Point, figures_of, meeting, only_writes
from ioplan.results.report.reader import Reader

Draw = Callable[[Request], Iterable[ChartSpec]]

BY_AXIS: dict[str, Draw] = {
    "time": over_time,
    "bytes": over_time,
    "round": over_rounds,
    "iops": over_iops,
}
"""Lines, bars and points, by what they are drawn over."""
RENDERERS: dict[str, Draw] = {
    "bands": bands_over_time,
    **{kind: partial(distribution, kind) for kind in DISTRIBUTIONS},
}
"""What makes the rows of a chart whose kind alone decides it."""
OF_INTERVALS = (
    *(bands_over_time, latencies_over_time, rows_over_time, over_time, over_rounds),
)
"""Charts of all rounds, rather than of the window that figures are of."""
OF_CELLS = (over_axis, over_two, listed)
"""Charts that mark what was not measured, too."""
BYTES = ("bytes",)


def renderer(chart: Chart) -> Draw:
    kind, by = CHARTS[chart.kind].renderer, chart.by[0] if chart.by else ""
    if kind in RENDERERS:
        return RENDERERS[kind]
    if kind != "cells":
        return BY_AXIS.get(by or "time" * (kind == "intervals"), over_axis)
    if by == "time":
        is_all = any(metric.name == LATENCY for metric in chart.metrics)
        return latencies_over_time if is_all else rows_over_time
    return over_two if len(chart.by) > 1 else listed


def pictures(
    test: Test | None, points: list[Point], reader: Reader
) -> Iterator[ChartSpec]:
    """A picture or several for each chart that has points."""
    if not any(point.runs for point in points):
        return
    charts = charts_of(test, points)
    load = against_load(points, charts)
    for chart in (*load, *charts, *power_charts(test, points)):
        chosen = meeting(points, chart.when, test)
        if renderer(chart) not in OF_CELLS:
            chosen = [point for point in chosen if point.runs]
        for variant in (chart, *_over_bytes(chart, chosen, charts)) if chosen else ():
            yield from _drawn(Request(variant, chosen, reader))


def _over_bytes(
    chart: Chart, points: Sequence[Point], charts: Sequence[Chart]
) -> Iterator[Chart]:
    """A chart over time of nothing but writes, over the bytes written as well, as
    caches and erased blocks are used up by these; unless the plan has its own."""
    is_named = any(other.by[:1] == BYTES for other in charts)
    if renderer(chart) is not over_time or is_named:
        return
    if only_writes(run for point in points for run in point.runs):
        text = chart.text.replace("over time", "over bytes")
        yield replace(chart, by=(*BYTES, *chart.by[1:]), text=text)


def _drawn(request: Request) -> Iterator[ChartSpec]:
    draw, used = renderer(request.chart), set[str]()
    largest = _largest(request)
    for picture in draw(request):
        if without_power(picture):
            continue
        read_off = _notes(request, picture, largest) if draw is over_axis else ()
        notes = [note for note in read_off if note not in used]
        used.update(notes)
        units = {column.unit for column in picture.frame.columns}
        notes += meanings([m for m in request.chart.metrics if unit_of(m) in units])
        if draw not in OF_INTERVALS and (rounds := figures_of(request.points)):
            notes.append(f"of {rounds}")
        yield with_limits(request, replace(picture, notes=(*picture.notes, *notes)))
    if len(largest) > 1:
        yield request.picture(
            "bars",
            "Largest latency, averaged over the queue depths",
            largest,
            (
                Column("x", "", "text", ("",)),
                Column("y", "largest latency, averaged", "ns"),
            ),
            dashes=0,
            x_scale="names",
            notes=("every queue depth has the same weight",),
        )


# What a review reads off a sweep: the averaged maximum, the saturation.

ENOUGH = 0.95
"""Throughput is saturated where it first reaches this share of its largest."""
FALL = 0.7
"""A curve that stays below this share of its largest value has fallen."""
LEAST = 3
"""So many values make a sweep."""
MOST_NOTES = 6

Curve = dict[float, tuple[str, float]]
"""Each number on the axis: its text, and the figure."""


def _notes(
    request: Request, picture: ChartSpec, largest: list[Datum]
) -> tuple[str, ...]:
    """The largest latency, if there is one only; from which queue depth on throughput
    grows no more."""
    unit = picture.frame.column(picture.y).unit
    if unit == "ns":
        if len(largest) != 1:
            return ()
        text = latency_text(float(largest[0].values[1] or 0))
        return (f"largest latency, averaged over the queue depths: {text}",)
    rates = [m for m in request.chart.metrics if m.unit == unit and m.name in RATES]
    notes = []
    for place, curve in _sweeps(request, rates[0]) if rates else ():
        where = together(without(place, "session"))
        label = place["session"] + (f", {where}" if where else "")
        values = [value for _, value in sorted(curve.items())]
        notes.append(f"{label}: {_saturation(values, unit)}")
    return tuple(notes) if len(notes) <= MOST_NOTES else ()


def _largest(request: Request) -> list[Datum]:
    metrics = [m for m in request.chart.metrics if m.name == "max"]
    return [
        Datum(place, ("", fmean(value for _, value in curve.values())))
        for metric in metrics * request.is_over_axis
        for place, curve in _sweeps(request, metric)
    ]


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


def _sweeps(request: Request, metric: Metric) -> Iterator[tuple[dict[str, str], Curve]]:
    """Each place of a sweep over queue depth, without that axis, and its curve."""
    if request.by != "qd":
        return
    points = [p for p in request.along if not p.failed]
    numbered = numbers(point.dimensions["qd"] for point in points)
    curves: dict[tuple[tuple[str, str], ...], Curve] = {}
    for point in points if numbered else ():
        value = request.reader.figure(metric, point.counted).value
        if value is not None and numbered:
            text = point.dimensions["qd"]
            place = tuple(without(point.dimensions, "qd").items())
            curves.setdefault(place, {})[numbered[0][text]] = (text, value)
    for place, curve in curves.items():
        if len(curve) >= LEAST:
            yield dict(place), curve
