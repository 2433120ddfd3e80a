"""Counts while they grow: over intervals, directions, threads or streams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import sqrt
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from ioplan.job import SECOND_NS, Counts, StreamCounts
from ioplan.records.record import (
    BEYOND,
    PERCENTILES,
    DirectionResult,
    Latency,
    Percentile,
    StreamResult,
)
from ioplan.results.measure.histogram import Histogram, bucket_count
from ioplan.workload import COUNTED, Direction

READ_WRITE: tuple[Direction, ...] = ("read", "write")
"""What a total is made of. A trim moves no data, so its latency would mislead."""

MOST_ADDED = 256

Bins: TypeAlias = "npt.NDArray[np.int64]"
"""A dense histogram: how many latencies fell into each bucket of the layout."""


def moved(
    amounts: Mapping[Direction, int], directions: Iterable[Direction] = READ_WRITE
) -> int:
    """The sum of I/Os or bytes by direction; of reads and writes if none is named."""
    return sum(amounts.get(direction, 0) for direction in directions)


def no_bins() -> Bins:
    """A dense histogram of nothing."""
    return np.zeros(bucket_count(), dtype=np.int64)


class CountsBuilder:
    """What `ioplan.job.Counts` has, while it grows: exact sums and a histogram.

    The histogram is dense: adding 300 bins to it costs a tenth of merging two sparse
    ones. It is added up when somebody reads it: of the intervals of a run that gives
    its own result nobody does.
    """

    def __init__(
        self,
        ios: int = 0,
        bytes: int = 0,
        errors: int = 0,
        min_ns: int = 0,
        max_ns: int = 0,
        sum_ns: int = 0,
        sum_sq_ns2: float = 0.0,
        bins: Bins | None = None,
    ) -> None:
        self.ios, self.bytes, self.errors = ios, bytes, errors
        self.min_ns, self.max_ns = min_ns, max_ns
        self.sum_ns, self.sum_sq_ns2 = sum_ns, sum_sq_ns2
        self._bins, self._added = bins, list[Histogram]()

    @property
    def bins(self) -> Bins:
        """The dense histogram of all that was added."""
        if self._bins is None:
            self._bins = no_bins()
        for histogram in self._added:
            self._bins[histogram.index] += histogram.count
        self._added.clear()
        return self._bins

    @bins.setter
    def bins(self, bins: Bins) -> None:
        self._bins = bins
        self._added.clear()

    @classmethod
    def merged(cls, parts: Iterable[CountsBuilder]) -> Self:
        """The sum of several."""
        whole = cls()
        for part in parts:
            whole.merge(part)
        return whole

    def changed(self, **figures: Any) -> CountsBuilder:
        """A copy with other figures."""
        return CountsBuilder(**{**self._sums(), "bins": self.bins, **figures})

    def merge(self, other: CountsBuilder) -> None:
        """Add another one."""
        self._add_sums(other)
        whole = self.bins
        whole += other.bins

    def add(self, counts: Counts, histogram: Histogram) -> None:
        """Add counts, whose bins are `histogram`."""
        self._add_sums(counts)
        self._added.append(histogram)
        if len(self._added) >= MOST_ADDED:
            _ = self.bins  # or a long run would keep them all

    def _add_sums(self, counts: Counts | CountsBuilder) -> None:
        if counts.ios:  # otherwise its minimum of 0 means that there is none
            self.min_ns = min(self.min_ns, counts.min_ns) if self.ios else counts.min_ns
            self.max_ns = max(self.max_ns, counts.max_ns)
        self.ios += counts.ios
        self.bytes += counts.bytes
        self.errors += counts.errors
        self.sum_ns += counts.sum_ns
        self.sum_sq_ns2 += counts.sum_sq_ns2

    def histogram(self) -> Histogram:
        """The histogram, sparse."""
        return Histogram.of_dense(self.bins)

    def counts(self) -> Counts:
        """As events carry it."""
        return Counts.model_construct(**self._sums(), bins=self.histogram().bins())

    def _sums(self) -> dict[str, Any]:
        return {
            "ios": self.ios,
            "bytes": self.bytes,
            "errors": self.errors,
            "min_ns": self.min_ns,
            "max_ns": self.max_ns,
            "sum_ns": self.sum_ns,
            "sum_sq_ns2": float(self.sum_sq_ns2),
        }

    def result(self, run_ns: int) -> DirectionResult:
        """The figures of a measured time."""
        per_s = SECOND_NS / run_ns if run_ns > 0 else 0.0
        return DirectionResult(
            ios=self.ios,
            bytes=self.bytes,
            errors=self.errors,
            iops=self.ios * per_s,
            bandwidth_bytes_per_s=self.bytes * per_s,
            latency=self._latency() if self.ios else None,
        )

    def _latency(self) -> Latency:
        return Latency(
            mean_ns=self.sum_ns / self.ios,
            min_ns=self.min_ns,
            max_ns=self.max_ns,
            stddev_ns=self.stddev_ns(),
            percentiles=self._percentiles(),
        )

    def stddev_ns(self) -> float:
        """The deviation of the population; 0 when nothing completed.

        The difference of two large sums may come out negative, or too large.
        No deviation exceeds half the range (Popoviciu).
        """
        if not self.ios:
            return 0.0
        square_ns2 = self.sum_sq_ns2 - self.sum_ns * self.sum_ns / self.ios
        half_range_ns = max(0, self.max_ns - self.min_ns) / 2
        return min(sqrt(max(0.0, square_ns2) / self.ios), half_range_ns)

    def _percentiles(self) -> tuple[Percentile, ...]:
        """None when the backend counted no latencies."""
        histogram = self.histogram()
        if not histogram.total:
            return ()
        return tuple(
            Percentile(
                percent=percent,
                latency_ns=clamp(latency_ns, self.min_ns, self.max_ns),
                supported=histogram.beyond(percent) >= BEYOND,
            )
            for percent, latency_ns in zip(
                PERCENTILES, histogram.percentiles_ns(PERCENTILES), strict=True
            )
        )


class StreamCountsBuilder:
    """What `ioplan.job.StreamCounts` has, while it grows."""

    def __init__(
        self, name: str, directions: dict[Direction, CountsBuilder] | None = None
    ) -> None:
        self.name, self.directions = name, directions or {}
        self.run_ns: int | None = None
        self.gap_ns: int | None = None
        self.sync_ios = self.backlog_ios = 0
        self.verified_bytes = self.verify_errors = 0

    def add(self, counts: StreamCounts, bins: dict[Direction, Histogram]) -> None:
        """Add an interval or a whole run."""
        for direction, part in counts.directions.items():
            self.direction(direction).add(part, bins[direction])
        self.run_ns, self.gap_ns = counts.run_ns, counts.gap_ns
        self._add_sums(counts)

    def merge(self, other: StreamCountsBuilder) -> None:
        """Add an interval."""
        for direction, part in other.directions.items():
            self.direction(direction).merge(part)
        self._add_sums(other)

    def _add_sums(self, counts: StreamCounts | StreamCountsBuilder) -> None:
        self.sync_ios += counts.sync_ios
        self.backlog_ios = counts.backlog_ios  # a level, not a sum
        self.verified_bytes += counts.verified_bytes
        self.verify_errors += counts.verify_errors

    def direction(self, direction: Direction) -> CountsBuilder:
        """The counts of a direction, to be added to."""
        if direction not in self.directions:
            self.directions[direction] = CountsBuilder()
        return self.directions[direction]

    def counts(self) -> StreamCounts:
        """As events carry it; a direction that did nothing is absent."""
        done = {d: self.directions[d] for d in COUNTED if d in self.directions}
        counts = {d: c.counts() for d, c in done.items() if c.ios or c.errors}
        return StreamCounts.model_construct(**vars(self) | {"directions": counts})

    def read_write(self) -> list[CountsBuilder]:
        """What the total is made of."""
        return [self.directions[d] for d in READ_WRITE if d in self.directions]

    def result(self, run_ns: int) -> StreamResult:
        """The figures of its own measured time, or else of the run's."""
        run_ns = self.run_ns or run_ns
        return StreamResult(
            name=self.name,
            run_s=self.run_ns / SECOND_NS if self.run_ns else None,
            directions={d: t.result(run_ns) for d, t in self.directions.items()},
            total=CountsBuilder.merged(self.read_write()).result(run_ns),
            gap_ns=self.gap_ns,
            sync_ios=self.sync_ios,
            backlog_ios=self.backlog_ios,
            verified_bytes=self.verified_bytes,
            verify_errors=self.verify_errors,
        )


def clamp(value: float, low: float, high: float) -> float:
    """The value, or the limit that it crosses.

    A bucket's middle may lie beyond the extremes, which are exact.
    """
    return float(max(low, min(value, high)))
