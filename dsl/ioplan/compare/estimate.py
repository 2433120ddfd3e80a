"""The ratio of two sides, its interval, and the chance of seeing it by noise alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log1p, sqrt

from ioplan.compare.figure import Both, Part
from ioplan.compare.noise import Noise, NoiseModel
from ioplan.runner.student import quantile, tail

CONFIDENCE = 0.95
SESSION = 3.0
"""What sessions differ by beside their runs, as a multiple of the runs' variance.

Two sessions cannot tell it; it was measured on a file (see compare.md). Several
sessions a side can, and then nothing is taken for granted.
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

    def chance(self, threshold: float) -> float:
        """At most, if the true ratio is within the threshold: a minimum-effect test.

        Murphy and Myors, Journal of Applied Psychology 84 (1999).
        """
        limit = log1p(threshold)
        if not self.error:
            return float(abs(self.difference) <= limit)
        far = (abs(self.difference) + limit) / self.error
        near = (abs(self.difference) - limit) / self.error
        return 1.0 if near < 0 else tail(near, self.degrees) + tail(far, self.degrees)


def estimate(both: Both, model: NoiseModel, by_session: bool) -> Estimate | None:
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


def _share(part: Part, noise: Noise, by_session: bool) -> float:
    """The variance of the mean; of one session, with what sessions differ by."""
    return noise.variance * (1 / len(part.logs) + (0.0 if by_session else SESSION))


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
