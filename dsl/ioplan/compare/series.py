"""How exact one run is by itself: from its intervals, which depend on each other.

The effective sample size is n / tau, where tau sums the autocorrelations by Geyer's
initial positive sequence (Practical Markov Chain Monte Carlo, Statistical Science 7,
1992). The standard error is of a moving-block bootstrap (Künsch, Annals of
Statistics 17, 1989): blocks of intervals, long enough that they hardly depend on each
other, are drawn with repetition, and the figure is made of them again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from ioplan.language.metric import Metric
from ioplan.measure.tally import READ_WRITE, moved
from ioplan.records.record import Interval

Floats = npt.NDArray[np.float64]

MIN_INTERVALS = 8
RESAMPLES = 400
SEED = 20260101


@dataclass(frozen=True)
class WithinRun:
    """The relative standard error of a run's figure, from its own intervals."""

    error: float
    effective: float
    intervals: int


def within_run(metric: Metric, series: Sequence[Interval]) -> WithinRun | None:
    """None where the series is too short or has not the metric."""
    amounts, weights = _parts(metric, series)
    if len(amounts) < MIN_INTERVALS or not amounts.sum():
        return None
    tau = correlation_time(amounts / weights)
    means = block_means(amounts, weights, ceil(2 * tau))
    error = float(means.std() / means.mean())
    return WithinRun(error, len(amounts) / tau, len(amounts))


def _parts(metric: Metric, series: Sequence[Interval]) -> tuple[Floats, Floats]:
    """Numerators and denominators, whose sums make the figure."""
    pairs = [_part(metric, point) for point in series]
    known = [pair for pair in pairs if pair and pair[1]]
    array = np.array(known, dtype=np.float64).reshape(-1, 2)
    return array[:, 0], array[:, 1]


def _part(metric: Metric, point: Interval) -> tuple[float, float] | None:
    """One interval. Of a percentile, the intervals' own: as scattered, if not the
    same, so that they tell the noise and not the figure."""
    if metric.stream:
        return None
    if metric.name in ("iops", "bandwidth"):
        counted = point.ios if metric.name == "iops" else point.bytes
        asked = (metric.direction,) if metric.direction else READ_WRITE
        return float(moved(counted, asked)), point.length_s
    if metric.direction and set(point.ios) != {metric.direction}:
        return None
    ios = float(moved(point.ios))
    value = {
        "mean": point.mean_ns,
        "p50": point.p50_ns,
        "p99": point.p99_ns,
        "p99.9": point.p99_9_ns,
    }.get(metric.name)
    return None if value is None else (value * ios, ios)


def correlation_time(values: Floats) -> float:
    """How many intervals count as one: 1 if they do not depend on each other."""
    n = len(values)
    off = values - values.mean()
    variance = float(off @ off) / n
    if not variance:
        return 1.0
    rho = [float(off[: n - k] @ off[k:]) / n / variance for k in range(n)]
    total = 0.0
    for k in range(0, n - 1, 2):
        pair = rho[k] + rho[k + 1]
        if pair <= 0:
            break
        total += pair
    return min(max(1.0, 2 * total - 1), n / 2)


def block_means(amounts: Floats, weights: Floats, length: int) -> Floats:
    """The figure of resampled runs, made of blocks of so many intervals."""
    n = len(amounts)
    length = max(round(n ** (1 / 3)), min(length, n // 2))
    count = ceil(n / length)
    rng = np.random.default_rng(SEED)
    starts = rng.integers(0, n - length + 1, size=(RESAMPLES, count))
    places = (starts[:, :, None] + np.arange(length)).reshape(RESAMPLES, -1)[:, :n]
    means: Floats = amounts[places].sum(axis=1) / weights[places].sum(axis=1)
    return means
