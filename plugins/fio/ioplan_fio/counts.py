"""fio's cumulative figures, and what was added from one document to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ioplan.results.measure.tally import CountsBuilder
from ioplan.workload import Direction
from ioplan_fio.bins import end_ranges, sums_ns, to_bins
from ioplan_fio.document import LiveJob, LiveLatency


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


def interval(before: Cumulative, after: Cumulative) -> CountsBuilder:
    """What came between two documents.

    fio copies the figures of a thread one by one while that goes on, so that counts,
    sum and extremes are of slightly different moments. The counts hold; the others
    are kept within what these allow, and what is left of the sum is told later.
    """
    fio_bins = after.fio_bins - before.fio_bins
    low_ns, high_ns = _extremes(after, fio_bins)
    least_ns, most_ns = sums_ns(fio_bins)
    ios = after.ios - before.ios
    least_ns, most_ns = max(least_ns, ios * low_ns), min(most_ns, ios * high_ns)
    sum_ns = max(least_ns, min(after.sum_ns - before.sum_ns, most_ns))
    after.sum_ns = before.sum_ns + sum_ns
    squares = max(after.sum_sq_ns2 - before.sum_sq_ns2, sum_ns**2 / max(1, ios))
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
