"""fio's latency buckets as ioplan's.

fio (stat.c, plat_idx_to_val) has 64 buckets an octave from 128 ns on and names a
bucket by its middle; below that each ns has its own. ioplan has 128 an octave, so
a bucket of fio's is exactly two of ours, and fio's middle is the lower edge of the
upper one. A count is halved between the two: the mean and every percentile stay
within fio's bucket, 0.8 % of the value. What was counted is kept to the last one.
"""

from __future__ import annotations

from collections.abc import Mapping

from ioplan.results.measure.histogram import bucket_index, bucket_range
from ioplan.results.measure.tally import Bins, no_bins

SINGLE_NS = 128
"""Below, fio counts every nanosecond by itself."""

LAST_NS, LAST_EDGE_NS = 17_112_760_320, 1 << 34
"""fio's last bucket (of 29 groups of 64) also holds all that took longer."""
LONGEST_NS = (1 << 63) - 1

FioBins = Mapping[int, int]
"""Counts by the middle of fio's bucket, in ns."""
Parts = tuple[tuple[int, int], ...]
"""Our buckets, each with what it gets of fio's."""


def to_bins(fio: FioBins, low_ns: int, high_ns: int, sum_ns: int) -> Bins:
    """Counts by our bucket, each within fio's own.

    The extremes say in which half of a bucket, and no more: in a document that fio
    wrote during I/O, they may be older than the counts.
    """
    lowest, highest = bucket_index(low_ns), bucket_index(max(low_ns, high_ns))
    bins = no_bins()
    for middle_ns, count in fio.items():
        parts = _halves(middle_ns, count)
        if middle_ns == LAST_NS and high_ns > LAST_EDGE_NS:
            parts = _open_ended(fio, high_ns, sum_ns)
        (first, _), (last, _) = parts[0], parts[-1]
        for index, part in parts:
            bins[_clamped(_clamped(index, lowest, highest), first, last)] += part
    return bins


def _clamped(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))


def _open_ended(fio: FioBins, high_ns: int, sum_ns: int) -> Parts:
    """The last bucket: the largest is known, and of the others the mean, by what
    the sum of all has beyond the other buckets."""
    others = fio[LAST_NS] - 1
    below_ns = sum(at_ns * count for at_ns, count in fio.items() if at_ns < LAST_NS)
    mean_ns = (sum_ns - below_ns - high_ns) // max(1, others)
    mean_ns = _clamped(mean_ns, _range(LAST_NS)[0], high_ns)
    return (bucket_index(mean_ns), others), (bucket_index(high_ns), 1)


def _halves(middle_ns: int, count: int) -> Parts:
    upper = bucket_index(middle_ns)
    if middle_ns < SINGLE_NS:
        return ((upper, count),)
    # an odd one goes up here and down there, so that no side is favoured
    up = (count + (upper >> 1) % 2) // 2
    return (upper - 1, count - up), (upper, up)


def edges_ns(fio: FioBins) -> tuple[int, int]:
    """The smallest and the largest latency that the buckets in use may hold."""
    (low, _), (_, high) = end_ranges(fio)
    return low, high


def end_ranges(fio: FioBins) -> tuple[tuple[int, int], tuple[int, int]]:
    """The first and last ns of the lowest bucket in use, and of the highest."""
    return _ends(min(fio)), _ends(max(fio))


def _ends(middle_ns: int) -> tuple[int, int]:
    first, end = _range(middle_ns)
    return first, LONGEST_NS if middle_ns == LAST_NS else end - 1


def sums_ns(fio: FioBins) -> tuple[int, int]:
    """The smallest and the largest sum that the latencies in the buckets may have."""
    ends = [(_ends(middle_ns), count) for middle_ns, count in fio.items()]
    return sum(e[0] * n for e, n in ends), sum(e[1] * n for e, n in ends)


def _range(middle_ns: int) -> tuple[int, int]:
    upper = bucket_index(middle_ns)
    if middle_ns < SINGLE_NS:
        return middle_ns, middle_ns + 1
    return bucket_range(upper - 1)[0], bucket_range(upper)[1]
