"""How much evidence confirms a change, so that false alarms keep within a budget."""

from __future__ import annotations

from functools import lru_cache
from math import log

NIGHTS = 365
"""A year has at least so many looks."""
YEARLY = 0.05
"""Of series that do not change, so many may have a false alarm in a year of looks."""
SPARE = 3.0
"""The bound is kept with so much evidence to spare, as a change has to be likelier than
the best series without one: docs/history.md has the false alarms that were counted, for
correlations up to 0.95 and for heavy tails."""


def budget(series: int) -> float:
    """False alarms of one series in a year: all have one together."""
    return min(YEARLY, 1 / max(1, series))


@lru_cache(4096)
def log_limit(series: int, looks: float = NIGHTS) -> float:
    """What the sum of the evidence for all places of a change must reach.

    A sum of e-processes begun at each look is expected to be the number of looks (an
    e-detector: Shin, Ramdas and Rinaldo, New England Journal of Statistics in Data
    Science 2, 2024), so that it reaches looks / budget within them with a chance of the
    budget at most (Markov).
    """
    return log(max(looks, NIGHTS) / budget(series)) - SPARE
