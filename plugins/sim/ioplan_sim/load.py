"""What streams ask of the drive, and how fast it serves them when they share it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd, inf, pow, sqrt

import numpy as np

from ioplan.job import JobStream
from ioplan.workload import DIRECTIONS, Direction, SizeShare

READ_NS, WRITE_NS, TRIM_NS, FLUSH_NS = 80_000, 15_000, 30_000, 100_000
READ_BYTES_PER_NS, WRITE_BYTES_PER_NS = 3.2, 1.2
CHANNELS = 32
PAGE_BYTES = 4096
KNEE = 4
"""How sharply throughput bends into saturation."""


@dataclass(frozen=True)
class Kind:
    """I/Os of one direction and size: their share of a stream, and their cost.

    `alone_ns` is the latency on an idle new drive; `work_ns` is how long the
    whole drive is busy with one I/O, so that it can do 1 / work_ns at most.
    """

    direction: Direction
    size_bytes: int
    share: float
    alone_ns: float
    work_ns: float
    programmed_bytes: float = 0.0


def kinds(stream: JobStream) -> Iterator[Kind]:
    """All kinds of I/O in a stream; the shares add up to 1."""
    trim = stream.trim_percent / 100
    read = (1 - trim) * stream.read_percent / 100
    for size, share in _split(stream.read_sizes, read):
        transfer_ns = size / READ_BYTES_PER_NS
        work_ns = max(READ_NS / CHANNELS, transfer_ns)
        yield Kind("read", size, share, READ_NS + transfer_ns, work_ns)
    for size, share in _split(stream.write_sizes, 1 - trim - read):
        yield _write(size, stream.align_bytes or size, share)
    for size, share in _split(stream.write_sizes, trim):
        yield Kind("trim", size, share, TRIM_NS, TRIM_NS / CHANNELS)


def _split(sizes: Sequence[SizeShare], share: float) -> Iterator[tuple[int, float]]:
    total = sum(size.percent for size in sizes)
    if share > 1e-12:
        yield from ((one.size_bytes, share * one.percent / total) for one in sizes)


def _write(size: int, align: int, share: float) -> Kind:
    """Whole pages are programmed; pages written in part are read before.

    With offsets and ends on a grid of g bytes, an I/O touches
    1 + (size - g) / page pages in the mean.
    """
    grid = gcd(size, align, PAGE_BYTES)
    programmed = PAGE_BYTES + size - grid
    transfer_ns = programmed / WRITE_BYTES_PER_NS
    merge_ns = READ_NS if grid < PAGE_BYTES else 0
    work_ns = max(WRITE_NS / CHANNELS, transfer_ns) + merge_ns / CHANNELS
    alone_ns = WRITE_NS + transfer_ns + merge_ns
    return Kind("write", size, share, alone_ns, work_ns, programmed)


class Lane:
    """A stream under way: what it still has to do, and its pace at the moment.

    `top_per_ns` is the most that the drive lets the stream do, `pace_per_ns`
    what it does, in I/Os per ns. Means are over all kinds of I/O; the parts of
    `alone_ns` and `own_work_ns` add up to them.
    """

    def __init__(self, stream: JobStream) -> None:
        self.stream = stream
        self.random = stream.pattern == "random"
        self.kinds = tuple(kinds(stream))
        self.shares = [kind.share for kind in self.kinds]
        self.sizes_bytes = np.array([kind.size_bytes for kind in self.kinds])
        self.mean_bytes = sum(k.share * k.size_bytes for k in self.kinds)
        self.programmed_bytes = sum(k.share * k.programmed_bytes for k in self.kinds)
        self.alone_ns = self._parts("alone_ns")
        self.own_work_ns = self._parts("work_ns")
        self.flush_ns = FLUSH_NS / (stream.sync_every or inf) * self._share("write")
        self.outstanding = stream.qd * stream.threads
        self.rate_per_ns = self._rate_per_ns()
        self.left_bytes = inf
        self.backlog_ios = self.carry_ios = 0.0
        self.writes = 0

    def _share(self, direction: Direction) -> float:
        return sum(k.share for k in self.kinds if k.direction == direction)

    def _parts(self, field: str) -> dict[Direction, float]:
        parts = dict.fromkeys(DIRECTIONS, 0.0)
        for kind in self.kinds:
            parts[kind.direction] += kind.share * getattr(kind, field)
        return parts

    def _rate_per_ns(self) -> float:
        """The open-loop rate in I/Os; infinite for a closed loop."""
        rate = self.stream.rate
        iops = (rate and rate.iops) or inf
        bytes_per_s = (rate and rate.bytes_per_s) or inf
        return min(iops, bytes_per_s / self.mean_bytes) / 1e9

    def cover(self, passes: float) -> None:
        """Set how often the region is to be covered."""
        region = self.stream
        size_bytes = region.region_end_bytes - region.region_start_bytes
        self.left_bytes = passes * size_bytes

    def meet(self, amplification: float, writing: float) -> None:
        """Take the costs of the moment, without queueing.

        Programming costs the amplification; a read finds its die busy
        programming in proportion to `writing`, the share of time so spent.
        """
        work_ns, alone_ns = self.own_work_ns, self.alone_ns
        self.slow = {"read": 1 + writing, "write": amplification, "trim": 1.0}
        self.write_work_ns = work_ns["write"] * amplification
        self.work_ns = work_ns["read"] + work_ns["trim"] + self.write_work_ns
        parts_ns = (alone_ns[d] * self.slow[d] for d in DIRECTIONS)
        self.cycle_ns = sum(parts_ns, self.flush_ns)
        self.stretch(1.0)

    def stretch(self, factor: float) -> None:
        """Set the pace by Little's law, all latencies being `factor` as long.

        What a rated stream has left behind it wants to make up within a second.
        """
        wanted_per_ns = self.rate_per_ns + self.backlog_ios / 1e9
        self.factor = factor
        self.top_per_ns = self.outstanding / (self.cycle_ns * factor)
        self.pace_per_ns = min(self.top_per_ns, wanted_per_ns)

    @property
    def bytes_per_ns(self) -> float:
        """Bandwidth at the present pace."""
        return self.pace_per_ns * self.mean_bytes

    def latency_ns(self, kind: Kind) -> float:
        """Mean latency from issue to completion."""
        return kind.alone_ns * self.slow[kind.direction] * self.factor

    def due_ios(self, time_ns: int, rng: np.random.Generator) -> tuple[int, float]:
        """How many I/Os complete in a time, and how long they waited for issue.

        The wait is the mean backlog over the pace. Fractions are carried over.
        """
        able = self.top_per_ns * time_ns + self.carry_ios
        self.carry_ios = able % 1
        if self.stream.rate is None:
            return int(able), 0.0
        arrived, before = self.rate_per_ns * time_ns, int(self.backlog_ios)
        if self.stream.rate.arrivals == "poisson":
            arrived = float(rng.poisson(arrived))
        ios = min(int(able), int(self.backlog_ios + arrived + 1e-6))
        self.backlog_ios = max(0.0, self.backlog_ios + arrived - ios)
        return ios, (before + int(self.backlog_ios)) / 2 / self.top_per_ns

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
        in_flight = self.pace_per_ns * self.cycle_ns * self.factor
        return int(self.backlog_ios) + round(in_flight)


def share(lanes: Sequence[Lane], amplification: float) -> float:
    """Set the pace of all lanes; returns the factor by which queueing slows them.

    With a utilisation u, the sum of pace * work, latencies grow by
    f(u) = (1 - u^k)^(-1/k), k = KNEE. In a closed loop whose pace alone would
    be u0 this is f = (1 + u0^k)^(1/k): throughput min(demand, capacity) with a
    rounded knee. A rate takes less, so f lies between 1 and that.
    """
    for lane in lanes:
        lane.meet(amplification, 0.0)
    writing = min(1.0, sum(lane.pace_per_ns * lane.write_work_ns for lane in lanes))
    for lane in lanes:
        lane.meet(amplification, writing)
    demand = sum(lane.top_per_ns * lane.work_ns for lane in lanes)
    low, high = 1.0, pow(1 + pow(demand, KNEE), 1 / KNEE)
    if all(lane.stream.rate is None for lane in lanes):
        low = high
    while high / low > 1.0001:
        middle = sqrt(low * high)
        for lane in lanes:
            lane.stretch(middle)
        used = sum(lane.pace_per_ns * lane.work_ns for lane in lanes)
        too_low = pow(used, KNEE) > 1 - pow(middle, -KNEE)
        low, high = (middle, high) if too_low else (low, middle)
    return high
