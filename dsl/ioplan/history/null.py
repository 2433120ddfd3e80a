"""How high the best cut of a series is that does not change: by simulation.

Normal values of which each resembles the one before (an autoregression of order one),
with a prior as unsure as the real one. The seed is fixed: the same series has the same
answer always. Where values are not normal, clipping brings their tails near to it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ioplan.history.cuts import Numbers, best_cut, clipped

ROUNDS = 4000
LONGEST = 512
"""A series with more values is taken as this long: the height hardly grows with it."""
PART = 500
GRID = 0.05
KNOWN = (0.0, 4.0, 8.0, 16.0, 32.0)
"""Degrees of freedom of a prior are rounded down to one of these."""


def chance_of(
    height: float, count: int, degrees: float, correlation: float, is_end: bool
) -> float:
    """Of a best cut of at least this height in a series that does not change."""
    known = max(one for one in KNOWN if one <= degrees)
    steps = round(correlation / GRID)
    heights = _heights(_length(count), known, steps, is_end)
    higher = len(heights) - int(np.searchsorted(heights, height))
    return (1 + higher) / (1 + len(heights))


def _length(count: int) -> int:
    """Long series that are about as long share their answer: rounded up."""
    if count <= 32:
        return count
    step = 1 << (count.bit_length() - 4)
    return min(LONGEST, -(-count // step) * step)


@lru_cache(512)
def _heights(count: int, degrees: float, steps: int, is_end: bool) -> Numbers:
    """Sorted."""
    rng = np.random.default_rng((count, int(degrees), steps, is_end))
    parts = [
        _some(rng, count, degrees, steps * GRID, is_end) for _ in range(ROUNDS // PART)
    ]
    found: Numbers = np.sort(np.concatenate(parts))
    return found


def _some(
    rng: np.random.Generator, count: int, degrees: float, step: float, is_end: bool
) -> Numbers:
    rows = correlated(rng, PART, count, step)
    value = rng.chisquare(degrees, PART) / degrees if degrees else np.zeros(PART)
    least = 1.0 if degrees else 0.0
    return best_cut(clipped(rows, least), (value, degrees), 0.0, is_end).height


def correlated(
    rng: np.random.Generator, rows: int, count: int, share: float
) -> Numbers:
    """Normal values of variance 1; each has `share` of the one before in it."""
    values: Numbers = rng.normal(size=(rows, count))
    values[:, 1:] *= (1 - share**2) ** 0.5
    for at in range(1, count) if share else ():
        values[:, at] += share * values[:, at - 1]
    return values
