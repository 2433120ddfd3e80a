"""The charts of a test: those of its `chart` lines, else what its axes suggest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from ioplan.language.metric import LATENCY, Metric, parse_metric
from ioplan.language.output_table import CHARTS
from ioplan.language.plan import Chart, Seek, Test
from ioplan.records.record import RunDetail, RunRecord
from ioplan.results.measure.metrics import Sample, figure
from ioplan.results.report.charts.axis import numbers
from ioplan.results.report.charts.cells_over_time import (
    latencies_over_time,
    rows_over_time,
)
from ioplan.results.report.charts.distribution import DISTRIBUTIONS, distribution
from ioplan.results.report.charts.over_axis import (
    averaged,
    largest_latencies,
    over_axis,
    over_iops,
    over_rounds,
    over_two,
    read_off,
)
from ioplan.results.report.charts.over_time import bands_over_time, over_time
from ioplan.results.report.charts.request import (
    OF_POWER,
    Request,
    meanings,
    unit_of,
    varied,
    with_limits,
)
from ioplan.results.report.charts.tables import listed
from ioplan.results.report.documents import ChartSpec
from ioplan.results.report.headlines.places import does_more, flushes, sync_of
from ioplan.results.report.point import (
    Point,
    figures_of,
    meeting,
    only_trims,
    only_writes,
)
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
    charts = _charts_of(test, points)
    load = _against_load(points, charts)
    for chart in (*load, *charts, *_power_charts(test, points)):
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
    if renderer(chart) is over_time and not is_named and only_writes(_records(points)):
        text = chart.text.replace("over time", "over bytes")
        yield replace(chart, by=(*BYTES, *chart.by[1:]), text=text)


def _drawn(request: Request) -> Iterator[ChartSpec]:
    draw, used = renderer(request.chart), set[str]()
    rounds = "" if draw in OF_INTERVALS else figures_of(request.points)
    largest = largest_latencies(request)
    for picture in draw(request):
        if _is_without_power(picture):
            continue
        lines = read_off(request, picture, largest) if draw is over_axis else ()
        units = {column.unit for column in picture.frame.columns}
        notes = (
            *picture.notes,
            *(line for line in lines if line not in used),
            *meanings([m for m in request.chart.metrics if unit_of(m) in units]),
            *(f"of {rounds}",) * bool(rounds),
        )
        used.update(lines)
        yield with_limits(request, replace(picture, notes=notes))
    if len(largest) > 1:
        yield averaged(request, largest)


# What the axes suggest.

FEW, WIDE = 4, 40
"""A matrix of two axes is wide from so many cells on, where neither axis is short."""
LOADS = ("qd", "rate")


def _charts_of(test: Test | None, points: Sequence[Point]) -> tuple[Chart, ...]:
    if test and test.charts:
        return test.charts
    usual = _suggested(points)
    return _of_seek(test.seek, points, usual) if test and test.seek else usual


def _against_load(
    points: Sequence[Point], charts: Sequence[Chart]
) -> tuple[Chart, ...]:
    """Latency against load for a sweep over queue depth or rate, unless the plan has
    such a chart."""
    axes = _axes(points)
    swept = [name for name in axes if name.rpartition(".")[2] in LOADS]
    if not swept or any(other.by[:1] == ("iops",) for other in charts):
        return ()
    lines = [name for name in axes if name not in (swept[-1], "step")]
    return (chart("lines", (f"{_timed(points)}p99",), ("iops",), lines),)


def _timed(points: Sequence[Point]) -> str:
    """What the latencies of a test are of, as a prefix of a metric: trims where nothing
    else was done, and commits or flushes where all that is written waits for them."""
    measured = [point for point in points if point.runs]
    if only_trims(_records(measured)):
        return "trim."
    waits = all(flushes(point) and not does_more(point) for point in measured)
    return f"{sync_of(measured)}." if waits and measured else ""


def _of_seek(
    seek: Seek, points: Sequence[Point], usual: tuple[Chart, ...]
) -> tuple[Chart, ...]:
    """What was found in each cell, in place of the IOPS if these were sought; one cell
    alone is told in a line."""
    axes = _axes(points)
    if not axes:
        return usual
    *per, by = [*axes][-2:]
    bare = chart(_kind(axes[by]), (), (by,), per)
    first = replace(bare, metrics=(Metric(name=seek.axis, sought=seek.kind),))
    is_rate = seek.axis.rpartition(".")[2] == "rate"
    return (first, *(usual[1:] if is_rate else usual))


def _suggested(points: Sequence[Point]) -> tuple[Chart, ...]:
    """IOPS and latency over the last axis, a line for each value of the one before; of
    a wide matrix, heatmaps over both.

    Without an axis: the run over time, and its latencies. Of sequential I/O, throughput
    is what is looked at.
    """
    axes, records = _axes(points), _records(points)
    streams = (stream for run in records for stream in run.asked.workload.streams)
    is_sequential = all(stream.pattern == "sequential" for stream in streams)
    timed, rate = _timed(points), "bandwidth" if is_sequential else "iops"
    mean, p99 = f"{timed}mean", f"{timed}p99"
    if trims := only_trims(records):
        rate = "trim.iops"
    if not axes:
        bands = () if trims else (chart("bands", (p99,), ("time",)),)
        scatter = chart("scatter", (rate,), ("time",))
        return (scatter, *bands, chart("percentiles", (p99,), ()))
    *per, by = [*axes][-2:]
    sizes = [len(axes[name]) for name in (by, *per)]
    kind, over = _kind(axes[by]), [by]
    if per and min(sizes) >= FEW and sizes[0] * sizes[1] >= WIDE:  # too many lines
        kind, over, per = "heatmap", [by, *per], []
    return (chart(kind, (rate,), over, per), chart(kind, (mean, p99), over, per))


def _kind(texts: Sequence[str]) -> str:
    return "lines" if numbers(texts) else "bars"


def chart(
    kind: str, metrics: Sequence[str], by: Sequence[str], per: Sequence[str] = ()
) -> Chart:
    """A chart that no line of the plan asks for."""
    parsed = tuple(map(parse_metric, metrics))
    return Chart(
        kind=kind,
        metrics=parsed,
        by=tuple(by),
        per=tuple(per),
        when=None,
        scales=(),
        text="",
    )


def _axes(points: Sequence[Point]) -> dict[str, list[str]]:
    """The axes with more than one value, in the plan's order, and their texts."""
    texts = varied(point.dimensions for point in points)
    return {name: values for name, values in texts.items() if name != "session"}


