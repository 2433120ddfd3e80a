"""Evidence for a step in a series: a likelihood ratio that every night may look at.

The ratio is of a step of normal size (in deviations of the noise) to none, with the
mean and the deviation unknown: that of the maximal invariant, which is a test
martingale under normal noise (Pérez-Ortiz, Lardy, de Heide and Grünwald, E-statistics,
group invariance and anytime-valid testing, Annals of Statistics 52, 2024; Wang and
Ramdas, Anytime-valid t-tests and confidence sequences, Sequential Analysis, 2025).
Noise that other cells have shown counts as further values of the same deviation.
"""

from __future__ import annotations

from functools import lru_cache
from math import log

import numpy as np
from numpy.typing import NDArray

from ioplan.core.statistics.shared_variance import Variance

Numbers = NDArray[np.float64]

SIZE = 3.0
"""Steps are expected to be of about so many deviations of a session."""
HISTORY, FEWEST, MOST = 30, 2, 60
NIGHTS = 365
"""A year has at least so many looks."""
YEARLY, KEPT_BACK = 0.05, 0.6
"""Of series that do not change, so many may have a false alarm in a year of looks. A
part is kept back: sessions have heavier tails than normal, and resemble each other."""


def log_evidence(
    between: Numbers, within: Numbers, sizes: Numbers, degrees: float
) -> Numbers:
    """Of each step: its sum of squares, what is left beside it, and how many values its
    mean is worth. `degrees` are those of both sums."""
    spread = 1 + SIZE**2 * sizes
    left = within + between / spread
    found: Numbers = -np.log(spread) / 2 + degrees / 2 * np.log(
        (within + between) / left
    )
    return found


@lru_cache(4096)
def log_limit(series: int, looks: float = NIGHTS) -> float:
    """What the sum of the evidence for all places of a step must reach.

    A sum of e-processes begun at each look is expected to be the number of looks (an
    e-detector: Shin, Ramdas and Rinaldo, New England Journal of Statistics in Data
    Science 2, 2024), so that it reaches looks / budget within them with a chance of the
    budget at most (Markov). The budget of a year is one false alarm over all series,
    and YEARLY of one.
    """
    return log(max(looks, NIGHTS) / budget(series) / (1 - KEPT_BACK))


def nights_needed(noise: Variance, size: float, series: int) -> int | None:
    """So many after a change of a size, a logarithm, confirm it in half of the cases,
    with HISTORY nights before it; None of more than MOST."""
    for nights in range(FEWEST, MOST + 1):
        worth = HISTORY * nights / (HISTORY + nights)
        degrees = HISTORY + nights - 1 + noise.degrees
        between = np.array([size**2 * worth])
        rest = np.array([noise.value * degrees])
        found = log_evidence(between, rest, np.array([worth]), degrees)
        if found[0] >= log_limit(series):
            return nights
    return None


def budget(series: int) -> float:
    """False alarms of one series in a year."""
    return min(YEARLY, 1 / max(1, series))
