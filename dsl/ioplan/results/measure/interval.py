"""A progress event as a point of the series."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ioplan.job import SECOND_NS, Counts, Progress
from ioplan.language.metric import OF_HOST_IN_INTERVALS, Metric
from ioplan.records.record import Interval
from ioplan.results.measure.histogram import Histogram
from ioplan.results.measure.tally import READ_WRITE, clamp, moved
from ioplan.workload import DIRECTIONS, SYNCS, Direction

PERCENTS = (50.0, 99.0, 99.9)

Bins = Sequence[dict[Direction, Histogram]]
"""The histograms of an event's streams, in the order of the streams."""


def interval(progress: Progress, bins: Bins) -> Interval:
    """The point of one interval over all streams."""
    parts = [
        (direction, part)
        for stream in progress.streams
        for direction, part in stream.directions.items()
        if direction in DIRECTIONS
    ]
    measured = [part for direction, part in parts if direction in READ_WRITE]
    measured = [part for part in measured if part.ios]
    p50_ns, p99_ns, p99_9_ns = _percentiles_ns(measured, bins)
    ios = sum(part.ios for part in measured)
    return Interval(
        t_s=progress.t_ns / SECOND_NS,
        length_s=progress.interval_ns / SECOND_NS,
        ios=_sums((direction, part.ios) for direction, part in parts),
        bytes=_sums((direction, part.bytes) for direction, part in parts),
        errors=sum(part.errors for _, part in parts),
        mean_ns=_mean_ns(sum(part.sum_ns for part in measured), ios),
        p50_ns=p50_ns,
        p99_ns=p99_ns,
        p99_9_ns=p99_9_ns,
        max_ns=max((part.max_ns for part in measured), default=0),
    )


KEPT = ("errors", "mean", "max", *(f"p{percent:g}" for percent in PERCENTS))
"""What an interval of the series has of all streams and directions together."""


def in_series(metric: Metric) -> bool:
    """Whether the series has it; else it is made of the counts of the interval."""
    if metric.name in ("iops", "bandwidth"):
        return metric.stream is None and metric.direction not in SYNCS
    alone = metric.stream is None and metric.direction is None
    return alone and (metric.name in KEPT or metric.name in OF_HOST_IN_INTERVALS)


def value_at(metric: Metric, interval: Interval) -> float | None:
    """A rate, a latency or the errors of an interval; None where it has none.

    As in the record, I/Os and bytes are those of reads and writes; trims count only
    where they are asked for.
    """
    amounts = {"iops": interval.ios, "bandwidth": interval.bytes}
    if metric.name in amounts:
        asked = (metric.direction,) if metric.direction else READ_WRITE
        amount = moved(amounts[metric.name], asked)
        return amount / interval.length_s if interval.length_s else None
    kept = {
        "errors": float(interval.errors),
        "mean": interval.mean_ns,
        "max": float(interval.max_ns),
        "p50": interval.p50_ns,
        "p99": interval.p99_ns,
        "p99.9": interval.p99_9_ns,
    }
    return kept.get(metric.name)


def _sums(pairs: Iterable[tuple[Direction, int]]) -> dict[Direction, int]:
    sums: dict[Direction, int] = {}
    for direction, number in pairs:
        sums[direction] = sums.get(direction, 0) + number
    return sums


def _mean_ns(sum_ns: int, ios: int) -> float | None:
    """The mean to 1/16 ns: a binary fraction takes half the room in the store."""
    return round(16 * sum_ns / ios) / 16 if ios else None


def _percentiles_ns(measured: list[Counts], bins: Bins) -> Sequence[float | None]:
    """Percentiles of reads and writes together; None without a latency."""
    parts = [by[d] for by in bins for d in READ_WRITE if d in by]
    whole = Histogram.merged(parts)
    if not measured or not whole.total:
        return (None,) * len(PERCENTS)
    low_ns = min(part.min_ns for part in measured)
    high_ns = max(part.max_ns for part in measured)
    return [clamp(p, low_ns, high_ns) for p in whole.percentiles_ns(PERCENTS)]
