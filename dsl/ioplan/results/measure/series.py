"""The series of a run: its points, and the levels where its mean changes for good, as
when a cache is full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from math import sqrt
from statistics import fmean

from ioplan.core.statistics.student_t import tail
from ioplan.core.units import bandwidth_text
from ioplan.job import SECOND_NS, Progress
from ioplan.language.metric import OF_HOST_IN_INTERVALS, RATES, Metric
from ioplan.planner.seek.batch_means import MIN_BATCHES, variance_of_sum
from ioplan.records.record import Interval
from ioplan.results.measure.tally import (
    READ_WRITE,
    CountsBuilder,
    StreamCountsBuilder,
    moved,
)
from ioplan.workload import DIRECTIONS, SYNCS, Direction

LEAST = 5
"""Fewer intervals are not what a run sustains."""
LEAST_BEFORE = 2
LEAST_CHANGE = 0.1
"""A smaller change of the mean is no other level."""
MOST_CHANGES = 4
CHANCE = 1e-4
"""That noise alone looks like the change, over all places where it might be."""
MOST_OFF = 0.1
"""A last level that is further from the mean of a run is not what the run had."""
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


def levels(values: list[float]) -> list[list[float]]:
    """A series, apart where its mean changes for good."""
    return _parts(values, changes(values))


def changes(values: list[float]) -> list[int]:
    """The places in a series at which its mean changes for good.

    Where it changes most is looked for first. Of these changes the smallest are given
    up until noise explains none: what is left around the means, with the dependence of
    neighbours (batch means).
    """
    cuts = _candidates(values)
    while cuts:
        chances = [_chance(_parts(values, cuts), at) for at in range(len(cuts))]
        highest = max(chances)
        if highest * len(values) < CHANCE:
            break
        del cuts[chances.index(highest)]
    return cuts


def _parts(values: list[float], cuts: Sequence[int]) -> list[list[float]]:
    return [values[a:b] for a, b in pairwise((0, *cuts, len(values)))]


def _candidates(values: list[float]) -> list[int]:
    """Where the mean changes most, by least squares, one place after another."""
    cuts: list[int] = []
    for _ in range(MOST_CHANGES if len(values) >= MIN_BATCHES + LEAST_BEFORE else 0):
        ends = pairwise((0, *cuts, len(values)))
        gains = [gain for start, end in ends for gain in _gains(values, start, end)]
        if not gains:
            break
        cuts = sorted([*cuts, max(gains)[1]])
    return cuts


def _gains(values: list[float], start: int, end: int) -> Iterator[tuple[float, int]]:
    """How much of the squares a change explains at each place of a part."""
    count, sums = end - start, [0.0, *accumulate(values[start:end])]
    least = LEAST if end == len(values) else LEAST_BEFORE
    for k in range(LEAST_BEFORE, count - least + 1):
        off = sums[k] - sums[-1] * k / count
        yield off**2 * count / (k * (count - k)), start + k


def _chance(parts: list[list[float]], at: int) -> float:
    """The chance that noise looks like the change after a part; 1 for a small one."""
    means = [fmean(part) for part in parts]
    before, after = means[at : at + 2]
    if abs(before - after) < LEAST_CHANGE * max(before, after):
        return 1.0
    left = [v - m for part, m in zip(parts, means, strict=True) for v in part]
    variance, degrees = variance_of_sum(left)
    sizes = 1 / len(parts[at]) + 1 / len(parts[at + 1])
    error = sqrt(variance / len(left) * sizes)
    return tail(abs(before - after) / error, degrees) if error else 0.0


def changed_within(series: Sequence[Interval]) -> str:
    """`2413 MB/s, then 673 MB/s`: a run whose last level is another than its mean, as
    when a cache was full; empty of any other."""
    points = [point for point in series if point.length_s][:-1]
    rates = [sum(point.bytes.values()) / point.length_s for point in points]
    parts = levels(rates)
    if len(parts) < 2:
        return ""
    first, last = fmean(parts[0]), fmean(parts[-1])
    if abs(fmean(rates) - last) <= MOST_OFF * last:
        return ""
    return f"{bandwidth_text(first)}, then {bandwidth_text(last)}"
