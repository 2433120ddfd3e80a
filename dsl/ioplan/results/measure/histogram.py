"""Latency histograms: log-linear, sparse, mergeable by addition.

With `bits` = b, a value below 2^b has a bucket of its own; above, each octave is
split into 2^b buckets. A bucket's width is at most 2^-b of its lower edge, so
that its middle is within 2^-(b+1) of every value in it: 0.4 % for b = 7.

    index(v) = v                                     for v < 2^b
    index(v) = (e - b + 1) * 2^b + (v >> (e - b)) - 2^b, e = floor(log2 v)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

BITS = 7
DIGITS = 3
"""Significant digits of a percentile: its bucket is up to 0.8 % wide."""
MOST_BITS = 16
MOST_COUNTED = 1 << 48
"""In a bucket: a month at 100 million IOPS. The sum of all buckets is an int64."""

Ints = npt.NDArray[np.int64]
Edges = npt.NDArray[np.uint64]


def bucket_index(value_ns: int, bits: int = BITS) -> int:
    if value_ns < 1 << bits:
        return value_ns
    shift = value_ns.bit_length() - 1 - bits
    return ((shift + 1) << bits) + (value_ns >> shift) - (1 << bits)


def bucket_range(index: int, bits: int = BITS) -> tuple[int, int]:
    """The lower edge of a bucket, and the upper edge, which is outside it."""
    if index < 1 << bits:
        return index, index + 1
    shift = (index >> bits) - 1
    lower = ((index & ((1 << bits) - 1)) + (1 << bits)) << shift
    return lower, lower + (1 << shift)


def bucket_count(bits: int = BITS) -> int:
    """The number of buckets for latencies below 2^64 ns."""
    return (65 - bits) << bits


@cache
def bucket_ranges(bits: int = BITS) -> tuple[Edges, Edges]:
    """Lower edges and widths of all buckets."""
    index = np.arange(bucket_count(bits), dtype=np.uint64)
    shift = np.maximum(index >> bits, 1) - 1
    lower = ((index & ((1 << bits) - 1)) + (1 << bits)) << shift
    return np.where(index < 1 << bits, index, lower), np.uint64(1) << shift


@cache
def bucket_middles(bits: int = BITS) -> npt.NDArray[np.float64]:
    """The middles of all buckets; of a bucket with one value, that value."""
    lower, width = bucket_ranges(bits)
    return np.asarray(lower + (width - 1) / 2)


class Histogram:
    """Counts by bucket, sorted by bucket."""

    def __init__(self, index: Ints, count: Ints, bits: int = BITS) -> None:
        self.index, self.count, self.bits = index, count, bits

    @classmethod
    def of(cls, bins: Iterable[int], bits: int = BITS) -> Histogram:
        """From flat pairs: index, count, index, count…, in any order.

        Raises ValueError when a number is not of the layout.
        """
        if isinstance(bins, Bins) and bins.histogram.bits == bits:
            return bins.histogram
        flat = np.fromiter(bins, dtype=np.int64)
        if len(flat) % 2:
            raise ValueError("the bins are not pairs of index and count")
        return cls.checked(flat[0::2], flat[1::2], bits)

    @classmethod
    def checked(cls, index: Ints, count: Ints, bits: int) -> Histogram:
        """From numbers of anywhere. Raises ValueError for one that is not of the
        layout."""
        if not 0 < bits <= MOST_BITS:
            raise ValueError(f"no histogram has {bits} bits")
        if not (index[1:] > index[:-1]).all():
            index, count = _sorted_sums(index, count)
        if len(index) and not (index[0] >= 0 and index[-1] < bucket_count(bits)):
            raise ValueError("a bin lies outside the layout")
        if count.min(initial=0) < 0:
            raise ValueError("a bin counts less than nothing")
        if count.max(initial=0) > MOST_COUNTED:
            raise ValueError(f"a bin counts more than {MOST_COUNTED:,}")
        return cls(index, count, bits)

    @classmethod
    def of_dense(cls, counts: Ints, bits: int = BITS) -> Histogram:
        """From the counts of all buckets, or of the first ones."""
        index = (counts != 0).nonzero()[0]  # four times as fast as of int64
        return cls(index, counts[index], bits)

    @classmethod
    def merged(cls, parts: Iterable[Histogram], bits: int = BITS) -> Histogram:
        """The sum of histograms of one layout. Raises ValueError for two.

        They are added up in an array of all buckets: sorting takes three times as long.
        """
        parts = list(parts)
        if any(part.bits != bits for part in parts):
            raise ValueError("histograms of different resolution do not add up")
        if len(parts) == 1:
            return parts[0]
        ends = [int(part.index[-1]) + 1 for part in parts if len(part.index)]
        sums = np.zeros(max(ends, default=0), dtype=np.int64)
        for part in parts:
            sums[part.index] += part.count
        return cls.of_dense(sums, bits)

    def coarser(self, bits: int) -> Histogram:
        """This histogram in fewer buckets, each made of all of some of these."""
        lower = bucket_ranges(self.bits)[0][self.index]
        index = bucket_ranges(bits)[0].searchsorted(lower, "right") - 1
        return Histogram(*_sorted_sums(index, self.count), bits)

    def bins(self) -> Bins:
        return Bins(self)

    def flat(self) -> tuple[int, ...]:
        """Bucket, count, bucket, count, …, as `of` takes them."""
        return tuple(np.array((self.index, self.count)).T.ravel().tolist())

    @cached_property
    def total(self) -> int:
        return int(self.count.sum())

    def percentile_ns(self, percent: float) -> float:
        """The middle of the bucket that holds the sample of that rank.

        The rank is the nearest: the smallest latency that at least `percent`
        of all samples do not exceed. Raises ValueError when nothing was counted.
        """
        return self.percentiles_ns((percent,))[0]

    def percentiles_ns(self, percents: Sequence[float]) -> list[float]:
        """Several percentiles at once, each as `percentile_ns` has it."""
        running, total = self.count.cumsum(), self.total
        if not total:
            raise ValueError("no latency was measured")
        # rounded first, as 0.999 x 1000 is 999.0000001
        ranks = [ceil(round(total * percent / 100, 6)) for percent in percents]
        places = running.searchsorted([max(1, min(rank, total)) for rank in ranks])
        middles: list[float] = bucket_middles(self.bits)[self.index[places]].tolist()
        return middles

    def beyond(self, percent: float) -> float:
        """The number of samples beyond a percentile; ten make it believable."""
        return round(self.total * (100 - percent) / 100, 6)

    def mean_ns(self) -> float:
        """The mean of the buckets' middles, a check on the exact mean."""
        return float(bucket_middles(self.bits)[self.index] @ self.count / self.total)


class Bins(Sequence[int]):
    """The flat pairs of a histogram, made when they are read: of most events nobody
    in the process wants more than the histogram."""

    def __init__(self, histogram: Histogram) -> None:
        self.histogram = histogram

    @cached_property
    def flat(self) -> tuple[int, ...]:
        return self.histogram.flat()

    def __getitem__(self, place: Any) -> Any:
        return self.flat[place]

    def __len__(self) -> int:
        return 2 * len(self.histogram.index)

    def __eq__(self, other: object) -> bool:
        return self.flat == (other.flat if isinstance(other, Bins) else other)

    def __hash__(self) -> int:
        return hash(self.flat)

    def __repr__(self) -> str:
        return repr(self.flat)

    def __reduce__(self) -> tuple[type[tuple[int, ...]], tuple[tuple[int, ...]]]:
        """Elsewhere, plain pairs."""
        return tuple, (self.flat,)


def _sorted_sums(index: Ints, count: Ints) -> tuple[Ints, Ints]:
    index, places = np.unique(index, return_inverse=True)
    sums = np.zeros(len(index), dtype=np.int64)
    np.add.at(sums, places, count)
    return index, sums
