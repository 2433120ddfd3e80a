"""Latencies: a shape, drawn straight into the buckets of `ioplan.results.histogram`."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from ioplan.results.histogram import BITS, bucket_range

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FLOOR, BODY_SIGMA = 0.8, 0.4
TAIL_SHARE, TAIL_TIMES, TAIL_SIGMA = 0.001, 5.0, 0.3
OCTAVES = 48
LONGEST_WAIT_NS = 2.0 ** (OCTAVES - 1)
"""39 hours; a longer wait in a backlog counts as that."""

_RANGES = np.array([bucket_range(i) for i in range((OCTAVES - BITS + 1) << BITS)])
EDGES: Floats = _RANGES[:, 1].astype(np.float64)
MIDDLES: Ints = (_RANGES[:, 0] + _RANGES[:, 1] - 1) // 2


def _shape() -> tuple[Floats, Floats]:
    """Latency over its mean, and the share below it, linear between the points.

    A log-normal body upon a floor, and a rare log-normal tail.
    """
    ratio = np.concatenate(([FLOOR], FLOOR + np.geomspace(0.02, 20, 200)))
    normal = np.vectorize(NormalDist().cdf)
    body = normal(np.log(np.maximum(ratio - FLOOR, 1e-9) / (1 - FLOOR)) / BODY_SIGMA)
    tail = normal(np.log(ratio / TAIL_TIMES) / TAIL_SIGMA)
    below = (1 - TAIL_SHARE) * body + TAIL_SHARE * tail
    below[0], below[-1] = 0.0, 1.0
    mean = np.diff(below) @ (ratio[1:] + ratio[:-1]) / 2
    return ratio / mean, below


RATIO, BELOW = _shape()


def spread(ios: int, mean_ns: float, wait_ns: float, offset: float) -> tuple[int, Ints]:
    """Latencies of a mean, all after the same wait: the first bucket, and counts.

    Systematic sampling: with F the share below a bucket's upper edge and a
    random 0 <= offset < 1, a bucket gets the integers that ios * F + offset
    passes. The total is exact, each bucket within one of its expectation.
    """
    points_ns = min(wait_ns, LONGEST_WAIT_NS) + mean_ns * RATIO
    first, last = np.searchsorted(EDGES, (points_ns[0], points_ns[-1]), "right")
    below = np.interp(EDGES[first - 1 : last + 1], points_ns, BELOW)
    ranks: Ints = np.floor(ios * below + offset).astype(np.int64)
    return int(first), ranks[1:] - ranks[:-1]
