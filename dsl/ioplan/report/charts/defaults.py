"""The charts of a test: those of its `chart` lines, else what its axes suggest."""

from __future__ import annotations

from collections.abc import Sequence

from ioplan.language.metric import parse_metric
from ioplan.language.plan import Chart, Test
from ioplan.report.charts.axis import numbers
from ioplan.report.points import Spot, only_trims

BEHIND = {"time", "round", "iops", "bytes"}
"""What a chart may be drawn over beside the axes of the matrix."""


def charts_of(test: Test | None, spots: Sequence[Spot]) -> tuple[Chart, ...]:
    """The charts to draw."""
    return test.charts if test and test.charts else suggested(spots)


def suggested(spots: Sequence[Spot]) -> tuple[Chart, ...]:
    """IOPS and latency over the last axis, a line for each value of the one before.

    Without an axis: the run over time, and its latencies. Of sequential I/O, throughput
    is what is looked at.
    """
    axes, rate = _axes(spots), "bandwidth" if _sequential(spots) else "iops"
    mean, p99 = "mean", "p99"
    if trims := only_trims(spots):
        rate, mean, p99 = "trim.iops", "trim.mean", "trim.p99"
    if not axes:
        bands = () if trims else (chart("bands", ("p99",), ("time",)),)
        return (
            chart("scatter", (rate,), ("time",)),
            *bands,
            chart("percentiles", (p99,), ()),
        )
    by, per = axes[-1:], axes[-2:-1]
    texts = {s.place[by[0]] for s in spots if by[0] in s.place}
    kind = "lines" if numbers(texts) else "bars"
    return (chart(kind, (rate,), by, per), chart(kind, (mean, p99), by, per))


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


def _sequential(spots: Sequence[Spot]) -> bool:
    """Whether all I/O was in order."""
    return all(
        stream.pattern == "sequential"
        for spot in spots
        for record in spot.records
        for stream in record.asked.workload.streams
    )


def _axes(spots: Sequence[Spot]) -> list[str]:
    """The axes with more than one value, in the plan's order."""
    values: dict[str, set[str]] = {}
    for spot in spots:
        for name, text in spot.place.items():
            values.setdefault(name, set()).add(text)
    return [n for n, found in values.items() if len(found) > 1 and n != "session"]
