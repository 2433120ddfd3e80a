"""How far NEW is from BASE, in single cells and over all cells, with its error."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import ceil, exp, inf, isinf, log1p, log2, sqrt
from statistics import fmean

from msgspec import Struct

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


class MetricPair(Struct, frozen=True):
    """A metric of a cell on both sides, comparable if measured by one method."""

    base: MetricSide
    new: MetricSide
    is_comparable: bool = True

    @property
    def has_figures(self) -> bool:
        return bool(self.base.sessions and self.new.sessions)

    @property
    def difference(self) -> float:
        """The logarithm of new / base."""
        return self.new.mean - self.base.mean

    @property
    def is_identical(self) -> bool:
        return self.has_figures and sorted(self.base.figures) == sorted(
            self.new.figures
        )


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
            and pair.is_comparable
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

    @property
    def ratio(self) -> float:
        return exp(self.difference)

    @property
    def interval(self) -> tuple[float, float]:
        """The ratio's interval at 95 % confidence: Student's on the logarithms."""
        half = quantile((1 + CONFIDENCE) / 2, self.degrees) * self.error
        return exp(self.difference - half), exp(self.difference + half)

    def summary(self) -> dict[str, float]:
        """As fields of a row."""
        low, high = self.interval
        noise = percent(Variance(self.noise**2, 0))
        return {"ratio": self.ratio, "low": low, "high": high, "noise_percent": noise}

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
    keys, units = (pair.base.key, pair.new.key), (pair.base.units, pair.new.units)
    own = [variance for key in keys if (variance := noise.own.get(key))]
    session = noise.session(keys[1])
    if not (pair.has_figures and pair.is_comparable and noise.shared and session):
        return None
    if len(own) < len(keys):
        return None
    if keys[0] == keys[1]:
        parts = [_times(own[0], _weight(units))]
    else:
        parts = [_times(one, 1 / count) for one, count in zip(own, units, strict=True)]
    error = total(_times(noise.shared, _weight(units)), *parts)
    tails = _tails(CELL_TAILS, noise.shared, *own)
    return _estimate(pair.difference, error, units, session, tails)


def common_estimate(table: MetricTable) -> Estimate | None:
    """The change that the cells have in common: the geometric mean of their ratios."""
    pairs, shared = table.pooled(), table.noise.shared
    if len(pairs) < FEWEST_CELLS or not shared or shared.degrees < MIN_DEGREES:
        return None
    units = min(p.base.units for p in pairs), min(p.new.units for p in pairs)
    error = _times(shared, _weight(units))
    difference = fmean(pair.difference for pair in pairs)
    return _estimate(difference, error, units, shared, _tails(COMMON_TAILS, shared))


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


def _weight(units: Sequence[int]) -> float:
    """The variance of a difference of means, in variances of one unit."""
    return sum(1 / count for count in units)


def _times(variance: Variance, factor: float) -> Variance:
    return Variance(variance.value * factor, variance.degrees)


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
        if distance > error * _margin(p_value, _rounded(degrees)):
            return count
    return None


def _rounded(degrees: float) -> float:
    return inf if degrees > 300 else float(ceil(degrees))


@lru_cache(1024)
def _margin(p_value: float, degrees: float) -> float:
    return quantile(1 - p_value / 2, degrees) + quantile(POWER, degrees)
