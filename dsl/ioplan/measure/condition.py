"""A condition on a run, interval by interval, as claims that can be decided.

`p99 <= 1ms` says that at most 1 % of the I/Os take longer than 1 ms: a share. Means
and rates are ratios. Of an open-loop rate it is claimed, unsaid, that the rate is
reached and the backlog does not grow. All other metrics are compared as they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ioplan.core.value import Value
from ioplan.job import SECOND_NS, Counts, Job, JobStream, Progress
from ioplan.language.metric import Metric
from ioplan.language.plan import OPERATORS
from ioplan.measure.histogram import BITS, bucket_middles
from ioplan.measure.measurement import Measurement
from ioplan.measure.metrics import Sample, figure
from ioplan.measure.steady_state import Part
from ioplan.measure.tally import READ_WRITE
from ioplan.seek.decide import Claim, Method, Point

REACHED = 0.99
"""Of a rate, to count as reached; by more than the rest no backlog may grow."""


class Limit(Value):
    """`p99 <= 1ms`; the value is in the metric's unit."""

    metric: Metric
    operator: str
    value: float
    text: str


class Condition:
    """All that must hold in one run: what is written, and what a rate implies."""

    def __init__(self, limits: Sequence[Limit], job: Job) -> None:
        self.limits = limits
        self.rated = [stream for stream in job.streams if stream.rate]
        self.claims = [_claim(one) for one in limits]
        for stream in self.rated:
            self.claims += _rate_claims(stream)
        self.compares = any(one.method == "comparison" for one in self.claims)
        self.backlogs: dict[str, int] = {}
        self.so_far, self.so_far_ns = Measurement(), 0

    def points(self, progress: Progress) -> list[Point]:
        """What an interval adds to each claim; nothing while the run warms up."""
        grown = self._grown(progress)
        if progress.warmup:
            return []
        if self.compares:
            self.so_far.add(progress)
            self.so_far_ns += progress.interval_ns
        written = zip(self.limits, self.claims, strict=False)
        points = [self._point(limit, claim, progress) for limit, claim in written]
        for stream in self.rated:
            points += _rate_points(stream, progress, grown.get(stream.name, 0))
        return points

    def compared(self, sample: Sample) -> list[bool | None]:
        """What the finished run tells of comparisons; None for other claims."""
        own = [
            _holds(limit, sample) if claim.method == "comparison" else None
            for limit, claim in zip(self.limits, self.claims, strict=False)
        ]
        return own + [None] * (len(self.claims) - len(own))

    def _grown(self, progress: Progress) -> dict[str, int]:
        """By how many I/Os each backlog has grown."""
        before = self.backlogs
        self.backlogs = {one.name: one.backlog_ios for one in progress.streams}
        return {name: n - before.get(name, 0) for name, n in self.backlogs.items()}

    def _point(self, limit: Limit, claim: Claim, progress: Progress) -> Point:
        if claim.method == "comparison":
            return self._comparison(limit)
        counts = list(_scoped(limit.metric, progress))
        if claim.method == "share":
            return _share_point(counts, limit.value)
        return _ratio_point(limit.metric.name, counts, progress.interval_ns)

    def _comparison(self, limit: Limit) -> Point:
        so_far = self.so_far
        part = Part(
            self.so_far_ns / SECOND_NS, so_far.total, so_far.directions, so_far.streams
        )
        holds = _holds(limit, Sample(part, so_far.detail))
        return Point(holds=holds, lost=holds is False and _only_gets_worse(limit))


def _claim(limit: Limit) -> Claim:
    at_most = limit.operator in ("<=", "<")
    method, value = _method(limit), limit.value
    if limit.metric.percent is not None:
        value = 1 - limit.metric.percent / 100
    return Claim(limit.text, method, value, at_most)


def _method(limit: Limit) -> Method:
    if limit.operator in ("==", "!="):
        return "comparison"
    if limit.metric.percent is not None:
        return "share"
    return "ratio" if limit.metric.name in RATIOS else "comparison"


def _holds(limit: Limit, sample: Sample) -> bool | None:
    """None where the run has no such figure, or not yet."""
    value = figure(limit.metric, [sample]).value
    return None if value is None else OPERATORS[limit.operator](value, limit.value)


def _only_gets_worse(limit: Limit) -> bool:
    """Whether a run that has missed it cannot meet it any more."""
    name, operator = limit.metric.name, limit.operator
    if name in ("errors", "max"):
        return operator in ("<=", "<") or (name == "errors" and operator == "==")
    return name == "min" and operator in (">=", ">")


def _scoped(metric: Metric, progress: Progress) -> Iterator[Counts]:
    """The counts that a metric looks at; trims only if it names them."""
    wanted = (metric.direction,) if metric.direction else READ_WRITE
    for stream in progress.streams:
        if metric.stream in (None, stream.name):
            yield from (stream.directions[d] for d in wanted if d in stream.directions)


def _share_point(counts: Sequence[Counts], limit_ns: float) -> Point:
    """I/Os above the limit by the middles of their buckets, as percentiles are."""
    above = total = 0
    for part in counts:
        flat = np.fromiter(part.bins, dtype=np.int64)
        slow = bucket_middles(BITS)[flat[0::2]] > limit_ns
        above += int(flat[1::2][slow].sum())
        total += int(flat[1::2].sum())
    return Point(float(above), float(total))


RATIOS: dict[str, Callable[[Counts], int]] = {
    "mean": lambda counts: counts.sum_ns,
    "iops": lambda counts: counts.ios,
    "bandwidth": lambda counts: counts.bytes,
}


def _ratio_point(name: str, counts: Sequence[Counts], interval_ns: int) -> Point:
    amount = sum(RATIOS[name](part) for part in counts)
    if name == "mean":
        return Point(float(amount), float(sum(part.ios for part in counts)))
    return Point(float(amount), interval_ns / SECOND_NS)


def _rate_claims(stream: JobStream) -> list[Claim]:
    """The first is certain where a backend tells its backlog, the second everywhere
    that the rate is missed by more than chance."""
    return [
        Claim(f"the backlog of {stream.name!r} does not grow", "difference"),
        Claim(f"{stream.name!r} reaches its rate", "ratio", REACHED, False, False),
    ]


def _rate_points(stream: JobStream, progress: Progress, grown: int) -> list[Point]:
    """I/Os were due that came to an end, and by how many the backlog grew."""
    counts = [
        one
        for s in progress.streams
        if s.name == stream.name
        for one in s.directions.values()
    ]
    done = sum(part.ios + part.errors for part in counts)
    due = float(done + grown)
    rate = stream.rate
    assert rate
    asked = (rate.iops or 0.0) * progress.interval_ns / SECOND_NS
    reached = due
    if rate.bytes_per_s:
        asked = rate.bytes_per_s * progress.interval_ns / SECOND_NS
        moved = sum(part.bytes for part in counts)
        reached = moved * (due / done) if done else 0.0
    return [Point(grown - (1 - REACHED) * due), Point(reached, asked)]
