"""fio's cumulative figures, and what was added from one document to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ioplan.backends import (
    Bins,
    CountsBuilder,
    Direction,
    bucket_index,
    bucket_range,
    no_bins,
)
from ioplan_fio.document import LiveJob, LiveLatency

# fio's latency buckets as ioplan's.
#
# fio (stat.c, plat_idx_to_val) has 64 buckets an octave from 128 ns on and names a
# bucket by its middle; below that each ns has its own. ioplan has 128 an octave, so a
# bucket of fio's is exactly two of ours, and fio's middle is the lower edge of the
# upper one. A count is halved between the two: the mean and every percentile stay
# within fio's bucket, 0.8 % of the value. What was counted is kept to the last one.

SINGLE_NS = 128
"""Below, fio counts every nanosecond by itself."""

LAST_NS, LAST_EDGE_NS = 17_112_760_320, 1 << 34
"""fio's last bucket (of 29 groups of 64) also holds all that took longer."""
LONGEST_NS = (1 << 63) - 1

TORN = 0.002
"""By this share sums may be beyond their buckets: a quarter of a bucket's width."""
MEAN_DIGITS = 1e-7
"""fio prints means to six digits behind the point: so much of the sums is rounding."""

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


def sums_ns(fio: FioBins, power: int = 1) -> tuple[int, int]:
    """The smallest and the largest sum that the latencies in the buckets may have, or
    their squares with `power` 2."""
    ends = [(_ends(middle_ns), count) for middle_ns, count in fio.items()]
    low, high = (sum(e[side] ** power * n for e, n in ends) for side in (0, 1))
    return low, high


def _range(middle_ns: int) -> tuple[int, int]:
    upper = bucket_index(middle_ns)
    if middle_ns < SINGLE_NS:
        return middle_ns, middle_ns + 1
    return bucket_range(upper - 1)[0], bucket_range(upper)[1]


class Cumulative(CountsBuilder):
    """One direction of one stream since the start, over its threads.

    An I/O counts when its latency is known. fio's own number counts I/Os when they
    are issued, which differs by those under way at the end of the warm-up.
    `fio_bins` is by fio's buckets.
    """

    def __init__(self, fio_bins: Counter[int] | None = None, **counts: Any) -> None:
        super().__init__(**counts)
        self.fio_bins: Counter[int] = Counter() if fio_bins is None else fio_bins

    def of_size(self, size_bytes: int) -> Cumulative:
        """Itself, all of whose I/Os have one size."""
        self.bytes = self.ios * size_bytes
        return self


def summed(
    jobs: Sequence[LiveJob], direction: Direction, size_bytes: int | None
) -> Cumulative:
    """The threads of a stream; `size_bytes` where all its I/Os have one size."""
    parts = [job.part(direction) for job in jobs]
    moved = sum(part.io_bytes for part in parts)
    found = latencies([part.lat for part in parts], moved)
    return found if size_bytes is None else found.of_size(size_bytes)


def latencies(parts: Sequence[LiveLatency], bytes: int) -> Cumulative:
    """The latencies of all threads."""
    used = [part for part in parts if part.count]
    fio_bins: Counter[int] = Counter()
    for latency in used:
        fio_bins.update(latency.bins)
    ios = fio_bins.total()
    min_ns = min((latency.min_ns for latency in used), default=0)
    max_ns = max((latency.max_ns for latency in used), default=0)
    # the mean is printed to six digits, a million I/Os round to a few ns
    sum_ns = sum(round(latency.mean_ns * latency.count) for latency in used)
    return Cumulative(
        ios=ios,
        bytes=bytes,
        min_ns=min_ns,
        max_ns=max_ns,
        sum_ns=max(ios * min_ns, min(sum_ns, ios * max_ns)),
        sum_sq_ns2=sum(map(_squares, used)),
        fio_bins=fio_bins,
    )


def _squares(latency: LiveLatency) -> float:
    """fio's deviation is that of a sample: its square times N - 1 is the sum."""
    spread = latency.stddev_ns**2 * max(0, latency.count - 1)
    return spread + latency.mean_ns**2 * latency.count


def whole(total: Cumulative) -> CountsBuilder:
    """The figures of the last document, whose parts are of one moment."""
    bins = to_bins(total.fio_bins, total.min_ns, total.max_ns, total.sum_ns)
    return total.changed(bins=bins)


def is_torn(before: Cumulative, after: Cumulative) -> bool:
    """Whether sums are beyond what the buckets that were added can hold.

    fio copies the figures of a thread one by one while that goes on: of few I/Os a
    long one may be in a bucket, and not yet in the mean.
    """
    added = after.fio_bins - before.fio_bins
    sums = (before.sum_ns, after.sum_ns), (before.sum_sq_ns2, after.sum_sq_ns2)
    for power, (old, new) in enumerate(sums, start=1):
        least, most = sums_ns(added, power)
        slack = TORN * abs(new - old) + MEAN_DIGITS * new
        if not least - slack <= new - old <= most + slack:
            return True
    return False


def interval(before: Cumulative, after: Cumulative) -> CountsBuilder:
    """What came between two documents.

    Counts, sums and extremes of a document may be of slightly different moments
    (`is_torn`). The counts hold; the others are kept within what these allow, and what
    is left of the sums is told later.
    """
    fio_bins = after.fio_bins - before.fio_bins
    low_ns, high_ns = _extremes(after, fio_bins)
    least_ns, most_ns = sums_ns(fio_bins)
    ios = after.ios - before.ios
    least_ns, most_ns = max(least_ns, ios * low_ns), min(most_ns, ios * high_ns)
    sum_ns = max(least_ns, min(after.sum_ns - before.sum_ns, most_ns))
    after.sum_ns = before.sum_ns + sum_ns
    squares = max(after.sum_sq_ns2 - before.sum_sq_ns2, sum_ns**2 / max(1, ios))
    after.sum_sq_ns2 = before.sum_sq_ns2 + squares
    return CountsBuilder(
        ios=ios,
        bytes=after.bytes - before.bytes,
        min_ns=low_ns,
        max_ns=high_ns,
        sum_ns=sum_ns,
        sum_sq_ns2=squares,
        bins=to_bins(fio_bins, low_ns, high_ns, sum_ns),
    )


def _extremes(after: Cumulative, fio_bins: Counter[int]) -> tuple[int, int]:
    """Exact where those since the start are in the same bucket, else its edges."""
    if not fio_bins:
        return 0, 0
    (lowest, below), (above, highest) = end_ranges(fio_bins)
    return (
        max(lowest, min(after.min_ns, below)),
        max(above, min(after.max_ns, highest)),
    )
