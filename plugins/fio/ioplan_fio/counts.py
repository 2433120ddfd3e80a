"""fio's cumulative figures, and what was added from one document to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ioplan.job import Counts
from ioplan.workload import Direction
from ioplan_fio.bins import edges_ns, flat, to_bins
from ioplan_fio.document import JobReport, Latency


@dataclass(frozen=True)
class Sum:
    """One direction of one stream since the start, over its threads.

    An I/O counts when its latency is known. fio's own number counts I/Os when they
    are issued, which differs by those under way at the end of the warm-up.
    """

    ios: int = 0
    bytes: int = 0
    min_ns: int = 0
    max_ns: int = 0
    sum_ns: int = 0
    sum_sq_ns2: float = 0.0
    fio: Counter[int] = field(default_factory=Counter)


def summed(
    jobs: Sequence[JobReport], direction: Direction, size_bytes: int | None
) -> Sum:
    """The threads of a stream; `size_bytes` where all its I/Os have one size."""
    parts = [job.part(direction) for job in jobs]
    used = [part.lat for part in parts if part.lat.count]
    fio: Counter[int] = Counter()
    for latency in used:
        fio.update(latency.bins)
    ios = fio.total()
    return Sum(
        ios=ios,
        bytes=ios * size_bytes if size_bytes else sum(part.io_bytes for part in parts),
        min_ns=min((latency.min_ns for latency in used), default=0),
        max_ns=max((latency.max_ns for latency in used), default=0),
        sum_ns=sum(round(latency.mean_ns * latency.count) for latency in used),
        sum_sq_ns2=sum(map(_squares, used)),
        fio=fio,
    )


def _squares(latency: Latency) -> float:
    """fio's deviation is that of a sample: its square times N - 1 is the sum."""
    spread = latency.stddev_ns**2 * max(0, latency.count - 1)
    return spread + latency.mean_ns**2 * latency.count


def added(before: Sum, after: Sum) -> tuple[Counts, Counter[int]]:
    """What came between two documents, and its histogram."""
    fio = after.fio - before.fio
    low, high = _extremes(before, after, fio)
    sum_ns = after.sum_ns - before.sum_ns
    bins = to_bins(fio, low, high, sum_ns)
    return Counts(
        ios=after.ios - before.ios,
        bytes=after.bytes - before.bytes,
        min_ns=low,
        max_ns=high,
        sum_ns=sum_ns,
        sum_sq_ns2=after.sum_sq_ns2 - before.sum_sq_ns2,
        bins=flat(bins),
    ), bins


def _extremes(before: Sum, after: Sum, fio: Counter[int]) -> tuple[int, int]:
    """Exact where the extremes since the start have moved, else a bucket's edges."""
    if not fio:
        return 0, 0
    low, high = edges_ns(fio)
    new_low = not before.ios or after.min_ns < before.min_ns
    new_high = not before.ios or after.max_ns > before.max_ns
    return (
        after.min_ns if new_low else max(low, after.min_ns),
        after.max_ns if new_high else min(high, after.max_ns),
    )


def whole(total: Sum, bins: Counter[int]) -> Counts:
    """The run, with the sum of its intervals' histograms."""
    return Counts(
        ios=total.ios,
        bytes=total.bytes,
        min_ns=total.min_ns,
        max_ns=total.max_ns,
        # the mean is printed to six digits, a million I/Os round to a few ns
        sum_ns=max(
            total.ios * total.min_ns, min(total.sum_ns, total.ios * total.max_ns)
        ),
        sum_sq_ns2=total.sum_sq_ns2,
        bins=flat(bins),
    )
