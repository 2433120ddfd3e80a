"""How the I/Os of a phase arrive: by the clock, by Poisson, or with gamma gaps."""

from __future__ import annotations

from math import lgamma, sqrt

import numpy as np

from ioplan_importer.trace_model.profile import BINS, BINS_AN_OCTAVE, Phase

FIXED, POISSON = 0.0, 1.0
"""Variations of the gaps that have a word of their own."""
GAMMA = tuple(round(0.2 * 1.1**step, 2) for step in range(50))
"""Variations that are tried, 0.2 to 21."""
NEAR_ENOUGH = 0.01
"""So near to the best distance, the process with fewer parameters is taken."""
SMALL = 1e-10


def variation_of(phase: Phase) -> float:
    """That of the process whose gaps are nearest to those counted.

    The moment itself would not do: one long pause makes it large.
    """
    total = phase.gaps.sum()
    if not total:
        return POISSON
    counted = np.cumsum(phase.gaps) / total

    def off(variation: float) -> float:
        return float(np.abs(counted - gaps_below(phase.iops, variation)).max())

    best = min(map(off, GAMMA))
    simple = min((POISSON, FIXED), key=off)
    if off(simple) <= best + NEAR_ENOUGH:
        return simple
    return min(GAMMA, key=off)


def gaps_below(iops: float, variation: float) -> np.ndarray:
    """The share of the times between arrivals that is below the end of each bin."""
    ends = 2.0 ** (np.arange(1, BINS + 1) / BINS_AN_OCTAVE) * iops / 1e9
    if variation == FIXED:
        share: np.ndarray = ends > 1
        return share
    shape = variation**-2
    return gamma_below(shape, ends * shape)


def gamma_below(shape: float, x: np.ndarray) -> np.ndarray:
    """The regularized incomplete gamma function P(shape, x), by its series
    (Abramowitz and Stegun, 6.5.29)."""
    x = np.minimum(x, shape + 12 * sqrt(shape) + 40)
    term = np.exp(shape * np.log(x) - x - lgamma(shape + 1))
    total = term.copy()
    number = 0
    while (term > SMALL).any() or number < shape:
        number += 1
        term = term * x / (shape + number)
        total += term
    share: np.ndarray = np.minimum(total, 1.0)
    return share
