"""The condition of a seek as claims of statistics, and what an interval adds to each.

A percentile below a limit is a claim on the share of the I/Os that are slower. An open
loop is held to its rate, unsaid: it is reached, and no backlog grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ioplan.job import SECOND_NS, Counts, Job, Progress, StreamCounts
from ioplan.job_stream import JobStream
from ioplan.language.metric import Metric, at_the_end
from ioplan.language.plan import AT_LEAST, AT_MOST, OPERATORS, Demand, Seek
from ioplan.planner.estimate import iops_of, mean_bytes
from ioplan.planner.seek.batch_means import FAR
from ioplan.planner.seek.decide import MARGIN, Claim, Point
from ioplan.results.measure.histogram import Histogram, bucket_index
from ioplan.results.measure.measurement import Measurement
from ioplan.results.measure.metrics import Sample, figure
from ioplan.results.measure.tally import READ_WRITE
from ioplan.workload import DIRECTIONS

REACHED = 0.99
"""A rate that is not reached to this share is not borne."""
GROWTH = 0.001
"""A backlog that grows by more than this share of the arrivals is one that grows."""

Reader = Callable[[Progress], Point]


class Judged(NamedTuple):
    """A claim, and what reads its points from intervals."""

    claim: Claim
    read: Reader


def judged(seek: Seek, job: Job) -> list[Judged]:
    """All that intervals judge a probe by: nothing, if it is one of a knee."""
    if seek.goal == "knee":
        return []
    rated = [one for stream in job.streams if stream.rate for one in _rate(stream)]
    asked = (one for one in seek.where if not at_the_end(one.metric))
    return [*map(_demand, asked), *rated]


def _demand(demand: Demand) -> Judged:
    metric, is_bound = demand.metric, demand.operator in (*AT_MOST, *AT_LEAST)
    if not is_bound or metric.name in ("max", "errors"):
        claim = Claim(demand.text, "comparison", demand.limit)
        return Judged(claim, _Comparison(demand))
    at_most = demand.operator in AT_MOST
    if metric.percent is not None:
        share = 1 - metric.percent / 100
        claim = Claim(demand.text, "share", share, at_most)
        return Judged(claim, _slower(metric, demand.limit))
    claim = Claim(demand.text, "ratio", demand.limit, at_most)
    read = _mean if metric.name == "mean" else _per_s
    return Judged(claim, read(metric, demand.limit))


def _counts(metric: Metric, progress: Progress) -> Iterator[Counts]:
    """The counts of an interval that a metric looks at: reads and writes if it names
    no direction."""
    for stream in progress.streams:
        if metric.stream in (None, stream.name):
            yield from (
                stream.directions[direction]
                for direction in (
                    [metric.direction] if metric.direction else READ_WRITE
                )
                if direction in stream.directions
            )


def _slower(metric: Metric, limit_ns: float) -> Reader:
    """How many I/Os took longer, of how many: by the buckets above the limit's own."""
    near = (1 - MARGIN, 1, 1 + MARGIN)
    low, edge, high = (bucket_index(int(limit_ns * one)) for one in near)

    def read(progress: Progress) -> Point:
        counts = list(_counts(metric, progress))
        found = Histogram.merged(Histogram.of(one.bins) for one in counts)
        index, count = found.index, found.count
        slower = index > edge
        return Point(
            amount=float(count[slower].sum()),
            weight=float(found.total),
            above=float(count[slower & (index <= high)].sum()),
            below=float(count[~slower & (index >= low)].sum()),
            far=_far(counts, limit_ns),
        )

    return read


def _far(counts: list[Counts], limit_ns: float) -> float:
    """How many I/Os there are, where all are far above a latency; negative below."""
    used = [one for one in counts if one.ios]
    ios = sum(one.ios for one in used)
    mean_ns = sum(one.sum_ns for one in used) / max(1, ios)
    if all(one.max_ns < limit_ns for one in used) and mean_ns * FAR <= limit_ns:
        return -float(ios)
    slow = all(one.min_ns > limit_ns for one in used) and mean_ns >= FAR * limit_ns
    return float(ios) if slow else 0.0


def _mean(metric: Metric, limit_ns: float) -> Reader:
    def read(progress: Progress) -> Point:
        found = list(_counts(metric, progress))
        return Point(
            float(sum(one.sum_ns for one in found)),
            float(sum(one.ios for one in found)),
            far=_far(found, limit_ns),
        )

    return read


def _per_s(metric: Metric, limit: float) -> Reader:
    def read(progress: Progress) -> Point:
        found = list(_counts(metric, progress))
        by_ios = metric.name == "iops"
        amount = sum(one.ios if by_ios else one.bytes for one in found)
        length_s = progress.interval_ns / SECOND_NS
        ios, expected = float(sum(one.ios for one in found)), limit * length_s
        below, above = amount * FAR <= expected, amount >= expected * FAR
        return Point(float(amount), length_s, far=ios * (above - below))

    return read


class _Comparison:
    """The figure of all intervals so far, beside its limit."""

    def __init__(self, demand: Demand) -> None:
        self.demand, self.whole = demand, Measurement()

    def __call__(self, progress: Progress) -> Point:
        self.whole.add(progress)
        demand, value = self.demand, self._value()
        if value is None:
            return Point()
        holds = OPERATORS[demand.operator](value, demand.limit)
        only_grows = demand.metric.name in ("max", "errors")
        lost = only_grows and value > demand.limit and demand.operator not in AT_LEAST
        return Point(value, 1.0, holds=holds, lost=lost and not holds)

    def _value(self) -> float | None:
        sample = Sample(self.whole, self.whole.detail)
        return figure(self.demand.metric, [sample]).value


def _rate(stream: JobStream) -> Iterator[Judged]:
    """What an open loop is held to; a rate that none can tell from is borne."""
    assert stream.rate
    wanted = iops_of(stream.rate, _mean_bytes(stream)) * max(
        stream.times, len(stream.hosts)
    )

    def done(progress: Progress) -> Point:
        found = (
            one
            for s in _named(stream, progress)
            for direction, one in s.directions.items()
            if direction in DIRECTIONS
        )
        ios = sum(one.ios + one.errors for one in found)
        return Point(float(ios), progress.interval_ns / SECOND_NS)

    name = "rate" if stream.name == "main" else f"{stream.name}.rate"
    yield Judged(
        Claim(f"{name} reached", "ratio", REACHED * wanted, False, proven=False), done
    )
    claim = Claim(f"{name} without a growing backlog", "difference", proven=False)
    yield Judged(claim, _Backlog(stream, GROWTH * wanted))


class _Backlog:
    """By how much the backlog of a stream grew, beyond what may be by chance; the
    warm-up may have left one."""

    def __init__(self, stream: JobStream, slack_iops: float) -> None:
        self.stream, self.slack_iops = stream, slack_iops
        self.before: int | None = None

    def __call__(self, progress: Progress) -> Point:
        level = sum(one.backlog_ios for one in _named(self.stream, progress))
        grown = 0 if self.before is None else level - self.before
        self.before = level
        return Point(grown - self.slack_iops * progress.interval_ns / SECOND_NS, 1.0)


def _named(stream: JobStream, progress: Progress) -> list[StreamCounts]:
    return [one for one in progress.streams if one.name == stream.name]


def _mean_bytes(stream: JobStream) -> float:
    """The mean size of an I/O: a rate in bytes is one of I/Os by it."""
    reads = stream.read_percent / 100
    return reads * mean_bytes(stream.read_sizes) + (1 - reads) * mean_bytes(
        stream.write_sizes
    )