def _records(points: Sequence[Point]) -> list[RunRecord]:
    return [run for point in points for run in point.runs]


# Charts of power and temperature, which appear where something measured them.

ABSENT = {
    "watts": "Power was not measured: there are no charts of watts, or of IOPS or "
    "throughput per watt.",
    "temperature": "No temperature was measured.",
}


UNASKED = OF_POWER[:3]


def _power_charts(test: Test | None, points: Sequence[Point]) -> Iterator[Chart]:
    """A chart of each figure that was measured and that no chart line names."""
    named = {m.name for c in (test.charts if test else ()) for m in c.metrics}
    for name in UNASKED:
        if name not in named and is_measured(name, _records(points)):
            like = _suggested(points)[0]
            over_time = like.by[:1] == ("time",)
            if not over_time or name != "iops_per_watt":
                kind = "lines" if over_time else "bars"
                yield chart(kind, (name,), like.by, like.per)


def _is_without_power(picture: ChartSpec) -> bool:
    """Whether nothing measured what the picture is of, which is said elsewhere."""
    units = {Metric(name=name).unit for name in OF_POWER}
    keys = [column.key for column in picture.frame.columns if column.unit in units]
    rows = picture.frame.records()
    return bool(keys) and not any(row[k] is not None for row in rows for k in keys)


def absent(records: Sequence[RunRecord]) -> tuple[str, ...]:
    return tuple(t for name, t in ABSENT.items() if not is_measured(name, records))


def is_measured(name: str, records: Iterable[RunRecord]) -> bool:
    samples = (Sample(run, RunDetail()) for run in records if run.telemetry)
    metric = Metric(name=name)
    return any(figure(metric, [sample]).value is not None for sample in samples)
