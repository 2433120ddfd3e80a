"""How many sessions a side decide: what a difference needs to stand out of noise."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, inf, log1p, sqrt

from msgspec import Struct

from ioplan.core.statistics.shared_variance import Variance
from ioplan.core.statistics.student_t import quantile
from ioplan.results.compare.estimate import FEW_UNITS

FOUND = 0.95
"""So often is a difference found that is as large as asked."""
MOST = 50
"""More sessions a side are not proposed."""
ASSUMED_PERCENT = 2.0
ASSUMED = Variance(log1p(ASSUMED_PERCENT / 100) ** 2, 0.0)
"""The assumed variance of one session's figure, with no degrees of freedom."""


class Aim(Struct, frozen=True):
    """What is to be told: a change of `size` beside those of at most `threshold`.

    Both are logarithms; `level` is what of the 5 % there is for this one row.
    """

    size: float
    threshold: float
    level: float


def sessions_needed(noise: Variance, aim: Aim) -> int | None:
    """A side, alternating; None of more than can be asked for.

    `noise` is of one session, with the degrees of freedom that are known already:
    each further session adds its own. A change beyond the threshold is called, and
    one within it is found to be equal.
    """
    reach, level = aim.size - aim.threshold, aim.level
    if reach < 0:
        reach, level = -reach, 0.05
    for each in range(FEW_UNITS, MOST + 1):
        error = sqrt(2 * noise.value / each)
        degrees = noise.degrees + 2 * (each - 1)
        if reach > error * _margin(level, _rounded(degrees)):
            return each
    return None


def _rounded(degrees: float) -> float:
    return inf if degrees > 300 else float(ceil(degrees))


@lru_cache(1024)
def _margin(level: float, degrees: float) -> float:
    """In standard errors: to be called at that level, and FOUND of the time."""
    return quantile(1 - level / 2, degrees) + quantile(FOUND, degrees)
