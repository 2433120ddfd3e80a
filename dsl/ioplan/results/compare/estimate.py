"""How far NEW is off BASE, in one cell and over all cells, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import ceil, exp, inf, isinf, log1p, log2, sqrt
from statistics import fmean

from msgspec import Struct

from ioplan.core.statistics.shared_variance import Variance
from ioplan.core.statistics.student_t import quantile, tail
from ioplan.language.metric import Metric
from ioplan.results.compare.earlier import RunFigures, key_of
from ioplan.results.compare.noise import (
    FEWEST_CELLS,
    MIN_DEGREES,
    Key,
    MetricNoise,
    added,
)
from ioplan.results.compare.side import CellRuns

# One metric of a pair of cells, as logarithms: a value for each session of a side.
#
# A difference of logarithms is a ratio, and noise that is a share of the figure is
# alike everywhere.


class MetricSide(Struct, frozen=True, dict=True):
    """One side of one metric of one cell: the runs' logarithms, by session.

    `units` is how many of the sessions count, see `order`.
    """

    key: Key
    sessions: tuple[tuple[float, ...], ...]
    units: int = 1
    why: str = ""

    @cached_property
    def figures(self) -> tuple[float, ...]:
        """The mean of the runs of each session."""
        return tuple(map(fmean, self.sessions))

    @property
    def mean(self) -> float:
        """The mean of the sessions' figures."""
        return fmean(self.figures)

    @property
    def value(self) -> float | None:
        """The geometric mean of the sessions."""
        return exp(self.mean) if self.sessions else None


class MetricPair(Struct, frozen=True):
    """A metric of a pair of cells on both sides."""

    base: MetricSide
    new: MetricSide

    @property
    def known(self) -> bool:
        """Whether there is a difference at all."""
        return bool(self.base.sessions and self.new.sessions)

    @property
    def difference(self) -> float:
        """The logarithm of new / base."""
        return self.new.mean - self.base.mean

    @property
    def identical(self) -> bool:
        """Whether not even noise is between them."""
        return self.known and sorted(self.base.figures) == sorted(self.new.figures)


class MetricTable(Struct, frozen=True):
    """A metric of all pairs of cells, and what it differs by of itself."""

    metric: Metric
    pairs: tuple[MetricPair, ...]
    noise: MetricNoise


def metric_side(figures: RunFigures, cell: CellRuns, units: int) -> MetricSide:
    """Read the figures of a cell. Raises StoreError."""
    if cell.failed:  # others of its repeats say nothing of one that failed
        last = cell.failed[-1]
        return MetricSide(key_of(cell), (), why=last.message or last.status)
    found = [figures.logs(runs) for runs in cell.by_session().values()]
    known = tuple(one for one in found if one)
    why = "" if known else _why(figures, cell)
    return MetricSide(key_of(cell), known, max(1, min(units, len(known))), why)


def _why(figures: RunFigures, cell: CellRuns) -> str:
    whys = (figures.of(run).why for run in cell.runs)
    return next(filter(None, whys), f"{figures.metric} is 0")


CONFIDENCE = 0.95
FEW_UNITS = 3
"""The mean of fewer sessions is off as far as one of them may be."""
TAILS_OF_ALL, TAILS_OF_CELL = 3.0, 4.0
"""Now and then a session is far off. Student's t with few degrees of freedom, the usual
model of such tails (Lange, Little and Taylor, Journal of the American Statistical
Association 84, 1989), is then what it is judged by: as many as keep false alarms of
noise with such tails below 5 % (see compare.md), where the noise is that of five
sessions. Each doubling of them adds one degree, as far as that was simulated: what is
far off is then part of the noise that was seen."""
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
        """New / base."""
        return exp(self.difference)

    @property
    def interval(self) -> tuple[float, float]:
        """The ratio's interval at 95 % confidence: Student's on the logarithms."""
        half = quantile((1 + CONFIDENCE) / 2, self.degrees) * self.error
        return exp(self.difference - half), exp(self.difference + half)

    def surely_within(self, threshold: float) -> bool:
        """Whether the whole interval is."""
        return self._ends_before(log1p(threshold) - abs(self.difference))

    def surely_beyond(self, threshold: float) -> bool:
        """Whether the whole interval is."""
        return self._ends_before(abs(self.difference) - log1p(threshold))

    def _ends_before(self, reach: float) -> bool:
        """Much faster than the interval, which is shown of few rows only."""
        if reach < 0 or not self.error:
            return reach >= 0
        return tail(reach / self.error, self.degrees) <= (1 - CONFIDENCE) / 2

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


