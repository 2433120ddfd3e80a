"""Latencies: a sample of them becomes a curve, and any number is drawn from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ioplan.backends import BITS, CountsBuilder, bucket_index, bucket_ranges

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

OCTAVES = 48
LONGEST_WAIT_NS = 2.0 ** (OCTAVES - 1)
"""39 hours; a longer wait in a backlog counts as that."""

_LOWER, _WIDTH = (edges[: (OCTAVES - BITS + 1) << BITS] for edges in bucket_ranges())
LOWER: Floats = _LOWER.astype(np.float64)
EDGES: Floats = (_LOWER + _WIDTH).astype(np.float64)
MIDDLES: Ints = (_LOWER + (_WIDTH - 1) // 2).astype(np.int64)
HIGH, LOW = MIDDLES >> 24, MIDDLES & 0xFFFFFF
SQUARES = MIDDLES.astype(np.float64) ** 2


class Curve(Struct, frozen=True):
    """The share of latencies below each point, linear between the points."""

    points_ns: Floats
    below: Floats
    mean_ns: float

    @classmethod
    def of(cls, samples_ns: Sequence[float]) -> Curve:
        """The curve of a sample, by the buckets of `measure.histogram`."""
        found = np.searchsorted(EDGES, np.array(samples_ns), "right")
        index, count = np.unique(found, return_counts=True)
        ends = count.cumsum() / len(samples_ns)
        points = np.column_stack((LOWER[index], EDGES[index])).ravel()
        below = np.column_stack((np.append(0, ends[:-1]), ends)).ravel()
        return cls(points, below, float(MIDDLES[index] @ count) / len(samples_ns))

    def mixed(self, other: Curve, share: float) -> Curve:
        """A share of the latencies from another curve, the rest from this one."""
        points = np.union1d(self.points_ns, other.points_ns)
        parts = [np.interp(points, c.points_ns, c.below) for c in (self, other)]
        mean_ns = self.mean_ns + (other.mean_ns - self.mean_ns) * share
        return Curve(points, parts[0] + (parts[1] - parts[0]) * share, mean_ns)


class Pace(Struct, frozen=True):
    """A stream's latencies by kind, and the mean time of one I/O.

    `saturated_ns` is that time when all that may be outstanding is; `deviation` is how
    far the times may be off, relative to them. `burst_ns` is the time of all I/Os
    between two pauses, and `syncs` are those of a flush and a commit, as far as they
    are known.
    """

    curves: tuple[Curve, ...]
    cycle_ns: float
    saturated_ns: float
    deviation: float
    burst_ns: float = 0.0
    syncs: tuple[Curve, ...] = ()

    def mixed(self, other: Pace, share: float) -> Pace:
        """Between two paces, a share of the way to the other."""
        if not share:
            return self
        return Pace(
            _mixed(self.curves, other.curves, share),
            self.cycle_ns + (other.cycle_ns - self.cycle_ns) * share,
            self.saturated_ns + (other.saturated_ns - self.saturated_ns) * share,
            self.deviation + (other.deviation - self.deviation) * share,
            self.burst_ns + (other.burst_ns - self.burst_ns) * share,
            _mixed(self.syncs, other.syncs, share),
        )


def _mixed(
    ours: tuple[Curve, ...], theirs: tuple[Curve, ...], share: float
) -> tuple[Curve, ...]:
    pairs = zip(ours, theirs, strict=True)
    return tuple(one.mixed(other, share) for one, other in pairs)


def spread(
    ios: int, curve: Curve, factor: float, wait_ns: float, offset: float
) -> tuple[int, Ints]:
    """Latencies `factor` as long, after the same wait: the first bucket, and counts.

    Systematic sampling: with F the share below a bucket's upper edge and a
    random 0 <= offset < 1, a bucket gets the integers that ios * F + offset
    passes. The total is exact, each bucket within one of its expectation.
    """
    points_ns = min(wait_ns, LONGEST_WAIT_NS) + curve.points_ns * factor
    first, last = (bucket_index(int(points_ns[at])) for at in (0, -1))
    edges = np.append(LOWER[first], EDGES[first : last + 1])
    below = np.interp(edges, points_ns, curve.below)
    below *= ios
    below += offset
    ranks: Ints = below.astype(np.int64)  # rounds down, as none is below 0
    return first, ranks[1:] - ranks[:-1]


def thinned(count: Ints, some: int, offset: float) -> Ints:
    """So many of these latencies: of each bucket its share, and never more than it
    has, by systematic sampling with a random 0 <= offset < 1."""
    total = int(count.sum())
    ranks: Ints = (np.append(0, count.cumsum()) * some + int(offset * total)) // total
    return ranks[1:] - ranks[:-1]


def count_drawn(
    counts: CountsBuilder, ios: int, size_bytes: int, first: int, count: Ints
) -> None:
    """Count I/Os of a size, with latencies from bucket `first` on; each is taken to
    be the middle of its bucket."""
    buckets = slice(first, first + len(count))
    used = (count != 0).nonzero()[0]  # four times as fast as of int64
    low_ns, high_ns = MIDDLES[first + used[0]], MIDDLES[first + used[-1]]
    counts.min_ns = min(counts.min_ns, int(low_ns)) if counts.ios else int(low_ns)
    counts.max_ns = max(counts.max_ns, int(high_ns))
    counts.ios += ios
    counts.bytes += ios * size_bytes
    # A backlog of hours has a sum beyond 64 bits, so it is made of two parts.
    counts.sum_ns += (int(count @ HIGH[buckets]) << 24) + int(count @ LOW[buckets])
    counts.sum_sq_ns2 += float(count @ SQUARES[buckets])
    counts.bins[buckets] += count
