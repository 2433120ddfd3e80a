"""Counts while they grow, and the form in which they leave."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ioplan.job import Counts, StreamCounts
from ioplan.workload import DIRECTIONS, Direction
from ioplan_sim.latency import EDGES, MIDDLES, Ints
from ioplan_sim.load import Lane

HIGH, LOW = MIDDLES >> 24, MIDDLES & 0xFFFFFF
SQUARES = MIDDLES.astype(np.float64) ** 2


class Tally:
    """Counts of one direction; the histogram is dense, so that adding is quick, and
    empty outside of the buckets from `first` to `last`."""

    def __init__(self) -> None:
        self.ios = self.bytes = 0
        self.sum_sq_ns2 = 0.0
        self.first, self.last = len(EDGES), 0
        self.bins: Ints = np.zeros(len(EDGES), dtype=np.int64)

    def draw(self, ios: int, size_bytes: int, first: int, count: Ints) -> None:
        """Count I/Os of a size, with latencies from bucket `first` on."""
        buckets = slice(first, first + len(count))
        self.first = min(self.first, first)
        self.last = max(self.last, first + len(count))
        self.ios += ios
        self.bytes += ios * size_bytes
        self.bins[buckets] += count
        self.sum_sq_ns2 += float(count @ SQUARES[buckets])

    def add(self, other: Tally) -> None:
        """Add an interval to the run."""
        self.ios += other.ios
        self.bytes += other.bytes
        self.sum_sq_ns2 += other.sum_sq_ns2
        self.first = min(self.first, other.first)
        self.last = max(self.last, other.last)
        buckets = slice(other.first, other.last)
        self.bins[buckets] += other.bins[buckets]

    def counts(self) -> Counts:
        """As the protocol has it; every latency is the middle of its bucket."""
        index = self.bins[self.first : self.last].nonzero()[0] + self.first
        count, values_ns = self.bins[index], MIDDLES[index]
        # A backlog of hours has a sum beyond 64 bits, so it is made of two parts.
        high, low = int(count @ HIGH[index]), int(count @ LOW[index])
        return Counts(
            ios=self.ios,
            bytes=self.bytes,
            min_ns=int(values_ns[0]),
            max_ns=int(values_ns[-1]),
            sum_ns=(high << 24) + low,
            sum_sq_ns2=self.sum_sq_ns2,
            bins=tuple(np.column_stack((index, count)).ravel().tolist()),
        )


class StreamTally:
    """What one stream did, in an interval or in the run."""

    def __init__(self) -> None:
        self.directions: dict[Direction, Tally] = defaultdict(Tally)
        self.sync_ios = self.backlog_ios = 0

    def add(self, other: StreamTally) -> None:
        """Add an interval. The backlog is a level, not a count: the last one holds."""
        for direction, tally in other.directions.items():
            self.directions[direction].add(tally)
        self.sync_ios += other.sync_ios
        self.backlog_ios = other.backlog_ios

    def counts(self, lane: Lane) -> StreamCounts:
        """As the protocol has it. What was written is what is read: no errors."""
        done = {d: self.directions[d] for d in DIRECTIONS if d in self.directions}
        read_bytes = done["read"].bytes if "read" in done else 0
        return StreamCounts(
            name=lane.stream.name,
            directions={direction: tally.counts() for direction, tally in done.items()},
            sync_ios=self.sync_ios,
            backlog_ios=self.backlog_ios,
            verified_bytes=read_bytes if lane.stream.verify else 0,
        )
