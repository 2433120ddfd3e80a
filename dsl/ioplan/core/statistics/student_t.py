"""Student's t distribution, for any number of degrees of freedom from 1 on.

Its tail is half of the regularized incomplete beta function I_x(n/2, 1/2) at
x = n / (n + t^2), here by its continued fraction, which is good to twelve digits
(Press and others, Numerical Recipes, 6.4, by Lentz's method). Far beyond a hundred
degrees it is Wallace's normal approximation (Johnson, Kotz and Balakrishnan,
Continuous Univariate Distributions 2, 28.8).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import erfc, exp, inf, lgamma, log, log1p, pi, sqrt

MANY = 300.0
EXACT, TINY = 1e-15, 1e-300
NORMAL = 1e6
EXACT_STEP, MOST_STEPS = 1e-12, 100
MOST_TERMS = 1000
"""Far more than the 50 that any t and n take."""


def tail(t: float, degrees: float) -> float:
    """The probability of a value above t, which is 0 or more."""
    if t == inf:
        return 0.0
    if degrees > MANY:
        return erfc(_normal(t, degrees) / sqrt(2)) / 2
    square = t * t / degrees
    x = 1 / (1 + square)
    if square * (degrees + 5) < 3 * (1 + square):  # I_x(a, b) = 1 - I_1-x(b, a)
        return 0.5 - _beta(square * x, 0.5, degrees / 2) / 2
    return _beta(x, degrees / 2, 0.5) / 2


def _beta(x: float, a: float, b: float) -> float:
    """I_x(a, b) for an x below (a + 1) / (a + b + 2), where it converges fast."""
    if not x:
        return 0.0
    log_scale = lgamma(a + b) - lgamma(a) - lgamma(b)
    factor = exp(log_scale + a * log(x) + b * log1p(-x)) / a
    return factor * _continued_fraction(_beta_terms(x, a, b))


def _beta_terms(x: float, a: float, b: float) -> Iterator[float]:
    """The numerators d of 1 / (1 + d1 / (1 + d2 / (1 + ...)))."""
    for m in range(MOST_TERMS):
        yield -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        k = m + 1
        yield k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k))


def _continued_fraction(terms: Iterator[float]) -> float:
    value, above, below = 1.0, 1.0, 0.0
    for term in terms:
        above = (1 + term / above) or TINY
        below = 1 / ((1 + term * below) or TINY)
        value *= above * below
        if abs(above * below - 1) < EXACT:
            break
    return 1 / value


def _normal(t: float, degrees: float) -> float:
    if degrees == inf:
        return t
    factor = (8 * degrees + 1) / (8 * degrees + 3)
    return factor * sqrt(degrees * log1p(t * t / degrees))


def quantile(share: float, degrees: float) -> float:
    """The value that `share` of all, half at least, do not exceed.

    By Newton's method on both logarithms, where the tail is all but straight.
    """
    beyond = 1 - share
    if beyond >= 0.5:
        return 0.0
    value = 1.0
    for _ in range(MOST_STEPS):
        found = tail(value, degrees)
        step = log(found / beyond) * found / (value * _density(value, degrees))
        value *= exp(max(-1.0, min(step, 1.0)))
        if abs(step) < EXACT_STEP:
            break
    return value


def _density(t: float, degrees: float) -> float:
    if degrees > NORMAL:
        return exp(-t * t / 2) / sqrt(2 * pi)
    scale = exp(lgamma((degrees + 1) / 2) - lgamma(degrees / 2)) / sqrt(degrees * pi)
    return scale * exp(-(degrees + 1) / 2 * log1p(t * t / degrees))
