"""The charts of a test: those of its `chart` lines, else what its axes suggest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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


def charts_of(test: Test | None, points: Sequence[Point]) -> tuple[Chart, ...]:
    """The charts to draw."""
    if test and test.charts:
        return test.charts
    if test and test.seek:
        return with_found(test.seek, points)
    return suggested(points)


LOADS = ("qd", "rate")


def against_load(points: Sequence[Point], charts: Sequence[Chart]) -> tuple[Chart, ...]:
    """Latency against load for a sweep over queue depth or rate, unless the plan has
    such a chart."""
    axes = _axes(points)
    swept = [name for name in axes if name.rpartition(".")[2] in LOADS]
    if not swept or any(one.by[:1] == ("iops",) for one in charts):
        return ()
    trims = only_trims(run for point in points for run in point.runs)
    others = [name for name in axes if name not in (swept[-1], "step")]
    return (chart("lines", ("trim.p99" if trims else "p99",), ("iops",), others),)


def with_found(seek: Seek, points: Sequence[Point]) -> tuple[Chart, ...]:
    """What was found in each cell, in place of the IOPS if these were sought; one cell
    alone is told in a line."""
    axes, usual = _axes(points), suggested(points)
    if not axes:
        return usual
    found = Metric(name=seek.axis, sought=seek.kind)
    made = chart(_kind(points, axes[-1]), (), axes[-1:], axes[-2:-1])
    is_rate = seek.axis.rpartition(".")[2] == "rate"
    first = replace(made, metrics=(found,))
    return (first, *(usual[1:] if is_rate else usual))


def suggested(points: Sequence[Point]) -> tuple[Chart, ...]:
    """IOPS and latency over the last axis, a line for each value of the one before; of
    a wide matrix, heatmaps over both.

    Without an axis: the run over time, and its latencies. Of sequential I/O, throughput
    is what is looked at.
    """
    axes, rate = _axes(points), "bandwidth" if _sequential(points) else "iops"
    mean, p99 = "mean", "p99"
    trims = only_trims(run for point in points for run in point.runs)
    if trims:
        rate, mean, p99 = "trim.iops", "trim.mean", "trim.p99"
    if not axes:
        bands = () if trims else (chart("bands", ("p99",), ("time",)),)
        return (
            chart("scatter", (rate,), ("time",)),
            *bands,
            chart("percentiles", (p99,), ()),
        )
    by, per = axes[-1:], axes[-2:-1]
    if per and _is_wide(points, by[0], per[0]):
        both = (*by, *per)
        return (chart("heatmap", (rate,), both), chart("heatmap", (mean, p99), both))
    kind = _kind(points, by[0])
    return (chart(kind, (rate,), by, per), chart(kind, (mean, p99), by, per))


def _is_wide(points: Sequence[Point], by: str, per: str) -> bool:
    """Whether lines would be too many to tell one from the other."""
    sizes = [len(varied(points)[name]) for name in (by, per)]
    return min(sizes) >= FEW and sizes[0] * sizes[1] >= WIDE


def _kind(points: Sequence[Point], axis: str) -> str:
    """Lines over numbers, bars over names."""
    return "lines" if numbers(varied(points)[axis]) else "bars"


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


def _sequential(points: Sequence[Point]) -> bool:
    """Whether all I/O was in order."""
    return all(
        stream.pattern == "sequential"
        for point in points
        for run in point.runs
        for stream in run.asked.workload.streams
    )


def _axes(points: Sequence[Point]) -> list[str]:
    """The axes with more than one value, in the plan's order."""
    return [name for name in varied(points) if name != "session"]


# Charts of power and temperature, which appear where something measured them.

ABSENT = {
    "watts": "Power was not measured: there are no charts of watts, or of IOPS or "
    "throughput per watt.",
    "temperature": "No temperature was measured.",
}
UNASKED = ("watts", "iops_per_watt", "temperature")
METRICS = (*UNASKED, "bandwidth_per_watt")


def power_charts(test: Test | None, points: Sequence[Point]) -> Iterable[Chart]:
    """A chart of each figure that was measured and that no chart line names."""
    records = [run for point in points for run in point.runs]
    named = {m.name for c in (test.charts if test else ()) for m in c.metrics}
    for name in UNASKED:
        if name not in named and is_measured(name, records):
            like = suggested(points)[0]
            over_time = like.by[:1] == ("time",)
            kind = "lines" if over_time else "bars"
            if not over_time or name != "iops_per_watt":
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
    """Whether any run has this telemetry."""
    records = [record for record in records if record.telemetry]
    metric = Metric(name=name)
    samples = (Sample(record, RunDetail()) for record in records)
    return any(figure(metric, [sample]).value is not None for sample in samples)
