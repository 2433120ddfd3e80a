"""What streams count: sums that grow, and the figures that are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import sqrt
from typing import Any, Self

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from ioplan.job import SECOND_NS, Counts, StreamCounts
from ioplan.records.record import (
    BEYOND,
    PERCENTILES,
    DirectionResult,
    Latency,
    Percentile,
    StoredHistogram,
    StreamResult,
)
from ioplan.results.measure.histogram import Histogram, Ints, bucket_count
from ioplan.workload import COUNTED, DIRECTIONS, Direction

READ_WRITE: tuple[Direction, ...] = ("read", "write")
"""What a total is made of. A trim moves no data, so its latency would mislead."""
SUMS = ("ios", "bytes", "errors", "min_ns", "max_ns", "sum_ns", "sum_sq_ns2")
MOST_PARTS = 64
"""Histograms that wait to be merged, or a long run would keep them all."""

Bins = Ints
"""A dense histogram: how many latencies fell into each bucket of the layout."""


def moved(
    amounts: Mapping[Direction, int], directions: Iterable[Direction] = READ_WRITE
) -> int:
    """The sum of I/Os or bytes by direction; of reads and writes if none is named."""
    return sum(amounts.get(direction, 0) for direction in directions)


def arrivals(stream: StreamCounts | StreamResult) -> tuple[int, int]:
    """How many I/Os of a rated stream were done, and how many were due: those, failed
    ones too, and the backlog. Flushes and commits are of writes, and none of them."""
    parts = [part for d, part in stream.directions.items() if d in DIRECTIONS]
    done = sum(part.ios + part.errors for part in parts)
    return done, done + stream.backlog_ios


def clamp(value: float, low: float, high: float) -> float:
    """The value, or the limit that it crosses: a bucket's middle may lie beyond the
    extremes, which are exact."""
    return float(max(low, min(value, high)))


def no_bins() -> Bins:
    return np.zeros(bucket_count(), dtype=np.int64)


class CountsBuilder:
    """What `ioplan.job.Counts` has, while it grows: exact sums and a histogram.

    What is merged waits until somebody reads the sum: of the intervals of a run that
    gives its own result nobody does. `bins` is dense, and may be written to.
    """

    def __init__(
        self,
        bins: Bins | Histogram | None = None,
        *,
        ios: int = 0,
        bytes: int = 0,
        errors: int = 0,
        min_ns: int = 0,
        max_ns: int = 0,
        sum_ns: int = 0,
        sum_sq_ns2: float = 0.0,
    ) -> None:
        self.ios, self.bytes, self.errors = ios, bytes, errors
        self.min_ns, self.max_ns = min_ns, max_ns
        self.sum_ns, self.sum_sq_ns2 = sum_ns, sum_sq_ns2
        self._parts: list[Histogram] = []
        self._dense: Bins | None = None
        if isinstance(bins, Histogram):
            self._parts.append(bins)
        else:
            self._dense = bins

    @property
    def bins(self) -> Bins:
        """The dense histogram of all that was added."""
        if self._dense is None:
            self._dense = no_bins()
        for part in self._parts:
            self._dense[part.index] += part.count
        self._parts.clear()
        return self._dense

    @bins.setter
    def bins(self, bins: Bins) -> None:
        self._dense = bins
        self._parts.clear()

    @classmethod
    def merged(cls, parts: Iterable[Counts | CountsBuilder]) -> Self:
        total = cls()
        for part in parts:
            total.merge(part)
        return total

    def changed(self, **figures: Any) -> CountsBuilder:
        """A copy with other figures."""
        return CountsBuilder(**self._sums() | {"bins": self.bins} | figures)

    def merge(self, other: Counts | CountsBuilder) -> None:
        """Add other counts. Raises ValueError for bins that are not of the layout."""
        if other.ios:  # otherwise its minimum of 0 means that there is none
            self.min_ns = min(self.min_ns, other.min_ns) if self.ios else other.min_ns
            self.max_ns = max(self.max_ns, other.max_ns)
        self.ios += other.ios
        self.bytes += other.bytes
        self.errors += other.errors
        self.sum_ns += other.sum_ns
        self.sum_sq_ns2 += other.sum_sq_ns2
        if isinstance(other, CountsBuilder):
            self._parts.append(other.histogram())
        else:
            self._parts.append(Histogram.of(other.bins))
        if len(self._parts) >= MOST_PARTS:
            self.histogram()

    def histogram(self) -> Histogram:
        if self._dense is not None:
            return Histogram.of_dense(self.bins)
        if len(self._parts) != 1:
            self._parts = [Histogram.merged(self._parts)]
        return self._parts[0]

    def counts(self) -> Counts:
        return Counts.model_construct(**self._sums(), bins=self.histogram().bins())

    def _sums(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in SUMS}

    def percentiles_ns(self, percents: Sequence[float]) -> list[float]:
        """Percentiles within the extremes; empty when no latency was counted."""
        histogram = self.histogram()
        if not (self.ios and histogram.total):
            return []
        middles_ns = histogram.percentiles_ns(percents)
        return [clamp(middle_ns, self.min_ns, self.max_ns) for middle_ns in middles_ns]

    def result(self, run_ns: int) -> DirectionResult:
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
        beyond, values_ns = self.histogram().beyond, self.percentiles_ns(PERCENTILES)
        return Latency(
            mean_ns=self.sum_ns / self.ios,
            min_ns=self.min_ns,
            max_ns=self.max_ns,
            stddev_ns=self._stddev_ns(),
            percentiles=tuple(
                Percentile(percent=p, latency_ns=ns, supported=beyond(p) >= BEYOND)
                for p, ns in zip(PERCENTILES, values_ns, strict=False)
            ),
        )

    def _stddev_ns(self) -> float:
        """The difference of two large sums may come out negative, or too large. No
        deviation of a population exceeds half the range (Popoviciu)."""
        square_ns2 = self.sum_sq_ns2 - self.sum_ns * self.sum_ns / self.ios
        half_range_ns = max(0, self.max_ns - self.min_ns) / 2
        return min(sqrt(max(0.0, square_ns2) / self.ios), half_range_ns)


class StreamCountsBuilder(Struct, eq=False):
    """What `ioplan.job.StreamCounts` has, while it grows."""

    name: str
    directions: dict[Direction, CountsBuilder] = {}
    run_ns: int | None = None
    gap_ns: int | None = None
    sync_ios: int = 0
    backlog_ios: int = 0
    verified_bytes: int = 0
    verify_errors: int = 0

    def merge(self, other: StreamCountsBuilder) -> None:
        for direction, part in other.directions.items():
            self.direction(direction).merge(part)
        self.add_sums(other)

    def add_sums(self, counts: StreamCounts | StreamCountsBuilder) -> None:
        """Add what is of no direction; of times and levels the last ones count."""
        self.run_ns, self.gap_ns = counts.run_ns, counts.gap_ns
        self.sync_ios += counts.sync_ios
        self.backlog_ios = counts.backlog_ios
        self.verified_bytes += counts.verified_bytes
        self.verify_errors += counts.verify_errors

    def direction(self, direction: Direction) -> CountsBuilder:
        if direction not in self.directions:
            self.directions[direction] = CountsBuilder()
        return self.directions[direction]

    def counts(self) -> StreamCounts:
        """As events carry it; a direction that did nothing is absent."""
        counts = {
            d: part.counts()
            for d in COUNTED
            if (part := self.directions.get(d)) and (part.ios or part.errors)
        }
        return StreamCounts.model_construct(**asdict(self) | {"directions": counts})

    def result(self, run_ns: int) -> StreamResult:
        """The figures of its own measured time, or else of the run's."""
        fields = asdict(self)
        own_ns = fields.pop("run_ns")
        own = Totals({self.name: self}, own_ns or run_ns)
        directions = {d: c.result(own.run_ns) for d, c in self.directions.items()}
        fields |= {"directions": directions, "total": own.total}
        return StreamResult(**fields, run_s=own.run_s if own_ns else None)


