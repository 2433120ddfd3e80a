"""Charts whose points are cells: figures over an axis, over rounds, over IOPS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from ioplan.core.grouping import grouped
from ioplan.core.text import counted
from ioplan.core.units import metric_text
from ioplan.language.metric import Metric
from ioplan.planner.places import NOT_MEASURED
from ioplan.results.report.charts.axis import (
    axis_title,
    in_order,
    latency_scale,
    numbers,
    scale_of,
)
from ioplan.results.report.charts.encoding import MOST_DASHES, Datum, tied, without
from ioplan.results.report.charts.limits import judged_of
from ioplan.results.report.charts.request import Request, metrics_title, y_column
from ioplan.results.report.documents import FAILED, ChartSpec, Column, Scale, Value
from ioplan.results.report.headlines.places import size_of
from ioplan.results.report.point import Point

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
    """What the mark means, where so many have it."""
    text = f"{FAILED} failed or stopped, so without a figure: {counted(count, 'run')}"
    return (text,) if count else ()


def _datum(
    cell: Cell, values: tuple[Value, ...], hidden: Sequence[str], several: bool = False
) -> Datum:
    """A row; the metric is a dimension where there are several."""
    point, metric, *_ = cell
    step = ("step",) if metric.step else ()
    dimensions = without(point.dimensions, *hidden, *step)
    dimensions |= {"metric": str(metric)} if several else {}
    return Datum(dimensions, values, point.status, judged_of(point, metric))


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
    points = []
    for point in request.points:
        rounds = grouped(point.runs, key=lambda run: run.asked.round)
        for number, runs in rounds.items():
            dimensions = point.dimensions | {"round": str(number)}
            points.append(Point(dimensions, runs))
    yield from _over(request, "lines", "round", points)


def _over(
    request: Request, kind: str, by: str, points: Sequence[Point]
) -> Iterator[ChartSpec]:
    for metrics in request.units:
        every = list(cells(request, metrics, points))
        present = [cell for cell in every if cell.why is None]
        texts = [cell.point.dimensions.get(by, "") for cell in present]
        x, values, scale = _x_axis(kind, by, texts)
        data = [
            _datum(cell, (value, cell.value), [by], len(metrics) > 1)
            for cell, value in zip(present, values, strict=True)
        ]
        over = f" by {axis_title(by)}" if by else ""
        yield request.picture(
            kind,
            f"{metrics_title(metrics)}{over}",
            data,
            (x, y_column(metrics)),
            dashes=0 if kind == "bars" else MOST_DASHES,
            x_scale=request.x_scale(scale) if scale != "names" else scale,
            y_scale=request.y_scale(_y_scale(present)),
            notes=notes(every),
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


def _y_scale(present: Sequence[Cell]) -> Scale:
    values = [cell.value for cell in present if cell.metric.unit == "ns"]
    return latency_scale(values)


def over_iops(request: Request) -> Iterator[ChartSpec]:
    """A figure against the IOPS that it was measured at; the swept axis links."""
    taken = {"session", "step", *request.chart.per, *request.chart.by[1:]}
    swept = ["", *(name for name in request.varied if name not in taken)][-1]
    texts = in_order(point.dimensions.get(swept, "") for point in request.points)
    order = {text: number for number, text in enumerate(texts)}
    points = sorted(request.points, key=lambda p: order[p.dimensions.get(swept, "")])
    place = {id(point): number for number, point in enumerate(points)}
    for metrics in request.units:
        every, data = list(cells(request, metrics, points)), []
        # one that failed has no IOPS to stand at
        present = [cell for cell in every if cell.value is not None]
        for cell in present:
            iops = request.reader.figure(Metric(name="iops"), cell.point.counted).value
            at, number = cell.point.dimensions.get(swept, ""), place[id(cell.point)]
            label = _load_text(swept, at) if cell.metric is metrics[-1] else ""
            values = (iops, cell.value, at, label, number)
            data.append(_datum(cell, values, [swept], len(metrics) > 1))
        columns = (
            Column("x", "IOPS", "1/s"),
            y_column(metrics),
            Column("at", axis_title(swept) if swept else "run"),
            Column("label", "", "hidden"),
            Column("number", "", "hidden"),
        )
        title = f"{metrics_title(metrics)} against IOPS"
        yield request.picture(
            "hockey",
            title if request.chart.text else "Latency against load",
            data,
            columns,
            subtitle=_load_subtitle(request, metrics, swept),
            x_scale=request.x_scale("linear"),
            y_scale=request.y_scale(_y_scale(present)),
            notes=notes(every),
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
    place = across, down = (*request.chart.by, "", "")[:2]
    points = [p for p in request.points if across in p.dimensions]
    x, row = (
        Column(
            key,
            axis_title(name),
            "text",
            in_order(p.dimensions.get(name, "") for p in points),
        )
        for key, name in (("x", across), ("row", down))
    )
    by = " and ".join(axis_title(name) for name in request.chart.by)
    for metric in request.chart.metrics:
        every = list(cells(request, [metric], points))
        data = [
            _datum(cell, (places[across], places.get(down, ""), cell.value), place)
            for cell in every
            for places in (cell.point.dimensions,)
            if cell.why is None
        ]
        yield request.picture(
            "heatmap" if request.marks == "heatmap" else "table",
            f"{metrics_title([metric])} by {by}",
            data,
            (x, row, y_column([metric])),
            colored=False,
            y="row",
            x_scale="names",
            y_scale="names",
            notes=notes(every),
        )
