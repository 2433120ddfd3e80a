"""How far a model is from its trace: Kolmogorov and Smirnov's distance.

It is the largest difference of the two distribution functions, over the whole trace:
0 where they are equal, 1 where they have nothing in common.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from msgspec import Struct

from ioplan_importer.trace_model.arrivals import gaps_below
from ioplan_importer.trace_model.fit import PARTS, PLACE_PARTS, Fit
from ioplan_importer.trace_model.profile import BINS, CELLS, Phase


class Distance(Struct, frozen=True):
    """Distances of the sizes of both directions, of the times between arrivals, and
    of the places of what is not sequential."""

    sizes: float
    gaps: float
    places: float


def distance(phases: Sequence[Phase], fits: Sequence[Fit]) -> Distance:
    """Between what was counted and what the clauses say, weighted by I/Os."""
    return Distance(
        max(_sizes(phases, fits, direction) for direction in (0, 1)),
        _largest(_sum([p.gaps for p in phases]), _gaps(phases, fits)),
        _largest(_sum([p.cells for p in phases]), _places(phases, fits)),
    )


def _sizes(phases: Sequence[Phase], fits: Sequence[Fit], direction: int) -> float:
    counted: Counter[int] = Counter()
    said: Counter[int] = Counter()
    for phase, one in zip(phases, fits, strict=True):
        found = phase.sizes[direction]
        counted.update(found)
        for size, share in one.sizes[direction].items():
            said[size] += share * found.total() / PARTS  # type: ignore[assignment]
    sizes = sorted(counted | said)
    return _largest(
        np.array([counted[size] for size in sizes], float),
        np.cumsum([said[size] for size in sizes]),
    )


def _gaps(phases: Sequence[Phase], fits: Sequence[Fit]) -> np.ndarray:
    """Times between arrivals that are below the end of each bin, of the model."""
    below = np.zeros(BINS)
    for phase, one in zip(phases, fits, strict=True):
        below += phase.gaps.sum() * gaps_below(one.iops, one.variation)
    return below


def _places(phases: Sequence[Phase], fits: Sequence[Fit]) -> np.ndarray:
    """Random I/Os that are below the end of each cell, of the model."""
    below = np.zeros(CELLS)
    for phase, one in zip(phases, fits, strict=True):
        at = [0, *accumulate(width for _, width in one.places)]
        share = [0, *accumulate(count / PLACE_PARTS for count, _ in one.places)]
        if one.places:
            ends = np.interp(np.arange(1, CELLS + 1), at, share)
            below += phase.cells.sum() * ends
    return below


def _sum(counts: list[np.ndarray]) -> np.ndarray:
    total: np.ndarray = np.sum(counts, axis=0)
    return total


def _largest(counts: np.ndarray, below: np.ndarray) -> float:
    """Difference of what was counted by bin, and what the model has up to its end."""
    total = float(np.sum(counts))
    if not total:
        return 0.0
    return float(np.abs(np.cumsum(counts) - below).max() / total)