def of_cell(pair: MetricPair, noise: MetricNoise) -> Estimate | None:
    """A cell by itself. None without a figure or without its noise."""
    keys, units = (pair.base.key, pair.new.key), (pair.base.units, pair.new.units)
    own = [noise.own.get(key) for key in keys]
    one = noise.session(pair.new.key)
    if not pair.known or noise.shared is None or one is None or own[0] is None:
        return None
    parts = [_times(noise.shared, _weight(units))]
    if keys[0] == keys[1]:
        parts += [_times(own[0], _weight(units))]
    else:
        parts += [_times(v, 1 / n) for v, n in zip(own, units, strict=True) if v]
    total = added(*parts)
    tails = _tails(TAILS_OF_CELL, noise.shared, *(v for v in own if v))
    return _estimate(pair.difference, total, units, one, tails)


def of_all(pairs: Sequence[MetricPair], noise: MetricNoise) -> Estimate | None:
    """What the cells have in common: the geometric mean of their ratios."""
    known = pooled(pairs, noise)
    shared = noise.shared
    if len(known) < FEWEST_CELLS or not shared or shared.degrees < MIN_DEGREES:
        return None
    units = [
        min(pair.base.units for pair in known),
        min(pair.new.units for pair in known),
    ]
    total = _times(shared, _weight(units))
    difference = fmean(pair.difference for pair in known)
    return _estimate(difference, total, units, shared, _tails(TAILS_OF_ALL, shared))


def pooled(pairs: Sequence[MetricPair], noise: MetricNoise) -> list[MetricPair]:
    """The pairs whose noise is known: what never ran twice may differ by anything."""
    return [
        pair
        for pair in pairs
        if pair.known and all(noise.guess(one.key) for one in (pair.base, pair.new))
    ]


def _estimate(
    difference: float,
    total: Variance,
    units: Sequence[int],
    one: Variance,
    tails: float,
) -> Estimate:
    few = min(units) < FEW_UNITS
    degrees = min(total.degrees, tails) if few else total.degrees
    return Estimate(difference, sqrt(total.value), degrees, sqrt(one.value))


def _tails(least: float, *known: Variance) -> float:
    """The degrees of freedom that judge few sessions; given noise adds none."""
    seen = min(one.degrees for one in known)
    if isinf(seen):
        return least
    return least + max(0.0, log2(min(seen, MOST_DEGREES) / FIRST_DEGREES))


def _weight(units: Sequence[int]) -> float:
    """The variance of a difference of means, in variances of one unit."""
    return sum(1 / count for count in units)


def _times(one: Variance, factor: float) -> Variance:
    return Variance(one.value * factor, one.degrees)


# How many sessions a side decide: what a difference needs to stand out of noise.

FOUND = 0.95
"""So often is a difference found that is as large as asked."""
MOST = 50
"""More sessions a side are not proposed."""
ASSUMED_PERCENT = 2.0
ASSUMED = Variance(log1p(ASSUMED_PERCENT / 100) ** 2, 0.0)
"""The assumed variance of one session's figure, with no degrees of freedom."""


class Aim(Struct, frozen=True):
    """What is to be told: a change of `size` beside those of at most `threshold`.

    Both are logarithms; `level` is what of the 5 % there is for this one row.
    """

    size: float
    threshold: float
    level: float


def sessions_needed(noise: Variance, aim: Aim) -> int | None:
    """A side, alternating; None of more than can be asked for.

    `noise` is of one session, with the degrees of freedom that are known already:
    each further session adds its own. A change beyond the threshold is called, and
    one within it is found to be equal.
    """
    reach, level = aim.size - aim.threshold, aim.level
    if reach < 0:
        reach, level = -reach, 0.05
    for each in range(FEW_UNITS, MOST + 1):
        error = sqrt(2 * noise.value / each)
        degrees = noise.degrees + 2 * (each - 1)
        if reach > error * _margin(level, _rounded(degrees)):
            return each
    return None


def _rounded(degrees: float) -> float:
    return inf if degrees > 300 else float(ceil(degrees))


@lru_cache(1024)
def _margin(level: float, degrees: float) -> float:
    """In standard errors: to be called at that level, and FOUND of the time."""
    return quantile(1 - level / 2, degrees) + quantile(FOUND, degrees)
