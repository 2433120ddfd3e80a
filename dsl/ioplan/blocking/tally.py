"""Counts of one stream while they grow, and the form in which they leave."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ioplan.blocking.threads import Done
from ioplan.job import Counts, StreamCounts
from ioplan.measure.histogram import BITS, Histogram
from ioplan.workload import Direction


class Tally:
    """One direction."""

    def __init__(self) -> None:
        self.bytes = self.errors = 0
        self.latencies_ns: list[int] = []
        self.counts = Counts()

    def add(self, size: int, latency_ns: int) -> None:
        """Count one I/O; a latency below 0 says that it failed."""
        if latency_ns < 0:
            self.errors += 1
            return
        self.bytes += size
        self.latencies_ns.append(latency_ns)

    def taken(self) -> Counts:
        """What has come since the last call."""
        values = np.array(self.latencies_ns, dtype=np.int64)
        some = Counts(errors=self.errors)
        if len(values):
            some = Counts(
                ios=len(values),
                bytes=self.bytes,
                errors=self.errors,
                min_ns=int(values.min()),
                max_ns=int(values.max()),
                sum_ns=int(values.sum()),
                sum_sq_ns2=float((values.astype(np.float64) ** 2).sum()),
                bins=binned(values).bins(),
            )
        self.bytes, self.errors, self.latencies_ns = 0, 0, []
        return some


def binned(values_ns: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Histogram:
    """`bucket_index` of many values at once; it has the formula."""
    _, bits = np.frexp(values_ns.astype(np.float64))
    shift = np.maximum(bits.astype(np.int64) - 1 - BITS, 0)
    index = (shift << BITS) + (values_ns >> shift)
    return Histogram.of_arrays(index, np.ones_like(index))


class StreamTally:
    """A stream in one interval, and in the run so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.part: dict[Direction, Tally] = defaultdict(Tally)
        self.whole: dict[Direction, Counts] = {}

    def add(self, done: Done) -> None:
        """Count an I/O."""
        direction, size, latency_ns, _ = done
        self.part[direction].add(size, latency_ns)

    def taken(self, keep: bool) -> StreamCounts:
        """The interval that ends now; kept as part of the run, or forgotten."""
        found = {direction: tally.taken() for direction, tally in self.part.items()}
        found = {d: one for d, one in found.items() if one.ios or one.errors}
        if keep:
            for direction, one in found.items():
                self.whole[direction] = added(self.whole.get(direction), one)
        return StreamCounts(name=self.name, directions=found)

    def total(self) -> StreamCounts:
        """The run so far."""
        return StreamCounts(name=self.name, directions=dict(self.whole))


def added(a: Counts | None, b: Counts) -> Counts:
    """The sum of two parts of a run."""
    if a is None or not a.ios or not b.ios:
        one = b if a is None or not a.ios else a
        return one.model_copy(update={"errors": b.errors + (a.errors if a else 0)})
    bins = Histogram.of(a.bins) + Histogram.of(b.bins)
    return Counts(
        ios=a.ios + b.ios,
        bytes=a.bytes + b.bytes,
        errors=a.errors + b.errors,
        min_ns=min(a.min_ns, b.min_ns),
        max_ns=max(a.max_ns, b.max_ns),
        sum_ns=a.sum_ns + b.sum_ns,
        sum_sq_ns2=a.sum_sq_ns2 + b.sum_sq_ns2,
        bins=bins.bins(),
    )
