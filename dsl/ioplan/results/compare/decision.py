"""Decide for each cell, and for all cells together, whether the two sides differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from math import ceil, comb, exp, inf, isinf, log1p, log2, sqrt
from statistics import fmean
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ioplan.core.statistics.shared_variance import Variance
from ioplan.core.statistics.student_t import quantile, tail
from ioplan.language.metric import Metric
from ioplan.results.compare.noise import (
    FEWEST_CELLS,
    MIN_DEGREES,
    MetricNoise,
    percent,
    total,
)
from ioplan.results.compare.side import Key

# A metric of a pair of cells, as logarithms: a difference of logarithms is a ratio, and
# noise that is a share of the figure is the same everywhere.


class MetricSide(Struct, frozen=True, dict=True):
    """One side of a metric of a cell: the runs' logarithms, by session.

    `units` is how many of the sessions count, see `judge.units`; `why` is why there is
    no figure.
    """

    key: Key
    sessions: tuple[tuple[float, ...], ...]
    units: int = 1
    why: str = ""

    @cached_property
    def figures(self) -> tuple[float, ...]:
        return tuple(map(fmean, self.sessions))

    @property
    def mean(self) -> float:
        return fmean(self.figures)

    @property
    def value(self) -> float | None:
        """The geometric mean of the sessions."""
        return exp(self.mean) if self.sessions else None

    @property
    def count(self) -> int:
        """How many sessions count."""
        return self.units if self.sessions else 0


class MetricPair(Struct, frozen=True):
    """A metric of a cell on both sides; `obstacle` is why it is not judged."""

    base: MetricSide
    new: MetricSide
    obstacle: str = ""

    @property
    def has_figures(self) -> bool:
        return bool(self.base.sessions and self.new.sessions)

    @property
    def difference(self) -> float:
        """The logarithm of new / base."""
        return self.new.mean - self.base.mean

    @property
    def is_identical(self) -> bool:
        base, new = sorted(self.base.figures), sorted(self.new.figures)
        return self.has_figures and base == new


class MetricTable(Struct, frozen=True):
    metric: Metric
    pairs: tuple[MetricPair, ...]
    noise: MetricNoise

    def pooled(self) -> list[MetricPair]:
        """The pairs that count for all cells: those whose noise is known."""
        return [
            pair
            for pair in self.pairs
            if pair.has_figures
            and not pair.obstacle
            and all(self.noise.guess(side.key) for side in (pair.base, pair.new))
        ]


CONFIDENCE = 0.95
FEW_UNITS = 3
"""The mean of fewer sessions is off as far as one of them may be."""
COMMON_TAILS, CELL_TAILS = 3.0, 4.0
"""Now and then a session is far off. Student's t with few degrees of freedom, the usual
model of such tails (Lange, Little and Taylor, Journal of the American Statistical
Association 84, 1989), is then what it is judged by: as many as keep false alarms of
noise with such tails below 5 % (see compare.md), where the noise is that of five
sessions. Each doubling of them adds one degree, as far as that was simulated: outliers
are then part of the noise that was observed."""
FIRST_DEGREES, MOST_DEGREES = 4.0, 19.0
"""Degrees of freedom of five sessions, and of twenty."""


class Estimate(Struct, frozen=True):
    """The logarithm of new / base, its standard error and degrees of freedom.

    `noise` is the standard deviation of one session's figure, as a logarithm.
    """

    difference: float
    error: float
    degrees: float
    noise: float

    def summary(self) -> dict[str, float]:
        """As fields of a row: the ratio's interval at 95 % confidence is Student's on
        the logarithms."""
        half = quantile((1 + CONFIDENCE) / 2, self.degrees) * self.error
        ends = {"ratio": 0.0, "low": -half, "high": half}
        fields = {name: exp(self.difference + end) for name, end in ends.items()}
        return fields | {"noise_percent": percent(Variance(self.noise**2, 0))}

    def is_within(self, threshold: float) -> bool:
        return self._exceeds_half_interval(log1p(threshold) - abs(self.difference))

    def is_beyond(self, threshold: float) -> bool:
        return self._exceeds_half_interval(abs(self.difference) - log1p(threshold))

    def _exceeds_half_interval(self, distance: float) -> bool:
        """By the tail, which is much faster than the interval."""
        if distance < 0 or not self.error:
            return distance >= 0
        return tail(distance / self.error, self.degrees) <= (1 - CONFIDENCE) / 2

    def p_value(self, threshold: float) -> float:
        """At most, if the true ratio is within the threshold: a minimum-effect test.

        Murphy and Myors, Journal of Applied Psychology 84 (1999).
        """
        limit = log1p(threshold)
        if not self.error:
            return float(abs(self.difference) <= limit)
        far = (abs(self.difference) + limit) / self.error
        near = (abs(self.difference) - limit) / self.error
        return 1.0 if near < 0 else tail(near, self.degrees) + tail(far, self.degrees)


def cell_estimate(pair: MetricPair, noise: MetricNoise) -> Estimate | None:
    """The change of one cell. None without a figure or without its noise."""
    sides = pair.base, pair.new
    own = [variance for side in sides if (variance := noise.own.get(side.key))]
    session = noise.session(pair.new.key)
    if pair.obstacle or not (pair.has_figures and noise.shared and session):
        return None
    if len(own) < len(sides):
        return None
    units = [side.units for side in sides]
    parts = [_of_mean(own[0], *units)]
    if pair.base.key != pair.new.key:
        parts = list(map(_of_mean, own, units))
    error = total(_of_mean(noise.shared, *units), *parts)
    tails = _tails(CELL_TAILS, noise.shared, *own)
    return _estimate(pair.difference, error, units, session, tails)


def common_estimate(table: MetricTable) -> Estimate | None:
    """The change that the cells have in common: the geometric mean of their ratios."""
    pairs, shared = table.pooled(), table.noise.shared
    if len(pairs) < FEWEST_CELLS or not shared or shared.degrees < MIN_DEGREES:
        return None
    units = min(p.base.units for p in pairs), min(p.new.units for p in pairs)
    error, tails = _of_mean(shared, *units), _tails(COMMON_TAILS, shared)
    difference = fmean(pair.difference for pair in pairs)
    return _estimate(difference, error, units, shared, tails)


def _estimate(
    difference: float,
    error: Variance,
    units: Sequence[int],
    session: Variance,
    tails: float,
) -> Estimate:
    is_few = min(units) < FEW_UNITS
    degrees = min(error.degrees, tails) if is_few else error.degrees
    return Estimate(difference, sqrt(error.value), degrees, sqrt(session.value))


def _tails(fewest: float, *variances: Variance) -> float:
    """The degrees of freedom that few sessions are judged by.

    Noise that is assumed adds none to the fewest.
    """
    degrees = min(variance.degrees for variance in variances)
    if isinf(degrees):
        return fewest
    return fewest + max(0.0, log2(min(degrees, MOST_DEGREES) / FIRST_DEGREES))


def _of_mean(variance: Variance, *units: int) -> Variance:
    """The variance of a mean of so many units, or of a difference of two means."""
    return Variance(variance.value * sum(1 / n for n in units), variance.degrees)


# How many sessions a side are needed for a decision.

POWER = 0.95
"""The chance that a change of the size that is looked for is detected."""
MOST = 50
"""More sessions a side are not proposed."""
ASSUMED_PERCENT = 2.0
ASSUMED = Variance(log1p(ASSUMED_PERCENT / 100) ** 2, 0.0)
"""The assumed variance of one session's figure, with no degrees of freedom."""


