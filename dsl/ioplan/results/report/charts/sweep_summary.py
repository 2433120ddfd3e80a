"""Figures that a review adds to a sweep: the averaged maximum, the saturation."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from ioplan.core.units import latency_text, metric_text
from ioplan.language.metric import RATES
from ioplan.results.report.charts.axis import numbers
from ioplan.results.report.charts.encoding import Datum, framed, together
from ioplan.results.report.charts.request import Request
from ioplan.results.report.document import ChartSpec, Column

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
    frame, channels = framed(data, columns, request.per, dashes=0)
    yield ChartSpec(
        kind="bars",
        title=f"Largest latency, averaged over the queue depths{request.when}",
        line=request.line,
        frame=frame,
        x="x",
        y="y",
        channels=channels,
        x_scale="names",
        notes=("each queue depth of the sweep counts the same",),
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
    return f"{100 * ENOUGH:g} % of the largest at QD {at}"


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
