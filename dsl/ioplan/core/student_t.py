"""Student's t distribution, for any number of degrees of freedom from 1 on.

With t = sqrt(n) tan(a), its density is that of cos(a)^(n - 1) between -pi/2 and
pi/2: smooth, on a finite range, and so a sum of Gauss and Legendre is exact to
six digits. Far beyond a hundred degrees it is Wallace's normal approximation
(Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2, 28.8).
"""

from __future__ import annotations

from math import atan, erfc, exp, inf, lgamma, log, log1p, pi, sqrt

import numpy as np

MANY = 300.0
NODES, WEIGHTS = np.polynomial.legendre.leggauss(64)


def tail(t: float, degrees: float) -> float:
    """The probability of a value above t, which is 0 or more."""
    if t == inf:
        return 0.0
    if degrees > MANY:
        return erfc(_normal(t, degrees) / sqrt(2)) / 2
    low = atan(t / sqrt(degrees))
    half = (pi / 2 - low) / 2
    angles = low + half * (1 + NODES)
    area = half * float(WEIGHTS @ np.cos(angles) ** (degrees - 1))
    return area * exp(_log_scale(degrees))


def _normal(t: float, degrees: float) -> float:
    if degrees == inf:
        return t
    factor = (8 * degrees + 1) / (8 * degrees + 3)
    return factor * sqrt(degrees * log1p(t * t / degrees))


def _log_scale(degrees: float) -> float:
    """Of 1 / B(1/2, n/2)."""
    return lgamma((degrees + 1) / 2) - lgamma(degrees / 2) - log(pi) / 2


def quantile(share: float, degrees: float) -> float:
    """The value that `share` of all, half at least, do not exceed."""
    low, high = 0.0, 1.0
    while tail(high, degrees) > 1 - share:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        if tail(middle, degrees) > 1 - share:
            low = middle
        else:
            high = middle
    return high