def sessions_needed(
    noise: Variance, size: float, threshold: float, p_value: float
) -> int | None:
    """The sessions a side, alternating; None of more than MOST.

    A change of `size`, a logarithm, is to be different at the p-value if it is beyond
    the threshold, and else equal. `noise` is of one session, with the degrees of
    freedom that are known already; the further sessions add theirs.
    """
    distance = size - threshold
    if distance < 0:
        distance, p_value = -distance, 0.05
    for count in range(FEW_UNITS, MOST + 1):
        error = sqrt(2 * noise.value / count)
        degrees = noise.degrees + 2 * (count - 1)
        rounded = inf if degrees > 300 else float(ceil(degrees))
        if distance > error * _margin(p_value, rounded):
            return count
    return None


@lru_cache(1024)
def _margin(p_value: float, degrees: float) -> float:
    return quantile(1 - p_value / 2, degrees) + quantile(POWER, degrees)


# Whether the two sides differ.

Outcome = Literal["different", "suspected", "equal", "inconclusive", "not judged"]

ALPHA = 1 - CONFIDENCE
COMMON_SHARE, CELL_SHARE = 0.5, 0.3
"""Shares of ALPHA. The rest is a reserve: the noise itself is estimated from few
sessions."""
FEWEST_KNOWN = 20
"""With noise from fewer sessions, one session of a side makes a change suspected at
most. In 19 of 20 cases, so many sessions show bad nights that are a share of 14 %."""
AGREEMENT = 2 / 3
"""The share of cells that must change in the direction of the common change."""

