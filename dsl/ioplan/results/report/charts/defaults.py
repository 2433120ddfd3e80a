"""The charts of a test: those of its `chart` lines, else what its axes suggest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from ioplan.language.metric import Metric, parse_metric
from ioplan.language.plan import Chart, Seek, Test
from ioplan.records.record import RunDetail, RunRecord
from ioplan.results.measure.metrics import Sample, figure
from ioplan.results.report.charts.axis import numbers
from ioplan.results.report.charts.encoding import varied
from ioplan.results.report.documents import ChartSpec
from ioplan.results.report.point import Point, only_trims

FEW, WIDE = 4, 40
"""A matrix of two axes is wide from so many cells on, where neither axis is short."""
LOADS = ("qd", "rate")

Axes = dict[str, list[str]]
"""The axes with more than one value, in the plan's order, and their texts."""


def charts_of(test: Test | None, points: Sequence[Point]) -> tuple[Chart, ...]:
    if test and test.charts:
        return test.charts
    if test and test.seek:
        return _of_seek(test.seek, points)
    return suggested(points)


def against_load(points: Sequence[Point], charts: Sequence[Chart]) -> tuple[Chart, ...]:
    """Latency against load for a sweep over queue depth or rate, unless the plan has
    such a chart."""
    axes = _axes(points)
    swept = [name for name in axes if name.rpartition(".")[2] in LOADS]
    if not swept or any(other.by[:1] == ("iops",) for other in charts):
        return ()
    lines = [name for name in axes if name not in (swept[-1], "step")]
    p99 = "trim.p99" if _only_trims(points) else "p99"
    return (chart("lines", (p99,), ("iops",), lines),)


def _of_seek(seek: Seek, points: Sequence[Point]) -> tuple[Chart, ...]:
    """What was found in each cell, in place of the IOPS if these were sought; one cell
    alone is told in a line."""
    axes, usual = _axes(points), suggested(points)
    if not axes:
        return usual
    *per, by = [*axes][-2:]
    bare = chart(_kind(axes[by]), (), (by,), per)
    first = replace(bare, metrics=(Metric(name=seek.axis, sought=seek.kind),))
    is_rate = seek.axis.rpartition(".")[2] == "rate"
    return (first, *(usual[1:] if is_rate else usual))


def suggested(points: Sequence[Point]) -> tuple[Chart, ...]:
    """IOPS and latency over the last axis, a line for each value of the one before; of
    a wide matrix, heatmaps over both.

    Without an axis: the run over time, and its latencies. Of sequential I/O, throughput
    is what is looked at.
    """
    axes, trims = _axes(points), _only_trims(points)
    rate = "bandwidth" if _sequential(points) else "iops"
    mean, p99 = "mean", "p99"
    if trims:
        rate, mean, p99 = "trim.iops", "trim.mean", "trim.p99"
    if not axes:
        bands = () if trims else (chart("bands", ("p99",), ("time",)),)
        scatter = chart("scatter", (rate,), ("time",))
        return (scatter, *bands, chart("percentiles", (p99,), ()))
    *per, by = [*axes][-2:]
    sizes = [len(axes[name]) for name in (by, *per)]
    kind, over = _kind(axes[by]), [by]
    if per and min(sizes) >= FEW and sizes[0] * sizes[1] >= WIDE:  # too many lines
        kind, over, per = "heatmap", [by, *per], []
    return (chart(kind, (rate,), over, per), chart(kind, (mean, p99), over, per))


def _kind(texts: Sequence[str]) -> str:
    """Lines over numbers, bars over names."""
    return "lines" if numbers(texts) else "bars"


def chart(
    kind: str, metrics: Sequence[str], by: Sequence[str], per: Sequence[str] = ()
) -> Chart:
    """A chart that no line of the plan asks for."""
    return Chart(
        kind=kind,
        metrics=tuple(map(parse_metric, metrics)),
        by=tuple(by),
        per=tuple(per),
        when=None,
        scales=(),
        text="",
    )


def _axes(points: Sequence[Point]) -> Axes:
    texts = varied(point.dimensions for point in points)
    return {name: values for name, values in texts.items() if name != "session"}


def _records(points: Sequence[Point]) -> list[RunRecord]:
    return [run for point in points for run in point.runs]


def _only_trims(points: Sequence[Point]) -> bool:
    return only_trims(_records(points))


def _sequential(points: Sequence[Point]) -> bool:
    runs = _records(points)
    streams = (stream for run in runs for stream in run.asked.workload.streams)
    return all(stream.pattern == "sequential" for stream in streams)


# Charts of power and temperature, which appear where something measured them.

ABSENT = {
    "watts": "Power was not measured: there are no charts of watts, or of IOPS or "
    "throughput per watt.",
    "temperature": "No temperature was measured.",
}
UNASKED = ("watts", "iops_per_watt", "temperature")
METRICS = (*UNASKED, "bandwidth_per_watt")


def power_charts(test: Test | None, points: Sequence[Point]) -> Iterator[Chart]:
    """A chart of each figure that was measured and that no chart line names."""
    named = {m.name for c in (test.charts if test else ()) for m in c.metrics}
    for name in UNASKED:
        if name not in named and is_measured(name, _records(points)):
            like = suggested(points)[0]
            over_time = like.by[:1] == ("time",)
            if not over_time or name != "iops_per_watt":
                kind = "lines" if over_time else "bars"
                yield chart(kind, (name,), like.by, like.per)


def without_power(picture: ChartSpec) -> bool:
    """Whether nothing measured what the picture is of, which is said elsewhere."""
    units = {Metric(name=name).unit for name in METRICS}
    keys = [column.key for column in picture.frame.columns if column.unit in units]
    rows = picture.frame.records()
    return bool(keys) and not any(row[k] is not None for row in rows for k in keys)


def absent(records: Sequence[RunRecord]) -> tuple[str, ...]:
    """What no record has is said once."""
    return tuple(t for name, t in ABSENT.items() if not is_measured(name, records))


def is_measured(name: str, records: Iterable[RunRecord]) -> bool:
    samples = (Sample(run, RunDetail()) for run in records if run.telemetry)
    metric = Metric(name=name)
    return any(figure(metric, [sample]).value is not None for sample in samples)
