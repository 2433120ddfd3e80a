"""Whether the mean of a cell over rounds is known well enough to stop repeating it.

It is looked at after each round from the third on. So that all looks together err in
at most 5 % of cells, the k-th has a chance of 5 % / (k (k + 1)) (Bonferroni; Student's
t). The first third of the rounds is left out, as a drive may still drift there, and
what the rest drifts counts like uncertainty.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import sqrt

from ioplan.core.statistics.student_t import quantile
from ioplan.language.plan import Within
from ioplan.records.record import Decided
from ioplan.results.measure.metrics import Figure
from ioplan.results.measure.steady_state import least_squares_slope

LEAST = 3
"""The rounds before which nothing is decided."""
RISK = 0.05
"""The share of cells that may be decided although their mean is farther off."""


def decide(within: Within, figures: Sequence[Figure]) -> Decided:
    """What is known of a cell by the figures of its rounds; `why` says what is not."""
    last = figures[-max(LEAST, (2 * len(figures) + 2) // 3) :]
    values = tuple(one.value or 0.0 for one in last)
    mean = sum(values) / len(values)
    failed = next((one.why for one in last if one.value is None), "")
    enough = len(values) >= LEAST and mean > 0
    half = _half_width(values, len(figures)) / mean * 100 if enough else 0.0
    slope = least_squares_slope(values) if enough else 0.0
    drift = abs(slope) * (len(values) - 1) / mean * 100 if enough else 0.0
    why = failed or _why(within, len(values), mean, half + drift)
    return Decided(
        metric=str(within.metric),
        unit=within.metric.unit,
        values=values,
        mean=mean,
        half_width_percent=half,
        drift_percent=drift,
        within_percent=within.percent,
        reached=not why,
        why=why,
    )


def _why(within: Within, count: int, mean: float, known: float) -> str:
    if count < LEAST:
        return f"{count} of {LEAST} values so far"
    if mean <= 0:
        return f"{within.metric} is 0"
    if known > within.percent:
        return f"known within {known:.1f} %, not {within.percent:g} %"
    return ""


def _half_width(values: Sequence[float], rounds: int) -> float:
    """Half the width of the mean's confidence interval at this look."""
    count, mean = len(values), sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (count - 1)
    return _t(rounds - LEAST + 1, count - 1) * sqrt(variance / count)


@cache
def _t(look: int, degrees: int) -> float:
    return quantile(1 - RISK / (look * (look + 1)) / 2, degrees)
