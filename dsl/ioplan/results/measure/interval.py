"""A progress event as a point of the series."""

from __future__ import annotations

from collections.abc import Sequence

from ioplan.job import SECOND_NS, Progress
from ioplan.language.metric import OF_HOST_IN_INTERVALS, RATES, Metric
from ioplan.records.record import Interval
from ioplan.results.measure.tally import (
    READ_WRITE,
    CountsBuilder,
    StreamCountsBuilder,
    moved,
)
from ioplan.workload import DIRECTIONS, SYNCS, Direction

PERCENTS = (50.0, 99.0, 99.9)
PERCENTILES = ("p50_ns", "p99_ns", "p99_9_ns")
OF_ALL = {
    "errors": "errors",
    "mean": "mean_ns",
    "max": "max_ns",
    "p50": "p50_ns",
    "p99": "p99_ns",
    "p99.9": "p99_9_ns",
}
"""What an interval of the series has of all streams and directions together."""


def interval(progress: Progress, streams: Sequence[StreamCountsBuilder]) -> Interval:
    """The point of one interval over all streams."""
    parts = [
        (direction, part)
        for stream in streams
        for direction, part in stream.directions.items()
        if direction in DIRECTIONS
    ]
    ios: dict[Direction, int] = {}
    size_bytes: dict[Direction, int] = {}
    for direction, part in parts:
        ios[direction] = ios.get(direction, 0) + part.ios
        size_bytes[direction] = size_bytes.get(direction, 0) + part.bytes
    both = CountsBuilder.merged(p for d, p in parts if d in READ_WRITE)
    percentiles_ns = both.percentiles_ns(PERCENTS) or (None,) * len(PERCENTS)
    return Interval.complete(
        {
            "t_s": progress.t_ns / SECOND_NS,
            "length_s": progress.interval_ns / SECOND_NS,
            "ios": ios,
            "bytes": size_bytes,
            "errors": sum(part.errors for _, part in parts),
            # to 1/16 ns: a binary fraction takes half the room in the store
            "mean_ns": round(16 * both.sum_ns / both.ios) / 16 if both.ios else None,
            **dict(zip(PERCENTILES, percentiles_ns, strict=True)),
            "max_ns": both.max_ns,
        }
    )


def in_series(metric: Metric) -> bool:
    """Whether the series has it; else it is made of the counts of the interval."""
    if metric.stream is not None:
        return False
    if metric.name in RATES:
        return metric.direction not in SYNCS
    return metric.direction is None and metric.name in (*OF_ALL, *OF_HOST_IN_INTERVALS)


def value_at(metric: Metric, interval: Interval) -> float | None:
    """A rate, a latency or the errors of an interval; None where it has none.

    As in the record, I/Os and bytes are those of reads and writes; trims count only
    where they are asked for.
    """
    if metric.name in RATES:
        directions = (metric.direction,) if metric.direction else READ_WRITE
        amounts = interval.ios if metric.name == "iops" else interval.bytes
        length_s = interval.length_s
        return moved(amounts, directions) / length_s if length_s else None
    value = getattr(interval, OF_ALL.get(metric.name, ""), None)
    return None if value is None else float(value)
