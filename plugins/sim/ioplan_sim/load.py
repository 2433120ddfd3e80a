"""What streams ask of the drive: kinds of I/O, and what is still to be done."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import gcd, inf, log2

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ioplan.backends import DIRECTIONS, Direction, JobStream, Rate, SizeShare, Stream
from ioplan_sim.latency import Floats, Pace
from ioplan_sim.passes import Passes, passes_of
from ioplan_sim.placement import Placement
from ioplan_sim.spec import MAP_BYTES

# How a rate changes while a stream runs: what arrives, and as what rate it counts.

STEPS = 8
"""So many rates in an octave of a ramp are told apart."""
LEAST_PER_NS = 1e-9
"""A stream is followed at no lower rate: an I/O a second."""


class RateCourse:
    """A rate that changes, in I/Os; times from the start of the measured part on.

    As the engine's `pattern/pace.rs`; but a ramp is taken to be flat while it changes
    so little that latencies would not tell.
    """

    def __init__(self, rate: Rate, ios_per_unit: float, own_ns: float) -> None:
        per_ns = ios_per_unit / 1e9
        self.phases = [(one.length_ns, one.per_s * per_ns) for one in rate.phases]
        self.ends_ns = [0, *accumulate(length_ns for length_ns, _ in self.phases)]
        first, last = rate.first_per_s or 0.0, rate.last_per_s or 0.0
        self.first, self.last, self.own_ns = first * per_ns, last * per_ns, own_ns

    def per_ns(self, at_ns: float) -> float:
        """The rate at a time."""
        if self.phases:
            return self.phases[self._place(at_ns)[0]][1]
        share = min(1.0, max(0.0, at_ns / self.own_ns))
        return self.first + (self.last - self.first) * share

    def level(self, at_ns: float) -> float:
        """The rate, as far as rates are told apart."""
        rate = max(LEAST_PER_NS, self.per_ns(at_ns))
        return rate if self.phases else 2.0 ** (round(log2(rate) * STEPS) / STEPS)

    def next_change_ns(self, at_ns: float) -> float:
        """How long it stays as it is, or about that."""
        if self.phases:
            number, since_ns = self._place(at_ns)
            return max(1.0, self.phases[number][0] - since_ns)
        if not 0 <= at_ns < self.own_ns:
            return -at_ns if at_ns < 0 else inf
        slope = abs(self.last - self.first) / self.own_ns
        part = max(self.per_ns(at_ns), (self.first + self.last) / 100) / STEPS / 2
        return max(1.0, min(part / slope, self.own_ns - at_ns))

    def arrivals(self, at_ns: float, time_ns: float) -> float:
        """How many I/Os are due in a time in which it stays as it is."""
        ends = self.per_ns(at_ns), self.per_ns(at_ns + time_ns)
        return (ends[0] if self.phases else sum(ends) / 2) * time_ns

    def _place(self, at_ns: float) -> tuple[int, float]:
        """The phase, and how long it has been that one."""
        left_ns = at_ns % self.ends_ns[-1]
        number = sum(end_ns <= left_ns for end_ns in self.ends_ns[1:])
        return number, left_ns - self.ends_ns[number]


def course_of(stream: JobStream, mean_bytes: float, own_ns: float) -> RateCourse | None:
    """None for a rate that is the same all the time."""
    rate = stream.rate
    if rate is None or not rate.changes:
        return None
    return RateCourse(rate, 1.0 if rate.iops else 1 / mean_bytes, own_ns)


# Arrivals with gamma gaps: how many come in a time, without drawing each of them.


class GammaArrivals:
    """Times are in mean gaps: in a time of n come n arrivals, in the mean.

    The sum of m gaps of shape k is a gamma variate of shape m k, and the share of its
    first half a beta variate: the count takes few draws, and its law is exact.
    """

    def __init__(self, gap_variation: float, rng: np.random.Generator) -> None:
        self.shape, self.rng = gap_variation**-2, rng
        self.left = self._sum(1)

    def _sum(self, gaps: int) -> float:
        return float(self.rng.gamma(gaps * self.shape)) / self.shape

    def count(self, time: float) -> int:
        """How many arrive in the next so many mean gaps."""
        if self.left > time:
            self.left -= time
            return 0
        time, found, gaps = time - self.left, 1, 1 << max(0, int(time).bit_length() - 4)
        while (total := self._sum(gaps)) <= time:
            time, found = time - total, found + gaps
        while gaps > 1:  # the next arrival is one of these
            gaps //= 2
            first = total * float(self.rng.beta(gaps * self.shape, gaps * self.shape))
            if first <= time:
                time, found, total = time - first, found + gaps, total - first
            else:
                total = first
        self.left = total - time
        return found


class IoKind(Struct, frozen=True):
    """I/Os of one direction and size: their share of a stream, and their cost.

    `pages` of the host are touched in the mean; `partial` ones only in part, so
    that a write must read before it.
    """

    direction: Direction
    size_bytes: int
    share: float
    pages: float
    partial: bool


def kinds(stream: Stream, map_bytes: int = MAP_BYTES) -> Iterator[IoKind]:
    """All kinds of I/O in a stream; the shares add up to 1."""
    trim = stream.trim_percent / 100
    read = (1 - trim) * stream.read_percent / 100
    shares = {"read": read, "write": 1 - trim - read, "trim": trim}
    for direction in DIRECTIONS:
        sizes = stream.read_sizes if direction == "read" else stream.write_sizes
        for size, share in _split(sizes, shares[direction]):
            yield kind_of(stream, direction, size, share, map_bytes)


def _split(sizes: Sequence[SizeShare], share: float) -> Iterator[tuple[int, float]]:
    total = sum(size.percent for size in sizes)
    if share > 1e-12:
        yield from ((one.size_bytes, share * one.percent / total) for one in sizes)


def kind_of(
    stream: Stream,
    direction: Direction,
    size: int,
    share: float,
    map_bytes: int = MAP_BYTES,
) -> IoKind:
    """With offsets and ends on a grid of g bytes, an I/O touches
    1 + (size - g) / unit units in the mean, of what is read a page, of what is
    written as the map has it. In order, the buffer merges them.
    """
    unit = map_bytes if direction == "write" else MAP_BYTES
    grid = gcd(size, stream.align_bytes or size, unit)
    if stream.pattern == "sequential":
        return IoKind(direction, size, share, size / MAP_BYTES, partial=False)
    pages = (1 + (size - grid) / unit) * unit / MAP_BYTES
    return IoKind(direction, size, share, pages, partial=grid < unit)


class StreamLoad:
    """A stream under way: what it still has to do, and its pace at the moment.

    `max_per_ns` is the most that the drive lets the stream do, `pace_per_ns`
    what it does, in I/Os per ns. Means are over all kinds of I/O.
    """

    def __init__(
        self,
        stream: JobStream,
        placement: Placement,
        own_ns: float = inf,
        map_bytes: int = MAP_BYTES,
    ) -> None:
        """`own_ns` is how long the stream is measured."""
        self.stream, self.placement = stream, placement
        self.kinds = tuple(kinds(stream, map_bytes))
        self.shares = np.array([kind.share for kind in self.kinds])
        self.costs_ns = np.zeros((len(self.kinds), 1))  # by kind and part of the drive
        self.sizes_bytes = np.array([kind.size_bytes for kind in self.kinds])
        self.mean_bytes = sum(k.share * k.size_bytes for k in self.kinds)
        self.written_pages = self._pages("write")
        self.read_share = sum(k.share for k in self.kinds if k.direction == "read")
        self.outstanding = stream.qd * stream.threads
        self.rate_per_ns = rate_per_ns(stream, self.mean_bytes)
        self.course = course_of(stream, self.mean_bytes, own_ns)
        self.since_ns = 0.0
        self.left_bytes = inf
        self.passes: Passes | None = None
        self.ios = 0  # of the passes
        self.ahead_ns = 0.0
        self.backlog_ios = self.carry_ios = 0.0
        self.due: deque[tuple[float, float, float]] = deque()
        """Of the backlog, in order: since when, for how long, how many fell due."""
        self.max_per_ns = self.pace_per_ns = self.cycle_ns = 0.0
        self.writes = 0
        self.gamma: GammaArrivals | None = None
        self.pace, self.factor = Pace((), 0.0, 0.0, 0.0), 1.0
        self.stored: tuple[float, float] | None = None
        self.stored_at_pages = 0.0

    def _pages(self, direction: Direction) -> float:
        return sum(k.share * k.pages for k in self.kinds if k.direction == direction)

    def cover(self, passes: float, block_bytes: int) -> None:
        """Set how often the region is to be covered."""
        self.left_bytes = passes * self.stream.region_bytes
        self.passes = passes_of(self.stream, passes, block_bytes)
        if self.passes:  # each counts as a full one
            self.left_bytes = self.passes.ios * int(self.sizes_bytes[0])

    def cut_bytes(self, ios: int) -> int:
        """How many bytes passes cut from the I/Os that come next and were taken from
        `left_bytes` in full."""
        if self.passes:
            before, self.ios = self.ios, self.ios + ios
            return self.passes.cut_until(self.ios) - self.passes.cut_until(before)
        in_order = self.stream.pattern == "sequential"
        return round(max(0.0, -self.left_bytes)) if in_order else 0

    def set_time(self, since_ns: float) -> None:
        """It is so long after the start of the stream's measured part."""
        self.since_ns = since_ns
        if self.course:
            self.rate_per_ns = self.course.level(since_ns)

    @property
    def unchanged_ns(self) -> float:
        """How long its rate stays as it is."""
        return self.course.next_change_ns(self.since_ns) if self.course else inf

    def _arrivals(self, time_ns: int) -> float:
        if self.course:
            return self.course.arrivals(self.since_ns, time_ns)
        return self.rate_per_ns * time_ns

    @property
    def behind(self) -> bool:
        """Whether a rated stream has more due than may be outstanding."""
        return self.backlog_ios > self.outstanding

    def set_pace(self, pace: Pace, factor: float) -> None:
        """Take a pace, all latencies being `factor` as long: by Little's law, or by the
        times of a burst and of the pause after it.

        What a rated stream has left behind it wants to make up within a second.
        """
        self.pace, self.factor, self.cycle_ns = pace, factor, pace.cycle_ns * factor
        self.max_per_ns = self.outstanding / (pace.saturated_ns * factor)
        if self.stream.pause_ns:
            cycle_ns = pace.burst_ns * factor + self.stream.pause_ns
            self.max_per_ns = self.stream.threads * self.stream.pause_every / cycle_ns
        wanted_per_ns = self.rate_per_ns + self.backlog_ios / 1e9
        self.pace_per_ns = min(self.max_per_ns, wanted_per_ns)

    @property
    def bytes_per_ns(self) -> float:
        """Bandwidth at the present pace."""
        return self.pace_per_ns * self.mean_bytes

    def due_ios(self, time_ns: int, rng: np.random.Generator) -> tuple[int, float]:
        """How many I/Os complete in a time, and how long they waited for issue: the
        first that is due is issued first. Fractions are carried over."""
        able = self.max_per_ns * time_ns + self.carry_ios
        self.carry_ios = able % 1
        if self.stream.rate is None:
            return int(able), 0.0
        arrived, before = self._arrivals(time_ns), self.backlog_ios
        if self.stream.rate.arrivals == "poisson":
            arrived = float(rng.poisson(arrived))
        elif self.stream.rate.arrivals == "gamma":
            self.gamma = self.gamma or GammaArrivals(
                self.stream.rate.gap_variation, rng
            )
            arrived = float(self.gamma.count(arrived))
        ios = min(int(able), int(self.backlog_ios + arrived + 1e-6))
        self.backlog_ios = max(0.0, self.backlog_ios + arrived - ios)
        self.due.append((self.since_ns, time_ns, arrived))
        self._issue(ios / 2)
        now_ns = self.since_ns + time_ns / 2
        waits = max(before, self.backlog_ios) >= 1 and self.due
        wait_ns = max(0.0, now_ns - self.due[0][0]) if waits else 0.0
        self._issue(ios / 2)
        return ios, wait_ns

    def _issue(self, ios: float) -> None:
        """So many of those that were due first are due no more."""
        while ios > 0 and self.due:
            begin_ns, length_ns, count = self.due.popleft()
            if count > ios:
                issued_ns = length_ns * ios / count
                rest = begin_ns + issued_ns, length_ns - issued_ns, count - ios
                self.due.appendleft(rest)
            ios -= count

    def drawn(
        self, time_ns: int, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.int64], float]:
        """How many I/Os of each kind complete in a time, and their wait for issue."""
        if self.stream.rate or self.stream.pause_ns or len(self.kinds) == 1:
            ios, wait_ns = self.due_ios(time_ns, rng)
            return rng.multinomial(ios, self.shares), wait_ns
        means_ns = np.array([one.mean_ns for one in self.pace.curves])
        means_ns += self.pace.saturated_ns - self.shares @ means_ns  # for flushes
        means_ns *= self.factor
        left_ns = self.outstanding * time_ns - self.ahead_ns
        counts = np.zeros(len(self.kinds), np.int64)
        while left_ns > 0:  # more slow ones than usual leave time for fewer
            counts += (
                more := rng.multinomial(self._likely(left_ns, means_ns), self.shares)
            )
            left_ns -= float(more @ means_ns)
        self.ahead_ns = -left_ns
        return counts, 0.0

    def _likely(self, time_ns: float, means_ns: Floats) -> int:
        """So many I/Os of any kind are likely to fit into a time; at least one."""
        mean_ns = self.shares @ means_ns
        spread = np.sqrt(self.shares @ means_ns**2 / mean_ns**2 - 1 + 1e-9)
        fitting = time_ns / mean_ns
        return max(1, int(fitting - 2 * spread * np.sqrt(fitting)))

    def put_off(self, ios: int) -> None:
        """So many of those that were due are not done now."""
        if self.stream.rate is not None and ios:
            self.backlog_ios += ios
            self.due.appendleft((self.since_ns, 0.0, ios))

    def flushes(self, writes: int) -> int:
        """How many flushes fall due with so many more writes."""
        every, before = self.stream.sync_every or 0, self.writes
        self.writes += writes
        return self.writes // every - before // every if every else 0

    @property
    def late_ios(self) -> int:
        """I/Os of a rated stream that are due and not complete."""
        if self.stream.rate is None:
            return 0
        return int(self.backlog_ios) + round(self.pace_per_ns * self.cycle_ns)


def rate_per_ns(stream: JobStream, mean_bytes: float) -> float:
    """The open-loop rate in I/Os; infinite for a closed loop."""
    rate = stream.rate
    iops = (rate and rate.iops) or inf
    bytes_per_s = (rate and rate.bytes_per_s) or inf
    return min(iops, bytes_per_s / mean_bytes) / 1e9
