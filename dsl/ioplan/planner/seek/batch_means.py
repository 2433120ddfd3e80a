"""How far a sum over intervals may be off: by batch means.

Neighbouring intervals depend on each other (garbage collection, caches, a queue), so
they do not count as so many independent ones. They are joined to batches, longer as the
run grows, and what dependence is left between batches widens the error by the
correlation of neighbours (Law, Simulation Modeling and Analysis, 9.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import exp, inf, lgamma, log, sqrt

from msgspec import Struct

from ioplan.core.statistics.student_t import tail

MIN_BATCHES, MANY_BATCHES = 8, 16
"""With twice as many intervals as the latter, two make a batch, and so on."""
MOST_CORRELATION = 0.8
RARE = 400.0
"""Where fewer slow I/Os are expected, the count's own distribution is asked, too."""


FAR = 10.0
"""So many times from its limit a figure is beyond what intervals scatter."""


class Evidence(Struct, frozen=True):
    """The chance of what was seen, or more of it, were the truth on the limit:
    `below` for a figure so far below the limit, `above` for one so far above."""

    below: float
    above: float


NONE = Evidence(1.0, 1.0)


def evidence_of_difference(values: Sequence[float]) -> Evidence:
    """Evidence that a mean differs from 0, by Student's t."""
    if len(values) < MIN_BATCHES:
        return NONE
    return _evidence(sum(values), *variance_of_sum(values))


def evidence_of_ratio(
    amounts: Sequence[float], weights: Sequence[float], limit: float
) -> Evidence:
    """Evidence on sum(amounts) / sum(weights), both positive, against a limit.

    What latencies and rates scatter grows with them: were the truth on the limit, its
    variance would be larger in proportion.
    """
    if len(amounts) < MIN_BATCHES:
        return NONE
    variance, degrees = _variance_of_ratio(amounts, weights)
    found, expected = sum(amounts), limit * sum(weights)
    variance *= _growth(found, expected)
    return _evidence(found - expected, variance, degrees)


def evidence_of_share(
    counted: Sequence[float], of: Sequence[float], limit: float
) -> Evidence:
    """Evidence on a share of I/Os against a limit, a share too.

    The variance is the limit's own, as if each I/O were by itself, and what batches
    scatter beyond that, in proportion (the design effect). Where few are expected to be
    slow, it is no surer than Poisson's distribution of their number.
    """
    if len(counted) < MIN_BATCHES:
        return NONE
    variance, degrees = _variance_of_ratio(counted, of)
    total, found = sum(of), sum(counted)
    expected = total * limit
    own = found * (1 - found / total) if total else 0.0
    beyond = max(0.0, variance - own) * _growth(found, expected)
    variance = expected * (1 - limit) + beyond
    known = _evidence(found - expected, variance, degrees)
    if expected > RARE:
        return known
    at_most = poisson_at_most(found, expected)
    at_least = 1 - poisson_at_most(found - 1, expected)
    return Evidence(max(known.below, at_most), max(known.above, at_least))


def _variance_of_ratio(
    amounts: Sequence[float], weights: Sequence[float]
) -> tuple[float, float]:
    """The variance of the sum of amounts, beside what follows from the weights: a
    second with few I/Os says less, and is no deviation (Cochran, Sampling
    Techniques, 6.3)."""
    total = sum(weights)
    ratio = sum(amounts) / total if total else 0.0
    pairs = zip(amounts, weights, strict=True)
    return variance_of_sum([a - ratio * w for a, w in pairs])


def _growth(found: float, expected: float) -> float:
    return max(1.0, expected / found) if found > 0 else 1.0


def variance_of_sum(values: Sequence[float]) -> tuple[float, float]:
    """The variance of the sum of dependent values, and its degrees of freedom."""
    size = max(1, len(values) // MANY_BATCHES)
    count = len(values) // size
    start = len(values) - count * size
    sums = [sum(values[k : k + size]) for k in range(start, len(values), size)]
    mean = sum(sums) / count
    squares = sum((one - mean) ** 2 for one in sums)
    variance = squares / (count - 1) * len(values) / size
    return variance * _dependence(sums, mean, squares), count - 1


def _dependence(sums: Sequence[float], mean: float, squares: float) -> float:
    """What correlated neighbours make of the variance: (1 + r) / (1 - r), at least 1.

    The estimate of r is too small by about 1 / n.
    """
    if not squares:
        return 1.0
    pairs = pairwise(sums)
    r = sum((a - mean) * (b - mean) for a, b in pairs) / squares + 1 / len(sums)
    r = min(max(r, 0.0), MOST_CORRELATION)
    return (1 + r) / (1 - r)


def _evidence(total: float, variance: float, degrees: float) -> Evidence:
    if not total:
        return NONE
    far = abs(total) / sqrt(variance) if variance > 0 else inf
    chance = tail(far, degrees)
    return Evidence(chance, 1 - chance) if total < 0 else Evidence(1 - chance, chance)


def evidence_of_far(found: float, expected: float, ios: float) -> Evidence:
    """Evidence on a mean or rate of so many I/Os that are all FAR from it, in any
    number of intervals: the chance were they exponential (Chernoff's bound)."""
    if not found or not expected or not ios:
        return NONE
    ratio = found / expected
    chance = exp(abs(ios) * (log(ratio) + 1 - ratio))
    return Evidence(chance, 1.0) if ios < 0 else Evidence(1.0, chance)


def evidence_of_far_share(limit: float, ios: float) -> Evidence:
    """Evidence on a share where none of so many I/Os is slow, or all of them."""
    if ios < 0:
        return Evidence((1 - limit) ** -ios, 1.0)
    return Evidence(1.0, limit**ios)


def poisson_at_most(count: float, expected: float) -> float:
    """The chance of at most so many where so many are expected."""
    if count < 0 or not expected:
        return float(count >= 0)
    return min(
        1.0,
        sum(
            exp(k * log(expected) - expected - lgamma(k + 1))
            for k in range(int(count) + 1)
        ),
    )
