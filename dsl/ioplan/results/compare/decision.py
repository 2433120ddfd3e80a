"""Decide for each cell, and for all cells together, whether the two sides differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from math import comb
from statistics import fmean
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ioplan.results.compare.estimate import (
    CONFIDENCE,
    FEW_UNITS,
    Estimate,
    MetricPair,
    MetricTable,
    cell_estimate,
    common_estimate,
)

Outcome = Literal["different", "suspected", "equal", "inconclusive"]

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
    single = [
        [cell_estimate(pair, table.noise) for pair in table.pairs] for table in tables
    ]
    share = CELL_SHARE if any(common) else CELL_SHARE + COMMON_SHARE
    common_p = _adjusted(hochberg, common, threshold, COMMON_SHARE)
    single_p = _adjusted(holm, [e for row in single for e in row], threshold, share)
    return [
        TableDecisions(
            table,
            _decide_common(estimate, next(common_p), table, threshold)
            if estimate
            else None,
            tuple(
                _decide_cell(pair, own, single_p, table, threshold)
                for pair, own in zip(table.pairs, row, strict=True)
            ),
        )
        for table, estimate, row in zip(tables, common, single, strict=True)
    ]


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
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, running_max = [1.0] * len(p_values), 0.0
    for rank, at in enumerate(order):
        running_max = max(running_max, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = running_max
    return adjusted


def hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values by the step-up procedure; never larger than Holm's.

    Hochberg, Biometrika 75 (1988). Valid for tests that are independent or positively
    dependent (Sarkar, Annals of Statistics 26, 1998), as metrics of one load are.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__, reverse=True)
    adjusted, running_min = [1.0] * len(p_values), 1.0
    for rank, at in enumerate(order):
        running_min = min(running_min, (rank + 1) * p_values[at])
        adjusted[at] = running_min
    return adjusted


def _decide_common(
    estimate: Estimate, p_value: float, table: MetricTable, threshold: float
) -> Decision:
    differences = [pair.difference for pair in table.pooled()]
    agreeing = sum(d * estimate.difference > 0 for d in differences)
    if p_value <= ALPHA and agreeing < AGREEMENT * len(differences):
        return Decision("inconclusive", estimate, p_value, DISAGREEMENT)
    decision = _classify(estimate, p_value, threshold)
    if decision.outcome == "different" and _is_driven_by_one_cell(
        estimate, differences, threshold
    ):
        return Decision("inconclusive", estimate, p_value, SINGLE_CELL)
    comparable = [pair for pair in table.pairs if pair.is_comparable]
    return _suspected_at_most(decision, comparable, table)


def _is_driven_by_one_cell(
    estimate: Estimate, differences: Sequence[float], threshold: float
) -> bool:
    *others, _largest = sorted(differences, key=lambda d: d * estimate.difference)
    without_largest = replace(estimate, difference=fmean(others))
    return without_largest.p_value(threshold) > ALPHA


def _decide_cell(
    pair: MetricPair,
    estimate: Estimate | None,
    p_values: Iterator[float],
    table: MetricTable,
    threshold: float,
) -> Decision:
    if not pair.is_comparable:
        return Decision("inconclusive", reason=OTHER_METHOD)
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
    is_single = any(
        len(side.sessions) == 1 for pair in pairs for side in (pair.base, pair.new)
    )
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
