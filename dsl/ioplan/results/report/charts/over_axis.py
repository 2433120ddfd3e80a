"""Charts whose points are cells: figures over an axis, over rounds, over IOPS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from msgspec.structs import replace

from ioplan.core.grouping import grouped
from ioplan.core.text import counted
from ioplan.core.units import latency_text, metric_text
from ioplan.language.metric import RATES, Metric
from ioplan.planner.places import NOT_MEASURED
from ioplan.results.report.charts.axis import (
    axis_title,
    in_order,
    latency_scale,
    numbers,
    scale_of,
)
from ioplan.results.report.charts.request import (
    Datum,
    Request,
    judged_of,
    metrics_title,
    of_metric,
    tied,
    together,
    without,
    y_column,
)
from ioplan.results.report.documents import FAILED, ChartSpec, Column, Scale, Value
from ioplan.results.report.headlines.places import size_of
from ioplan.results.report.point import Dimensions, Point

ENDINGS = {"1": "st", "2": "nd", "3": "rd"}


class Cell(NamedTuple):
    """A figure of a point, None for one with a mark; or why there is neither."""

    point: Point
    metric: Metric
    value: float | None
    why: str | None = None


def cells(
    request: Request, metrics: Sequence[Metric], points: Sequence[Point]
) -> Iterator[Cell]:
    for point in points:
        for metric in metrics:
            step = point.dimensions.get("step", metric.step)
            if metric.step and step != metric.step:
                continue  # it is a metric of another step
            if point.failed:
                yield Cell(point, metric, None)
                continue
            value, why, *_ = request.reader.figure(metric, point.counted)
            missing = why.partition(", had ")[0] if value is None else None
            yield Cell(point, metric, value, missing)


def notes(every: Iterable[Cell]) -> tuple[str, ...]:
    """What the marks of cells mean, and a line for each reason of what has none."""
    failed, unmeasured, reasons = set(), set(), dict[str, Counter[str]]()
    for point, metric, _, why in every:
        if why is not None:
            reasons.setdefault(why, Counter())[str(metric)] += 1
        elif point.failed:
            failed |= {(r.session, r.seq) for r in point.counted if r.status != "ok"}
            unmeasured |= set() if point.runs else {tuple(point.dimensions.items())}
    cell = f"{FAILED} {NOT_MEASURED}: {counted(len(unmeasured), 'cell')}"
    return (
        *failed_note(len(failed)),
        *(cell,) * bool(unmeasured),
        *(
            f"{counted(metrics.total(), 'point')} skipped: {', '.join(metrics)}: {why}"
            for why, metrics in reasons.items()
        ),
    )


def failed_note(count: int) -> tuple[str, ...]:
    text = f"{FAILED} failed or stopped, so without a figure: {counted(count, 'run')}"
    return (text,) if count else ()


def _picture(
    request: Request,
    kind: str,
    title: str,
    every: Sequence[Cell],
    rows: Iterable[tuple[Cell, tuple[Value, ...]]],
    columns: tuple[Column, ...],
    hidden: Sequence[str],
    **more: Any,
) -> ChartSpec:
    """A row for each of these cells; `hidden` dimensions are in its values."""
    data = []
    for (point, metric, *_), values in rows:
        place = of_metric(point.dimensions, metric, *hidden)
        data.append(Datum(place, values, point.status, judged_of(point, metric)))
    return request.picture(kind, title, data, columns, notes=notes(every), **more)


def _y_scale(request: Request, every: Iterable[Cell]) -> Scale:
    values = [cell.value for cell in every if cell.metric.unit == "ns"]
    return request.y_scale(latency_scale(values))


def over_axis(request: Request) -> Iterator[ChartSpec]:
    """Lines or bars over the values of an axis, a picture for each unit."""
    points, by = request.along, request.by
    ties = tied([point.dimensions for point in points])
    group = {by, ties.get(by, by)}  # the axes that move together with it
    mates = {n for pair in ties.items() if group & set(pair) for n in pair} - {by}
    if mates:
        points = [
            replace(point, dimensions=without(point.dimensions, *mates))
            for point in points
        ]
    kind = "bars" if request.marks == "bars" or not by else "lines"
    yield from _over(request, kind, by, points)


def over_rounds(request: Request) -> Iterator[ChartSpec]:
    points = [
        Point(point.dimensions | {"round": str(number)}, runs)
        for point in request.points
        for number, runs in grouped(point.runs, lambda run: run.asked.round).items()
    ]
    yield from _over(request, "lines", "round", points)


def _over(
    request: Request, kind: str, by: str, points: Sequence[Point]
) -> Iterator[ChartSpec]:
    for metrics in request.units:
        every = list(cells(request, metrics, points))
        present = [cell for cell in every if cell.why is None]
        texts = [cell.point.dimensions.get(by, "") for cell in present]
        x, values, scale = _x_axis(kind, by, texts)
        pairs = zip(present, values, strict=True)
        over = f" by {axis_title(by)}" if by else ""
        yield _picture(
            request,
            kind,
            f"{metrics_title(metrics)}{over}",
            every,
            ((cell, (at, cell.value)) for cell, at in pairs),
            (x, y_column(metrics)),
            [by],
            x_scale=request.x_scale(scale) if scale != "names" else scale,
            y_scale=_y_scale(request, present),
        )


def _x_axis(
    kind: str, by: str, texts: Sequence[str]
) -> tuple[Column, Sequence[Value], Scale]:
    """Numbers where the axis has them; bars stand side by side under their names."""
    numbered = numbers(texts)
    if kind == "bars" or numbered is None:
        return Column("x", axis_title(by), "text", in_order(texts)), texts, "names"
    values, unit = numbered
    scale: Scale = "linear" if by == "round" else scale_of(values.values())
    return Column("x", axis_title(by), unit), [values[text] for text in texts], scale


def over_iops(request: Request) -> Iterator[ChartSpec]:
    """A figure against the IOPS that it was measured at; the swept axis links."""
    taken = {"session", "step", *request.chart.per, *request.chart.by[1:]}
    swept = ["", *(name for name in request.varied if name not in taken)][-1]
    at_load = grouped(request.points, lambda point: point.dimensions.get(swept, ""))
    points = [point for text in in_order(at_load) for point in at_load[text]]
    place = {id(point): number for number, point in enumerate(points)}
    for metrics in request.units:
        every, rows = list(cells(request, metrics, points)), []
        # one that failed has no IOPS to stand at
        present = [cell for cell in every if cell.value is not None]
        for cell in present:
            iops = request.reader.figure(Metric(name="iops"), cell.point.counted).value
            at, number = cell.point.dimensions.get(swept, ""), place[id(cell.point)]
            label = _load_text(swept, at) if cell.metric is metrics[-1] else ""
            rows.append((cell, (iops, cell.value, at, label, number)))
        title = f"{metrics_title(metrics)} against IOPS"
        yield _picture(
            request,
            "hockey",
            title if request.chart.text else "Latency against load",
            every,
            rows,
            (
                Column("x", "IOPS", "1/s"),
                y_column(metrics),
                Column("at", axis_title(swept) if swept else "run"),
                Column("label", "", "hidden"),
                Column("number", "", "hidden"),
            ),
            [swept],
            subtitle=_load_subtitle(request, metrics, swept),
            x_scale=request.x_scale(),
            y_scale=_y_scale(request, present),
        )


def _load_text(swept: str, at: str) -> str:
    """What stands at a point: `QD 8`, or its rate."""
    numbered = numbers([at])
    if swept.rpartition(".")[2] == "qd":
        return f"QD {at}"
    return metric_text(numbered[0][at], numbered[1]) if numbered and numbered[1] else at


def _load_subtitle(request: Request, metrics: list[Metric], swept: str) -> str:
    """`99th percentile over IOPS, 4 KiB, each point a queue depth`."""
    sizes = {size_of(point) for point in request.points if point.runs}
    percents = [metric.plain.percent for metric in metrics]
    figures = [_ordinal(percent) for percent in percents if percent is not None]
    named = " and ".join(figures) if len(figures) == len(metrics) else "Latency"
    parts = (
        f"{named} over IOPS",
        sizes.pop() if len(sizes) == 1 else "",
        f"each point a {axis_title(swept)}" if swept else "",
    )
    return ", ".join(filter(None, parts))


def _ordinal(percent: float) -> str:
    last = f"{percent:g}"[-1]
    ending = "th" if 10 < percent < 20 else ENDINGS.get(last, "th")
    return f"{percent:g}{ending} percentile"


def over_two(request: Request) -> Iterator[ChartSpec]:
    """A heatmap or a table over two axes; each metric has a picture of its own."""
    hidden = across, down = (*request.chart.by, "", "")[:2]
    points = [p for p in request.points if across in p.dimensions]
    x = Column("x", axis_title(across), "text", _texts(points, across))
    row = Column("row", axis_title(down), "text", _texts(points, down))
    by = " and ".join(axis_title(name) for name in request.chart.by)
    for metric in request.chart.metrics:
        every, rows = list(cells(request, [metric], points)), []
        for cell in every:
            if cell.why is None:
                place = cell.point.dimensions
                rows.append((cell, (place[across], place.get(down, ""), cell.value)))
        yield _picture(
            request,
            "heatmap" if request.marks == "heatmap" else "table",
            f"{metrics_title([metric])} by {by}",
            every,
            rows,
            (x, row, y_column([metric])),
            hidden,
        )


def _texts(points: Sequence[Point], name: str) -> tuple[str, ...]:
    return in_order(point.dimensions.get(name, "") for point in points)


# What a review reads off a sweep: the averaged maximum, the saturation.

ENOUGH = 0.95
"""Throughput is saturated where it first reaches this share of its largest."""
FALL = 0.7
"""A curve that stays below this share of its largest value has fallen."""
LEAST = 3
"""So many values make a sweep."""
MOST_NOTES = 6

Curve = list[tuple[str, float]]
"""The texts of queue depths, and the figure at each."""


def read_off(
    request: Request, picture: ChartSpec, largest: Sequence[Datum]
) -> tuple[str, ...]:
    """The largest latency, if there is one only; from which queue depth on throughput
    grows no more."""
    unit = picture.frame.column(picture.y).unit
    if unit == "ns" and len(largest) == 1:
        text = latency_text(float(largest[0].values[1] or 0))
        return (f"largest latency, averaged over the queue depths: {text}",)
    rates = [m for m in request.chart.metrics if m.unit == unit and m.name in RATES]
    lines = []
    for place, curve in _sweeps(request, rates[0]) if rates else ():
        where = filter(None, (place["session"], together(without(place, "session"))))
        lines.append(f"{', '.join(where)}: {_saturation(curve, unit)}")
    return tuple(lines) if len(lines) <= MOST_NOTES else ()


def largest_latencies(request: Request) -> list[Datum]:
    """The largest latency of each sweep, averaged."""
    return [
        Datum(place, ("", fmean(value for _, value in curve)))
        for metric in request.chart.metrics * request.is_over_axis
        if metric.name == "max"
        for place, curve in _sweeps(request, metric)
    ]


def averaged(request: Request, largest: Sequence[Datum]) -> ChartSpec:
    return request.picture(
        "bars",
        "Largest latency, averaged over the queue depths",
        largest,
        (
            Column("x", "", "text", ("",)),
            Column("y", "largest latency, averaged", "ns"),
        ),
        x_scale="names",
        notes=("every queue depth has the same weight",),
    )


def _saturation(curve: Curve, unit: str) -> str:
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


def _sweeps(request: Request, metric: Metric) -> Iterator[tuple[Dimensions, Curve]]:
    points = [p for p in request.along if not p.failed] if request.by == "qd" else []
    numbered = numbers(point.dimensions["qd"] for point in points)
    if not numbered:
        return
    figures = [
        (point.dimensions, value)
        for point in points
        for value in (request.reader.figure(metric, point.counted).value,)
        if value is not None
    ]
    by_place = grouped(figures, lambda pair: tuple(without(pair[0], "qd").items()))
    for key, pairs in by_place.items():
        at = {numbered[0][place["qd"]]: (place["qd"], value) for place, value in pairs}
        if len(at) >= LEAST:
            yield dict(key), [at[number] for number in sorted(at)]
