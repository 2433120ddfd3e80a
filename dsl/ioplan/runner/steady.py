"""Steady state, as SNIA's Performance Test Specification (PTS 2.0) defines it.

Over the last `window` values: (largest - smallest) / mean is within the range
limit, and the least-squares line rises or falls over the whole window by no more
than the slope limit: |slope| x (window - 1) / mean. The slope of one step is not
what is limited.
"""

from __future__ import annotations

from collections.abc import Sequence

from ioplan.language.plan import SteadyRule
from ioplan.results.record import Steady
from ioplan.runner.figures import Figure

TOLERANCE = 1e-9
"""In percent; a limit that is met exactly is met."""


def least_squares_slope(values: Sequence[float]) -> float:
    """The slope per step of the least-squares line through equidistant values."""
    n = len(values)
    middle, mean = (n - 1) / 2, sum(values) / n
    above = sum((i - middle) * (v - mean) for i, v in enumerate(values))
    return above / sum((i - middle) ** 2 for i in range(n))


def assess(rule: SteadyRule, figures: Sequence[Figure]) -> Steady:
    """Judge the last values; `why` tells what is missing."""
    last = figures[-rule.window :]
    window = tuple(one.value or 0.0 for one in last)
    mean = sum(window) / len(window) if window else 0.0
    slope = least_squares_slope(window) if len(window) > 1 else 0.0
    range_percent, slope_percent = _figures(window, mean, slope)
    why = next((one.why for one in last if one.value is None), "")
    why = why or _why(rule, len(window), mean, range_percent, slope_percent)
    return Steady(
        metric=str(rule.metric),
        unit=rule.metric.unit,
        values=window,
        mean=mean,
        slope=slope,
        range_percent=range_percent,
        slope_percent=slope_percent,
        range_limit_percent=rule.range_percent,
        slope_limit_percent=rule.slope_percent,
        window=rule.window,
        reached=not why,
        why=why,
    )


def _figures(window: Sequence[float], mean: float, slope: float) -> tuple[float, float]:
    if len(window) < 2 or not mean:
        return 0.0, 0.0
    spread = (max(window) - min(window)) / mean * 100
    excursion = abs(slope) * (len(window) - 1) / mean * 100
    return spread, excursion


def _why(
    rule: SteadyRule, n: int, mean: float, range_percent: float, slope_percent: float
) -> str:
    if n < rule.window:
        return f"{n} of {rule.window} values so far"
    if not mean:
        return f"{rule.metric} is 0"
    missing = []
    if range_percent > rule.range_percent + TOLERANCE:
        missing.append(f"range {range_percent:.1f} % > {rule.range_percent:g} %")
    if slope_percent > rule.slope_percent + TOLERANCE:
        missing.append(f"slope {slope_percent:.1f} % > {rule.slope_percent:g} %")
    return ", ".join(missing)
