"""How far what was seen may be from what was asked: four small tests.

Each returns how many standard deviations it is off, or its like; beyond `SIGMAS` it is
no accident, once in a million.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
import numpy.typing as npt

SIGMAS = 5.0
LEAST_EXPECTED = 5.0
"""In a class of a chi-square test."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def share_sigmas(count: int, total: int, share: float, slack: float = 0) -> float:
    """Sigmas of a binomial share; `slack` may be missing at either end of a run."""
    off = max(0.0, abs(count - total * share) - slack)
    spread = sqrt(total * share * (1 - share))
    if spread == 0:
        return 0.0 if count == total * share else np.inf
    return off / spread


def chi_square_sigmas(counts: Ints, shares: Floats) -> float:
    """Sigmas of counts in classes against their shares; Wilson's and Hilferty's form.

    Neighbours with too few expected are one class. Too even is no fault.
    """
    expected = shares / shares.sum() * counts.sum()
    classes = _classes(expected)
    seen = np.bincount(classes, counts)
    wanted = np.bincount(classes, expected)
    if np.any(seen[wanted == 0]):
        return np.inf
    some = wanted > 0
    free = int(some.sum()) - 1
    if free < 1:
        return 0.0
    square = float(((seen - wanted)[some] ** 2 / wanted[some]).sum())
    spread = 2 / (9 * free)
    return float(((square / free) ** (1 / 3) - (1 - spread)) / sqrt(spread))


def _classes(expected: Floats) -> Ints:
    """The class of each place; the last has what is left."""
    whole = np.floor(np.cumsum(expected) / LEAST_EXPECTED - 1e-9).astype(np.int64)
    last = max(0, int(expected.sum() / LEAST_EXPECTED) - 1)
    _, classes = np.unique(np.minimum(whole, last), return_inverse=True)
    return np.asarray(classes, dtype=np.int64)


def gamma_below(gap_variation: float) -> Callable[[Floats], Floats]:
    """What share of gamma variates of mean 1 is below some values: of a million."""
    shape = gap_variation**-2
    drawn = np.sort(np.random.default_rng(0).gamma(shape, 1 / shape, 1_000_000))
    return lambda values: np.searchsorted(drawn, values) / len(drawn)


def ks_distance(
    values: Floats, below: Callable[[Floats], Floats], least: float = 0.0
) -> float:
    """Kolmogorov's and Smirnov's, times the root of the count; 0 without values.

    Below `least` nothing is compared but how many there are.
    """
    ordered, count = np.sort(values), len(values)
    steps = np.arange(count + 1) / max(1, count)
    share, known = below(ordered), ordered >= least
    off = np.maximum(steps[1:] - share, share - steps[:-1])[known]
    return float(off.max(initial=0.0)) * sqrt(count)
