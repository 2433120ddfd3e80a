"""fio's cumulative figures, and what was added from one document to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ioplan.measure.tally import CountsBuilder
from ioplan.workload import Direction
from ioplan_fio.bins import edges_ns, to_bins
from ioplan_fio.document import LiveJob, LiveLatency


class Cumulative(CountsBuilder):
    """One direction of one stream since the start, over its threads.

    An I/O counts when its latency is known. fio's own number counts I/Os when they
    are issued, which differs by those under way at the end of the warm-up. `bins` is
    the sum of what the intervals have in fio's buckets, `fio_bins`.
    """

    def __init__(self, fio_bins: Counter[int] | None = None, **counts: Any) -> None:
        super().__init__(**counts)
        self.fio_bins: Counter[int] = Counter() if fio_bins is None else fio_bins


def summed(
    jobs: Sequence[LiveJob], direction: Direction, size_bytes: int | None
) -> Cumulative:
    """The threads of a stream; `size_bytes` where all its I/Os have one size."""
    parts = [job.part(direction) for job in jobs]
    used = [part.lat for part in parts if part.lat.count]
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
        bytes=ios * size_bytes if size_bytes else sum(part.io_bytes for part in parts),
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


def interval(before: Cumulative, after: Cumulative) -> CountsBuilder:
    """What came between two documents; `after` then has all bins up to it."""
    fio_bins = after.fio_bins - before.fio_bins
    low_ns, high_ns = _extremes(before, after, fio_bins)
    sum_ns = after.sum_ns - before.sum_ns
    bins = to_bins(fio_bins, low_ns, high_ns, sum_ns)
    after.bins = before.bins + bins
    return CountsBuilder(
        ios=after.ios - before.ios,
        bytes=after.bytes - before.bytes,
        min_ns=low_ns,
        max_ns=high_ns,
        sum_ns=sum_ns,
        sum_sq_ns2=after.sum_sq_ns2 - before.sum_sq_ns2,
        bins=bins,
    )


def _extremes(
    before: Cumulative, after: Cumulative, fio_bins: Counter[int]
) -> tuple[int, int]:
    """Exact where the extremes since the start have moved, else a bucket's edges."""
    if not fio_bins:
        return 0, 0
    low, high = edges_ns(fio_bins)
    new_low = not before.ios or after.min_ns < before.min_ns
    new_high = not before.ios or after.max_ns > before.max_ns
    return (
        after.min_ns if new_low else max(low, after.min_ns),
        after.max_ns if new_high else min(high, after.max_ns),
    )
