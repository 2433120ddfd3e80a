"""Charts whose points are cells: figures over an axis, over rounds, over IOPS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from ioplan.core.text import counted
from ioplan.core.units import metric_text
from ioplan.language.metric import Metric
from ioplan.planner.places import NOT_MEASURED
from ioplan.records.record import RunRecord
from ioplan.results.report.charts.axis import (
    axis_title,
    in_order,
    latency_scale,
    numbers,
    scale_of,
)
from ioplan.results.report.charts.encoding import (
    MOST_DASHES,
    Datum,
    framed,
    tied,
    varied,
)
from ioplan.results.report.charts.limits import judged_of
from ioplan.results.report.charts.request import Request, metrics_title, y_column
from ioplan.results.report.documents import (
    FAILED,
    ChartSpec,
    Column,
    Scale,
    Value,
)
from ioplan.results.report.headlines.places import size_of
from ioplan.results.report.point import Dimensions, Point

ENDINGS = {"1": "st", "2": "nd", "3": "rd"}


class Missing:
    """Counts the figures that cannot be drawn, by their reason and metric."""

    def __init__(self) -> None:
        self.reasons: dict[str, Counter[str]] = {}
        self.failed: set[tuple[str, int]] = set()
        self.not_measured: set[tuple[tuple[str, str], ...]] = set()

    def mark(self, point: Point) -> None:
        """One more that has a mark in place of a figure."""
        failed = (run for run in point.counted if run.status != "ok")
        self.failed.update((run.session, run.seq) for run in failed)
        if not point.runs:
            self.not_measured.add(tuple(point.dimensions.items()))

    def add(self, metric: Metric, why: str) -> None:
        """One more that has no value."""
        self.reasons.setdefault(why, Counter())[str(metric)] += 1

    def notes(self) -> tuple[str, ...]:
        """A line for each reason, and what the marks of cells mean."""
        lines = [
            f"{counted(metrics.total(), 'point')} skipped: {', '.join(metrics)}: {why}"
            for why, metrics in self.reasons.items()
        ]
        found = failed_note(len(self.failed))
        return (*found, *not_measured_note(len(self.not_measured)), *lines)


def failed_note(count: int) -> tuple[str, ...]:
    """What the mark means, where so many have it."""
    if not count:
        return ()
    return (
        f"{FAILED} failed or stopped, so without a figure: {counted(count, 'run')}",
    )


def not_measured_note(count: int) -> tuple[str, ...]:
    """The note on cells that have no run."""
    return (f"{FAILED} {NOT_MEASURED}: {counted(count, 'cell')}",) if count else ()


def over_axis(request: Request) -> Iterator[ChartSpec]:
    """Lines or bars over the values of an axis, a picture for each unit."""
    by = request.by
    points = _along(by, [p for p in request.points if not by or by in p.dimensions])
    for _, metrics in request.by_unit():
        missing = Missing()
        data = [
            _datum(point, metric, metrics, by, (point.dimensions.get(by, ""), value))
            for point in points
            for metric in metrics
            for value in values_of(request, metric, point, missing)
        ]
        kind = "bars" if request.marks == "bars" or not by else "lines"
        yield _picture(request, kind, by, metrics, data, missing)


def _along(by: str, points: list[Point]) -> list[Point]:
    """Without the axes that move together with the one that is drawn over."""
    ties = tied([point.dimensions for point in points])
    group = {by, ties.get(by, by)}
    mates = {n for pair in ties.items() if group & set(pair) for n in pair} - {by}
    if not mates:
        return points
    return [
        replace(point, dimensions=_without(point.dimensions, *mates))
        for point in points
    ]


def over_rounds(request: Request) -> Iterator[ChartSpec]:
    """A point a round."""
    for _, metrics in request.by_unit():
        missing = Missing()
        data = [
            _datum(one, metric, metrics, "", (str(number), value))
            for point in request.points
            for number, runs in _rounds(point).items()
            for one in (replace(point, runs=runs, window=None),)
            for metric in metrics
            for value in values_of(request, metric, one, missing)
        ]
        yield _picture(request, "lines", "round", metrics, data, missing)


def over_iops(request: Request) -> Iterator[ChartSpec]:
    """A figure against the IOPS that it was measured at; the swept axis links."""
    swept = _swept(request)
    for _, metrics in request.by_unit():
        missing = Missing()
        data = []
        for number, point in enumerate(_in_order(request.points, swept)):
            iops = request.reader.figure(Metric(name="iops"), point.counted).value
            for metric in metrics:
                for value in values_of(request, metric, point, missing):
                    at = point.dimensions.get(swept, "")
                    label = _load_text(swept, at) if metric is metrics[-1] else ""
                    values = (iops, value, at, label, number)
                    if value is not None:  # one that failed has no IOPS to stand at
                        data.append(_datum(point, metric, metrics, swept, values))
        columns = (
            Column("x", "IOPS", "1/s"),
            y_column(metrics),
            Column("at", axis_title(swept) if swept else "run"),
            Column("label", "", "hidden"),
            Column("number", "", "hidden"),
        )
        yield request.picture(
            "hockey",
            _load_title(request, metrics),
            framed(data, columns, request.per),
            subtitle=_load_subtitle(request, metrics, swept),
            x_scale=request.x_scale("linear"),
            y_scale=request.y_scale(_scale(metrics, data)),
            notes=missing.notes(),
        )


def _load_text(swept: str, at: str) -> str:
    """What stands at a point: `QD 8`, or its rate."""
    known = numbers([at])
    if swept.rpartition(".")[2] == "qd":
        return f"QD {at}"
    return metric_text(known[0][at], known[1]) if known and known[1] else at


def _load_title(request: Request, metrics: list[Metric]) -> str:
    """That of the picture which the plan need not ask for is the usual one."""
    if not request.line:
        return "Latency against load"
    return f"{metrics_title(metrics)} against IOPS"


def _load_subtitle(request: Request, metrics: list[Metric], swept: str) -> str:
    """`99th percentile over IOPS, 4 KiB, each point a queue depth`."""
    sizes = {size_of(point) for point in request.points if point.runs}
    percents = [metric.plain.percent for metric in metrics]
    figures = [_ordinal(one) for one in percents if one is not None]
    named = " and ".join(figures) if len(figures) == len(metrics) else "Latency"
    parts = (
        f"{named} over IOPS",
        sizes.pop() if len(sizes) == 1 else "",
        f"each point a {axis_title(swept)}" if swept else "",
    )
    return ", ".join(filter(None, parts))


def _ordinal(percent: float) -> str:
    """`99.9th percentile`."""
    last = f"{percent:g}"[-1]
    ending = "th" if 10 < percent < 20 else ENDINGS.get(last, "th")
    return f"{percent:g}{ending} percentile"


def over_two(request: Request) -> Iterator[ChartSpec]:
    """A heatmap or a table over two axes; each metric has a picture of its own."""
    across, down = (*request.chart.by, "", "")[:2]
    points = [p for p in request.points if across in p.dimensions]
    texts = {
        name: in_order(p.dimensions.get(name, "") for p in points)
        for name in (across, down)
    }
    for metric in request.chart.metrics:
        missing = Missing()
        data = [
            Datum(
                _without(point.dimensions, across, down),
                (point.dimensions[across], point.dimensions.get(down, ""), value),
                point.status,
                judged_of(point, metric),
            )
            for point in points
            for value in values_of(request, metric, point, missing)
        ]
        columns = (
            Column("x", axis_title(across), "text", texts[across]),
            Column("row", axis_title(down), "text", texts[down]),
            y_column([metric]),
        )
        by = " and ".join(axis_title(name) for name in request.chart.by)
        yield request.picture(
            "heatmap" if request.marks == "heatmap" else "table",
            f"{metrics_title([metric])} by {by}",
            framed(data, columns, colored=False),
            y="row",
            x_scale="names",
            y_scale="names",
            notes=missing.notes(),
        )


def _picture(
    request: Request,
    kind: str,
    by: str,
    metrics: list[Metric],
    data: list[Datum],
    missing: Missing,
) -> ChartSpec:
    x, data, scale = _x_axis(kind, by, data)
    dashes = 0 if kind == "bars" else MOST_DASHES
    over = f" by {axis_title(by)}" if by else ""
    return request.picture(
        kind,
        f"{metrics_title(metrics)}{over}",
        framed(data, (x, y_column(metrics)), request.per, dashes=dashes),
        x_scale=request.x_scale(scale) if scale != "names" else scale,
        y_scale=request.y_scale(_scale(metrics, data)),
        notes=missing.notes(),
    )


def _x_axis(kind: str, by: str, data: list[Datum]) -> tuple[Column, list[Datum], Scale]:
    """Numbers where the axis has them; bars stand side by side under their names."""
    texts = [str(one.values[0]) for one in data]
    known = numbers(texts)
    if kind == "bars" or known is None:
        return Column("x", axis_title(by), "text", in_order(texts)), data, "names"
    values, unit = known
    numbered = [
        replace(one, values=(values[str(one.values[0])], *one.values[1:]))
        for one in data
    ]
    scale: Scale = "linear" if by == "round" else scale_of(values.values())
    return Column("x", axis_title(by), unit), numbered, scale


def _scale(metrics: list[Metric], data: Sequence[Datum]) -> Scale:
    is_latency = metrics[0].unit == "ns"
    return latency_scale(datum.values[1] for datum in data) if is_latency else "linear"


def _datum(
    point: Point,
    metric: Metric,
    metrics: list[Metric],
    by: str,
    values: tuple[Value, ...],
) -> Datum:
    """A row; the metric is a dimension where there are several."""
    several = {"metric": str(metric)} if len(metrics) > 1 else {}
    said = (by, "step") if metric.step else (by,)
    dimensions = _without(point.dimensions, *said) | several
    return Datum(dimensions, values, point.status, judged_of(point, metric))


def _without(dimensions: Dimensions, *names: str) -> Dimensions:
    return {name: text for name, text in dimensions.items() if name not in names}


def values_of(
    request: Request, metric: Metric, point: Point, missing: Missing
) -> Iterable[Value]:
    """The figure of a point, None for one with a mark, nothing for one without."""
    if metric.step and point.dimensions.get("step", metric.step) != metric.step:
        return ()  # it is a metric of another step
    if point.failed:
        missing.mark(point)
        return (None,)
    found = request.reader.figure(metric, point.counted)
    if found.value is None:
        missing.add(metric, found.why.partition(", had ")[0])
        return ()
    return (found.value,)


def _rounds(point: Point) -> dict[int, list[RunRecord]]:
    rounds: dict[int, list[RunRecord]] = {}
    for run in point.runs:
        rounds.setdefault(run.asked.round, []).append(run)
    return rounds


def _swept(request: Request) -> str:
    """The axis whose values are linked to a line: the last one that is left."""
    taken = {"session", "step", *request.chart.per, *request.chart.by[1:]}
    left = [name for name in varied(request.points) if name not in taken]
    return left[-1] if left else ""


def _in_order(points: Sequence[Point], swept: str) -> list[Point]:
    """By their value of the swept axis."""
    texts = in_order(point.dimensions.get(swept, "") for point in points)
    order = {text: number for number, text in enumerate(texts)}
    return sorted(points, key=lambda point: order[point.dimensions.get(swept, "")])
