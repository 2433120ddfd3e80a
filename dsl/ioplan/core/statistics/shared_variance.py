"""Variances of several groups, each helped by the others.

A variance from five values is hardly known, and many of them are known together. How
much they have in common is estimated from their own spread, and each is drawn towards
the common one by so much: the moderated t statistic (Smyth, "Linear models and
empirical Bayes methods", 2004, section 6.2). That spread is itself an estimate: one
standard error is added, so that few groups share little.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, log, sqrt
from statistics import fmean
from typing import NamedTuple

LARGE = 6.0
"""From here on, the asymptotic series are good to ten digits."""
FEWEST = 4
"""Fewer groups tell nothing of their own spread."""


class Variance(NamedTuple):
    """A variance, and the degrees of freedom that it is known with."""

    value: float
    degrees: float


def moderated(own: Sequence[Variance]) -> list[Variance]:
    """Each variance together with what all have in common."""
    shared = common(own)
    return [_together(one, shared) for one in own] if shared else list(own)


def common(own: Sequence[Variance]) -> Variance | None:
    """What a variance is that nothing is known of but these; None of too few."""
    if len(own) < FEWEST:
        return None
    centred = [_log_of_true(one) for one in own]
    middle = fmean(centred)
    spread = sum((one - middle) ** 2 for one in centred) / (len(own) - 1)
    at_most = spread * (1 + sqrt(2 / (len(own) - 1)))
    between = at_most - fmean(trigamma(one.degrees / 2) for one in own)
    if between <= 0:
        return Variance(exp(middle), inf)
    degrees = 2 * inverse_trigamma(between)
    return Variance(exp(middle + _bias(degrees)), degrees)


def _together(one: Variance, shared: Variance) -> Variance:
    if shared.degrees == inf:
        return shared
    degrees = one.degrees + shared.degrees
    value = one.value * one.degrees + shared.value * shared.degrees
    return Variance(value / degrees, degrees)


def _log_of_true(one: Variance) -> float:
    """An unbiased estimate of the logarithm of the true variance."""
    return log(one.value) - _bias(one.degrees)


def _bias(degrees: float) -> float:
    """How far the logarithm of a sample's variance is off, in the mean."""
    return digamma(degrees / 2) - log(degrees / 2)


def digamma(x: float) -> float:
    """The derivative of ln gamma (Abramowitz and Stegun, 6.3.18, after 6.3.5)."""
    shift = 0.0
    while x < LARGE:
        shift -= 1 / x
        x += 1
    square = 1 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    return shift + log(x) - 1 / (2 * x) - series


def trigamma(x: float) -> float:
    """Its derivative (6.4.12, after 6.4.6)."""
    shift = 0.0
    while x < LARGE:
        shift += 1 / (x * x)
        x += 1
    square = 1 / (x * x)
    series = 1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30))
    return shift + 1 / x + square / 2 + square / x * series


def inverse_trigamma(value: float) -> float:
    """The x of trigamma(x), by bisection: it falls from infinity to 0."""
    low, high = 1e-3, 1.0
    while trigamma(high) > value:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if trigamma(middle) > value else (low, middle)
    return high
