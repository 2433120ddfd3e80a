"""Says before a run that it is too short for a percentile to mean anything."""

from __future__ import annotations

from collections.abc import Iterable

from ioplan.language import tree
from ioplan.language.bind import amount_of, workload_of
from ioplan.language.matrix import Cell, cell_text
from ioplan.language.metric import Metric
from ioplan.language.plan import RunTemplate
from ioplan.language.scope import Scope
from ioplan.workload import Rate, SizeShare, Stream

BEYOND = 10
"""So many I/Os must lie beyond a percentile."""
FASTEST_NS = 1_000
"""No I/O on a real device completes faster, so QD / 1 us bounds the IOPS."""


def check_support(
    metric: Metric,
    node: tree.Expect,
    runs: tuple[RunTemplate, ...],
    cells: Iterable[Cell],
    scope: Scope,
) -> None:
    """An error where a cell that is judged cannot have enough I/Os."""
    if metric.percent is None or not runs:
        return
    needed = round(BEYOND / (1 - metric.percent / 100))
    for cell in cells:
        possible = max(_most_ios(run, cell, metric) for run in runs)
        if possible < needed:
            where = f" where {cell_text(cell)}" if cell else ""
            scope.findings.error(
                f"{metric.name} needs {needed:_} I/Os, and the run can have "
                f"{int(possible):_} at most{where}",
                node.metric.span,
                "run longer, or expect a lower percentile",
            )
            return


def _most_ios(run: RunTemplate, cell: Cell, metric: Metric) -> float:
    """An upper bound of a run's I/Os; unbounded where no time limits it."""
    run_ns = _run_ns(run, cell)
    if run_ns is None:
        return float("inf")
    streams = workload_of(run.workload, run.override, cell).streams
    return sum(
        _share(stream, metric) * _most_per_s(stream) * run_ns / 1e9
        for stream in streams
        if metric.stream in (None, stream.name)
    )


def has_direction(run: RunTemplate, cell: Cell, metric: Metric) -> bool:
    """Whether a run has I/O of the metric's direction, in its stream if it has one."""
    return any(
        _share(stream, metric) > 0
        for stream in workload_of(run.workload, run.override, cell).streams
        if metric.stream in (None, stream.name)
    )


def _run_ns(run: RunTemplate, cell: Cell) -> float | None:
    return None if run.run is None else float(amount_of(run.run, cell).value)


def _share(stream: Stream, metric: Metric) -> float:
    """Which part of a stream's I/Os a metric counts."""
    trims = stream.trim_percent / 100
    reads = (1 - trims) * stream.read_percent / 100
    shares = {"read": reads, "write": 1 - trims - reads, "trim": trims}
    return shares[metric.direction] if metric.direction else 1.0


def _most_per_s(stream: Stream) -> float:
    depth = stream.qd * stream.threads * 1e9 / FASTEST_NS
    return min(depth, _rate_per_s(stream.rate, stream)) if stream.rate else depth


def _rate_per_s(rate: Rate, stream: Stream) -> float:
    if rate.bytes_per_s is None:
        return rate.iops or float("inf")
    sizes: tuple[SizeShare, ...] = (*stream.read_sizes, *stream.write_sizes)
    return rate.bytes_per_s / min(share.size_bytes for share in sizes)
