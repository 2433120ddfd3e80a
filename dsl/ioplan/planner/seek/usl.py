"""Gunther's universal scalability law, fitted: information beside a knee.

    throughput(n) = gamma n / (1 + alpha (n - 1) + beta n (n - 1))

`alpha` is contention, `beta` coherency; with beta the throughput has its peak at
sqrt((1 - alpha) / beta) (Gunther, Guerrilla Capacity Planning, 2007, chapter 4).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, sqrt
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Floats: TypeAlias = "npt.NDArray[np.float64]"

LEAST_POINTS = 5
RESAMPLES = 400
SEED = 20260101


class Usl(Struct, frozen=True):
    """A fit; the peak is a depth, `inf` where throughput never falls. Its interval has
    a confidence of 95 %, from the residuals."""

    gamma: float
    alpha: float
    beta: float
    peak: float
    peak_low: float
    peak_high: float


def usl(throughputs: Mapping[float, float]) -> Usl | None:
    """Throughput by depth; None for fewer than five points."""
    known = sorted((n, x) for n, x in throughputs.items() if n > 0 and x > 0)
    if len(known) < LEAST_POINTS:
        return None
    depths, measured = np.array(known, dtype=np.float64).T
    found = _fit(depths, measured)
    off = np.log(measured / _model(found, depths))
    off *= sqrt(len(off) / (len(off) - len(found)))
    rng = np.random.default_rng(SEED)
    again = rng.choice(off, size=(RESAMPLES, len(off)))
    drawn = _model(found, depths) * np.exp(again)
    peaks = sorted(_peak(_fit(depths, one)) for one in drawn)
    gamma, alpha, beta = _law(found)
    low, high = peaks[round(0.025 * RESAMPLES)], peaks[round(0.975 * RESAMPLES) - 1]
    return Usl(gamma, alpha, beta, _peak(found), low, high)


def _terms(depths: Floats) -> Floats:
    return np.column_stack((np.ones_like(depths), depths - 1, depths * (depths - 1)))


def _model(found: Floats, depths: Floats) -> Floats:
    modelled: Floats = depths / (_terms(depths) @ found)
    return modelled


def _fit(depths: Floats, measured: Floats) -> Floats:
    """1 / gamma, alpha / gamma and beta / gamma: depth over throughput is linear in
    them. By least squares of relative errors; none is below 0."""
    rows = _terms(depths) * (measured / depths)[:, None]
    used = [0, 1, 2]
    while True:
        found = np.zeros(3)
        found[used] = np.linalg.lstsq(rows[:, used], np.ones_like(depths), rcond=None)[
            0
        ]
        below = [k for k in used[1:] if found[k] < 0]
        if not below:
            return found
        used.remove(below[-1])


def _law(found: Floats) -> tuple[float, float, float]:
    gamma = 1 / float(found[0])
    return gamma, gamma * float(found[1]), gamma * float(found[2])


def _peak(found: Floats) -> float:
    _, alpha, beta = _law(found)
    return max(1.0, sqrt(max(0.0, 1 - alpha) / beta)) if beta else inf
