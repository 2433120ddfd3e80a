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
from typing import TypeAlias, overload

import numpy as np
import numpy.typing as npt

BITS = 7
DIGITS = 3
"""Significant digits of a percentile: its bucket is up to 0.8 % wide."""

Counts: TypeAlias = "npt.NDArray[np.int64]"


def bucket_index(value_ns: int, bits: int = BITS) -> int:
    """The bucket that a latency falls into."""
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
    """How many buckets there are for latencies below 2^64 ns."""
    return (65 - bits) << bits


class Histogram:
    """Counts by bucket, sorted by bucket."""

    def __init__(self, index: Counts, count: Counts, bits: int = BITS) -> None:
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
        return cls.of_arrays(flat[0::2], flat[1::2], bits)

    @classmethod
    def of_arrays(cls, index: Counts, count: Counts, bits: int = BITS) -> Histogram:
        """From buckets in any order, also repeated ones. Raises ValueError."""
        if not len(index):
            return cls(index, count, bits)
        if not (index[1:] > index[:-1]).all():
            index, count = _sorted_sums(index, count)
        if index[0] < 0 or index[-1] >= bucket_count(bits):
            raise ValueError("a bin lies outside the layout")
        if count.min() < 0:
            raise ValueError("a bin counts less than nothing")
        return cls(index, count, bits)

    @classmethod
    def of_values(cls, values_ns: Iterable[int], bits: int = BITS) -> Histogram:
        """From single latencies."""
        index = np.array([bucket_index(v, bits) for v in values_ns], dtype=np.int64)
        return cls.of_arrays(index, np.ones_like(index), bits)

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
        whole = np.zeros(max(ends, default=0), dtype=np.int64)
        for part in parts:
            whole[part.index] += part.count
        return cls.of_dense(whole, bits)

    @classmethod
    def of_dense(cls, counts: Counts, bits: int = BITS) -> Histogram:
        """From the counts of all buckets, or of the first ones."""
        index = (counts != 0).nonzero()[0]  # four times as fast as of int64
        return cls(index, counts[index], bits)

    def coarser(self, bits: int) -> Histogram:
        """This histogram in fewer buckets, each made of whole ones of these."""
        lower = bucket_ranges(bucket_count(self.bits), self.bits)[0][self.index]
        index = [bucket_index(value, bits) for value in lower.tolist()]
        return Histogram.of_arrays(np.array(index, dtype=np.int64), self.count, bits)

    def bins(self) -> Bins:
        """Flat pairs, as `of` takes them."""
        return Bins(self)

    def flat(self) -> tuple[int, ...]:
        """This histogram as a tuple of bucket, count, bucket, count, …"""
        flat = np.empty(2 * len(self.index), dtype=np.int64)
        flat[0::2], flat[1::2] = self.index, self.count
        return tuple(flat.tolist())

    @property
    def total(self) -> int:
        """How many latencies were counted."""
        return int(self.count.sum())

    def __add__(self, other: Histogram) -> Histogram:
        return Histogram.merged((self, other), self.bits)

    def percentile_ns(self, percent: float) -> float:
        """The middle of the bucket that holds the sample of that rank.

        The rank is the nearest: the smallest latency that at least `percent`
        of all samples do not exceed. Raises ValueError when nothing was counted.
        """
        return self.percentiles_ns((percent,))[0]

    def percentiles_ns(self, percents: Sequence[float]) -> list[float]:
        """Several percentiles at once, each as `percentile_ns` has it."""
        so_far = self.count.cumsum()
        if not len(so_far) or not so_far[-1]:
            raise ValueError("no latency was counted")
        ranks = [_rank(int(so_far[-1]), percent) for percent in percents]
        found = self.index[so_far.searchsorted(ranks)].tolist()
        return [bucket_middle(index, self.bits) for index in found]

    def beyond(self, percent: float) -> float:
        """How many samples lie beyond a percentile; ten make it believable."""
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
        """The pairs themselves."""
        return self.histogram.flat()

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[int, ...]: ...
    def __getitem__(self, place: int | slice) -> int | tuple[int, ...]:
        return self.flat[place]

    def __len__(self) -> int:
        return 2 * len(self.histogram.index)

    def __eq__(self, other: object) -> bool:
        return self.flat == (other.flat if isinstance(other, Bins) else other)

    def __hash__(self) -> int:
        return hash(self.flat)

    def __reduce__(self) -> tuple[type[tuple[int, ...]], tuple[tuple[int, ...]]]:
        """Elsewhere, plain pairs."""
        return tuple, (self.flat,)


def bucket_middle(index: int, bits: int = BITS) -> float:
    """The middle of a bucket; of a bucket with one value, that value."""
    lower, upper = bucket_range(index, bits)
    return (lower + upper - 1) / 2


@cache
def bucket_middles(bits: int) -> npt.NDArray[np.float64]:
    """The middles of all buckets."""
    lower, width = bucket_ranges(bucket_count(bits), bits)
    middles: npt.NDArray[np.float64] = lower + (width - 1) / 2
    return middles


def bucket_ranges(
    count: int, bits: int = BITS
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Lower edges and widths of the first buckets; `bucket_range` has one."""
    index = np.arange(count, dtype=np.uint64)
    shift = np.maximum(index >> bits, 1) - 1
    lower = ((index & ((1 << bits) - 1)) + (1 << bits)) << shift
    return np.where(index < 1 << bits, index, lower), np.uint64(1) << shift


def _rank(total: int, percent: float) -> int:
    """The nearest rank, from 1; rounded first, as 0.999 x 1000 is 999.0000001."""
    return max(1, ceil(round(total * percent / 100, 6)))


def _sorted_sums(index: Counts, count: Counts) -> tuple[Counts, Counts]:
    """Buckets in order, each once."""
    order = index.argsort(kind="stable")
    index, count = index[order], count[order]
    first = np.flatnonzero(np.concatenate(([True], index[1:] != index[:-1])))
    return index[first], np.add.reduceat(count, first)