OTHER_METHOD = "measured by another backend or mode, so it is no verdict on the drive"
UNKNOWN_NOISE = "run-to-run variation unknown"
FEW_SESSIONS = "run-to-run variation known from too few sessions"
AMONG_MANY = "significant alone, not among this many comparisons"
MAYBE_OUTLIER = "may be one outlying session"
DISAGREEMENT = "cells disagree in direction"
SINGLE_CELL = "driven by a single cell"
WITHIN_NOISE = "no larger than the run-to-run variation"


class Decision(Struct, frozen=True):
    """An outcome, its estimate, the p-value adjusted for all comparisons, and why it is
    inconclusive."""

    outcome: Outcome
    estimate: Estimate | None = None
    p_value: float | None = None
    reason: str = ""


class TableDecisions(Struct, frozen=True):
    table: MetricTable
    common: Decision | None
    cells: tuple[Decision, ...]


def decide(tables: Sequence[MetricTable], threshold: float) -> list[TableDecisions]:
    """Decide all cells of all metrics, with a family-wise error rate of ALPHA.

    `threshold` is the relative change that still counts as equal (0.02 is 2 %).
    Changes common to all cells are tested first (Hochberg 1988), then single cells
    (Holm 1979).
    """
    common = [common_estimate(table) for table in tables]
    single = [[cell_estimate(p, table.noise) for p in table.pairs] for table in tables]
    share = CELL_SHARE if any(common) else CELL_SHARE + COMMON_SHARE
    common_p = _adjusted(hochberg, common, threshold, COMMON_SHARE)
    single_p = _adjusted(holm, [e for row in single for e in row], threshold, share)
    decisions = []
    for table, estimate, row in zip(tables, common, single, strict=True):
        decided = None
        if estimate:
            decided = _decide_common(estimate, next(common_p), table, threshold)
        cells = (
            _decide_cell(pair, own, single_p, table, threshold)
            for pair, own in zip(table.pairs, row, strict=True)
        )
        decisions.append(TableDecisions(table, decided, tuple(cells)))
    return decisions


def _adjusted(
    method: Callable[[Sequence[float]], list[float]],
    estimates: Sequence[Estimate | None],
    threshold: float,
    share: float,
) -> Iterator[float]:
    p_values = [estimate.p_value(threshold) for estimate in estimates if estimate]
    return (min(1.0, p_value / share) for p_value in method(p_values))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values, valid however the tests depend on each other.

    Holm, Scandinavian Journal of Statistics 6 (1979).
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.minimum(1.0, factors * np.asarray(p_values)[order])
    return _in_order(np.maximum.accumulate(adjusted), order)


def hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values by the step-up procedure; never larger than Holm's.

    Hochberg, Biometrika 75 (1988). Valid for tests that are independent or positively
    dependent (Sarkar, Annals of Statistics 26, 1998), as metrics of one load are.
    """
    order = np.argsort(p_values, kind="stable")[::-1]
    adjusted = np.arange(1, len(p_values) + 1) * np.asarray(p_values)[order]
    return _in_order(np.minimum(1.0, np.minimum.accumulate(adjusted)), order)


def _in_order(adjusted: NDArray[np.float64], order: NDArray[np.intp]) -> list[float]:
    numbers: list[float] = adjusted[np.argsort(order)].tolist()
    return numbers


def _decide_common(
    estimate: Estimate, p_value: float, table: MetricTable, threshold: float
) -> Decision:
    differences = [pair.difference for pair in table.pooled()]
    agreeing = sum(d * estimate.difference > 0 for d in differences)
    if p_value <= ALPHA and agreeing < AGREEMENT * len(differences):
        return Decision("inconclusive", estimate, p_value, DISAGREEMENT)
    decision = _classify(estimate, p_value, threshold)
    if decision.outcome == "different":
        *others, _largest = sorted(differences, key=lambda d: d * estimate.difference)
        without_largest = replace(estimate, difference=fmean(others))
        if without_largest.p_value(threshold) > ALPHA:
            return Decision("inconclusive", estimate, p_value, SINGLE_CELL)
    judged = [pair for pair in table.pairs if not pair.obstacle]
    return _suspected_at_most(decision, judged, table)


def _decide_cell(
    pair: MetricPair,
    estimate: Estimate | None,
    p_values: Iterator[float],
    table: MetricTable,
    threshold: float,
) -> Decision:
    if pair.obstacle:
        return Decision("not judged", reason=pair.obstacle)
    p_value = next(p_values) if estimate else None
    if pair.is_identical:
        return Decision("equal", estimate, p_value)
    if estimate is None or p_value is None:
        has_noise = table.noise.guess(pair.new.key)
        reason = FEW_SESSIONS if has_noise else UNKNOWN_NOISE
        return Decision("inconclusive", reason=reason)
    decision = _classify(estimate, p_value, threshold)
    if decision.outcome == "different" and not _is_separated(pair):
        return Decision("inconclusive", estimate, p_value, MAYBE_OUTLIER)
    return _suspected_at_most(decision, [pair], table)


def _classify(estimate: Estimate, p_value: float, threshold: float) -> Decision:
    if p_value <= ALPHA:
        return Decision("different", estimate, p_value)
    if estimate.is_within(threshold):
        return Decision("equal", estimate, p_value)
    reason = AMONG_MANY if estimate.is_beyond(threshold) else WITHIN_NOISE
    return Decision("inconclusive", estimate, p_value, reason)


def _suspected_at_most(
    decision: Decision, pairs: Sequence[MetricPair], table: MetricTable
) -> Decision:
    """A change that a single session of a side shows, until the noise is well known."""
    sides = (side for pair in pairs for side in (pair.base, pair.new))
    is_single = any(len(side.sessions) == 1 for side in sides)
    is_known = table.noise.sessions >= FEWEST_KNOWN
    if decision.outcome != "different" or not is_single or is_known:
        return decision
    reason = (
        f"1 session on a side, and variation known from {table.noise.sessions:g} "
        f"sessions instead of {FEWEST_KNOWN}; run it again"
    )
    return replace(decision, outcome="suspected", reason=reason)


def _is_separated(pair: MetricPair) -> bool:
    """Whether more than one of a few sessions a side differs, by their ranks."""
    base, new = pair.base.figures, pair.new.figures
    is_few = min(len(base), len(new)) < FEW_UNITS
    return is_few or rank_p_value(base, new) <= ALPHA


def rank_p_value(base: Sequence[float], new: Sequence[float]) -> float:
    """The exact one-sided p-value of the rank test, which one outlier does not lower.

    Mann and Whitney, Annals of Mathematical Statistics 18 (1947).
    """
    above = sum((b < n) + (b == n) / 2 for b in base for n in new)
    u = min(above, len(base) * len(new) - above)
    orders = sum(_orders(len(base), len(new), at) for at in range(int(u) + 1))
    return orders / comb(len(base) + len(new), len(base))


@lru_cache(None)
def _orders(m: int, n: int, u: int) -> int:
    if u < 0:
        return 0
    if not m or not n:
        return int(u == 0)
    return _orders(m - 1, n, u - n) + _orders(m, n - 1, u)
