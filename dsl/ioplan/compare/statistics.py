"""How much one run differs from the next: estimated, never assumed.

In this order: from the cell's own runs, three at least; from the repeats of other
cells; from how the cells' differences scatter about what they have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log1p, sqrt
from statistics import median

from ioplan.compare.figure import MIN_OWN_UNITS, MetricPair, MetricSide
from ioplan.core.student_t import quantile, tail

MIN_DEGREES = 4.0
MIN_CELLS = 6
PRIOR_DEGREES = 2.0
"""The weight of the usual variance beside a cell's own, which has its runs less 1.

After Smyth, Statistical Applications in Genetics and Molecular Biology 3 (2004),
who estimates the weight and adds it to the degrees of freedom; here it only widens.
"""
NORMAL_MAD = 1.4826
"""Times the median absolute deviation is the standard deviation of a normal one."""
MAD_EFFICIENCY = 0.37
"""Degrees of freedom of the median absolute deviation, as a share of the usual."""


@dataclass(frozen=True)
class Noise:
    """The variance of the logarithm of one unit, and how well that is known."""

    variance: float
    degrees: float
    source: str


class NoiseModel:
    """The noise of one metric over all cells of a comparison.

    `given_percent` takes the place of what cannot be estimated. With several
    sessions a side, the units that are counted are sessions.
    """

    def __init__(
        self, cells: Sequence[MetricPair], sessions: int, given_percent: float | None
    ) -> None:
        self.median_variance = _median_variance(cells)
        self.fallback = (
            _given(given_percent) or _repeats(cells, sessions) or _scatter(cells)
        )

    def of(self, part: MetricSide) -> Noise | None:
        """The noise of one side of a cell; None if it cannot be estimated."""
        if len(part.logs) >= MIN_OWN_UNITS:
            return self._shrunken(part)
        if self.fallback is None:
            return None
        own = part.within.error**2 if part.within else 0.0
        least = max(self.fallback.variance, own, part.floor)
        return Noise(least, self.fallback.degrees, self.fallback.source)

    def _shrunken(self, part: MetricSide) -> Noise:
        """Three runs may agree by chance: drawn to what is usual, and no surer."""
        degrees = len(part.logs) - 1
        drawn = (
            PRIOR_DEGREES * max(self.median_variance, part.floor)
            + degrees * part.variance
        )
        return Noise(drawn / (PRIOR_DEGREES + degrees), degrees, "own repeats")


def _median_variance(cells: Sequence[MetricPair]) -> float:
    """The median of the variances of those that are known by themselves."""
    parts = (part for cell in cells for part in (cell.base, cell.new))
    known = [part.variance for part in parts if len(part.logs) >= MIN_OWN_UNITS]
    return median(known) if known else 0.0


def _given(percent: float | None) -> Noise | None:
    return None if percent is None else Noise(log1p(percent / 100) ** 2, inf, "given")


def _repeats(cells: Sequence[MetricPair], sessions: int) -> Noise | None:
    """Pooled over all cells. Cells of one session are no independent sessions."""
    parts = [p for cell in cells for p in (cell.base, cell.new) if len(p.logs) > 1]
    degrees = sum(len(part.logs) - 1 for part in parts)
    if not degrees or (sessions == 2 and degrees < MIN_DEGREES):
        return None
    pooled = sum((len(p.logs) - 1) * p.variance for p in parts) / degrees
    counted = degrees if sessions == 2 else min(degrees, sessions - 2)
    return Noise(pooled, counted, "repeats of other cells")


def _scatter(cells: Sequence[MetricPair]) -> Noise | None:
    """Twice the noise of a run is in each difference of two; outliers do not count."""
    known = [cell for cell in cells if cell.known]
    if len(known) < MIN_CELLS:
        return None
    shift = median(cell.difference for cell in known)
    off = [abs(cell.difference - shift) / _width(cell) for cell in known]
    deviation = NORMAL_MAD * median(off)
    return Noise(deviation**2, MAD_EFFICIENCY * (len(known) - 1), "scatter of cells")


def _width(cell: MetricPair) -> float:
    return float((1 / len(cell.base.logs) + 1 / len(cell.new.logs)) ** 0.5)


CONFIDENCE = 0.95
SESSION_VARIANCE = 3.0
"""What sessions differ by beside their runs, as a multiple of the runs' variance.

Two sessions cannot show it; it was measured on a file (see compare.md). Several
sessions a side can, and then nothing is assumed.
"""


@dataclass(frozen=True)
class Estimate:
    """The logarithm of new / base, its standard error and degrees of freedom."""

    difference: float
    error: float
    degrees: float
    source: str
    noise: float

    @property
    def ratio(self) -> float:
        """New / base."""
        return exp(self.difference)

    @property
    def interval(self) -> tuple[float, float]:
        """Of the ratio, with a confidence of 95 %: Student's on the logarithms."""
        half = quantile((1 + CONFIDENCE) / 2, self.degrees) * self.error
        return exp(self.difference - half), exp(self.difference + half)

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


def estimate(both: MetricPair, model: NoiseModel, by_session: bool) -> Estimate | None:
    """Welch's: each side has its own variance. None without a figure or a noise."""
    if not both.known:
        return None
    sides = [(both.base, model.of(both.base)), (both.new, model.of(both.new))]
    known = [(part, noise) for part, noise in sides if noise]
    if len(known) < 2:
        return None
    shares = [_share(part, noise, by_session) for part, noise in known]
    noises = [noise for _, noise in known]
    worst = max(noises, key=lambda noise: noise.variance)
    return Estimate(
        difference=both.difference,
        error=sqrt(sum(shares)),
        degrees=_degrees(shares, noises),
        source=worst.source,
        noise=sqrt(worst.variance),
    )


def _share(part: MetricSide, noise: Noise, by_session: bool) -> float:
    """The variance of the mean; of one session, with what sessions differ by."""
    return noise.variance * (
        1 / len(part.logs) + (0.0 if by_session else SESSION_VARIANCE)
    )


def _degrees(shares: Sequence[float], noises: Sequence[Noise]) -> float:
    """Welch and Satterthwaite's; two sides with one estimate have its degrees."""
    if noises[0].source == noises[1].source != "own repeats":
        return noises[0].degrees
    below = sum(s**2 / n.degrees for s, n in zip(shares, noises, strict=True))
    return sum(shares) ** 2 / below if below else inf


def holm(chances: Sequence[float]) -> list[float]:
    """Adjusted for their number, so that one below 5 % errs in 5 % of comparisons.

    Holm, Scandinavian Journal of Statistics 6 (1979). It holds however the
    tests depend on each other.
    """
    order = sorted(range(len(chances)), key=chances.__getitem__)
    adjusted, least = [1.0] * len(chances), 0.0
    for place, which in enumerate(order):
        least = max(least, min(1.0, (len(chances) - place) * chances[which]))
        adjusted[which] = least
    return adjusted