class Totals:
    """The figures of streams over a measured time, made when they are asked for."""

    def __init__(self, counts: dict[str, StreamCountsBuilder], run_ns: int) -> None:
        self.counts, self.run_ns = counts, run_ns

    @property
    def run_s(self) -> float:
        return self.run_ns / SECOND_NS

    @cached_property
    def streams(self) -> tuple[StreamResult, ...]:
        return tuple(stream.result(self.run_ns) for stream in self.counts.values())

    @cached_property
    def directions(self) -> dict[Direction, DirectionResult]:
        used = {d for stream in self.counts.values() for d in stream.directions}
        return {d: self.together(d) for d in COUNTED if d in used}

    @cached_property
    def total(self) -> DirectionResult:
        return self.together(*READ_WRITE)

    def together(self, *directions: Direction) -> DirectionResult:
        """The sum of some directions of all streams."""
        return CountsBuilder.merged(
            stream.directions[direction]
            for direction in directions
            for stream in self.counts.values()
            if direction in stream.directions
        ).result(self.run_ns)

    def results(self) -> dict[str, Any]:
        directions, total = self.directions, self.total
        return {"streams": self.streams, "directions": directions, "total": total}

    def stored(self, phase: str = "") -> tuple[StoredHistogram, ...]:
        return tuple(
            StoredHistogram.model_construct(
                stream=stream.name,
                direction=direction,
                bits=histogram.bits,
                bins=histogram.bins(),
                phase=phase,
            )
            for stream in self.counts.values()
            for direction, part in stream.directions.items()
            for histogram in [part.histogram()]
        )
