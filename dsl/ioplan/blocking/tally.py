"""The I/Os of one stream, as the counts of an interval and of the run so far."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt

from ioplan.blocking.threads import Done
from ioplan.job import StreamCounts
from ioplan.results.measure.histogram import BITS, bucket_count
from ioplan.results.measure.tally import Bins, CountsBuilder, StreamCountsBuilder
from ioplan.workload import Direction


class StreamTally:
    """A stream in one interval, and in the run so far."""

    def __init__(self, name: str) -> None:
        self.done: dict[Direction, list[Done]] = defaultdict(list)
        self.run = StreamCountsBuilder(name)

    def add(self, done: Done) -> None:
        """Count an I/O."""
        self.done[done.direction].append(done)

    def end_interval(self, keep: bool) -> StreamCounts:
        """What has come since the last call; kept as part of the run, or forgotten."""
        counts = {direction: _counts(done) for direction, done in self.done.items()}
        self.done.clear()
        interval = StreamCountsBuilder(self.run.name, directions=counts)
        if keep:
            self.run.merge(interval)
        return interval.counts()


def _counts(done: list[Done]) -> CountsBuilder:
    good = [one for one in done if one.latency_ns >= 0]
    counts = CountsBuilder(ios=len(good), errors=len(done) - len(good))
    if good:
        values_ns = np.array([one.latency_ns for one in good], dtype=np.int64)
        counts.bytes = sum(one.size_bytes for one in good)
        counts.min_ns, counts.max_ns = int(values_ns.min()), int(values_ns.max())
        counts.sum_ns = int(values_ns.sum())
        counts.sum_sq_ns2 = float((values_ns.astype(np.float64) ** 2).sum())
        counts.bins = binned(values_ns)
    return counts


def binned(values_ns: npt.NDArray[np.int64]) -> Bins:
    """`bucket_index` of many values at once; it has the formula."""
    _, bits = np.frexp(values_ns.astype(np.float64))
    shift = np.maximum(bits.astype(np.int64) - 1 - BITS, 0)
    index = (shift << BITS) + (values_ns >> shift)
    return np.bincount(index, minlength=bucket_count()).astype(np.int64)
