"""The levels of a series: where its mean changes for good, as when a cache is full."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import sqrt
from statistics import fmean

from ioplan.core.statistics.student_t import tail
from ioplan.core.units import bandwidth_text
from ioplan.planner.seek.batch_means import MIN_BATCHES, variance_of_sum
from ioplan.records.record import Interval

LEAST = 5
"""Fewer intervals are not what a run sustains."""
LEAST_BEFORE = 2
LEAST_CHANGE = 0.1
"""A smaller change of the mean is no other level."""
MOST_CHANGES = 4
CHANCE = 1e-4
"""That noise alone looks like the change, over all places where it might be."""


def levels(values: list[float]) -> list[list[float]]:
    """A series, apart where its mean changes for good."""
    return _parts(values, changes(values))


def changes(values: list[float]) -> list[int]:
    """The places in a series at which its mean changes for good.

    Where it changes most is looked for first. Of these changes the smallest are given
    up until noise explains none: what is left around the means, with the dependence of
    neighbours (batch means).
    """
    cuts = _candidates(values)
    while cuts:
        chances = [_chance(values, cuts, k) for k in range(1, len(cuts) + 1)]
        weakest = max(range(len(cuts)), key=lambda k: chances[k])
        if chances[weakest] * len(values) < CHANCE:
            break
        del cuts[weakest]
    return cuts


def _parts(values: list[float], cuts: list[int]) -> list[list[float]]:
    return [values[a:b] for a, b in pairwise((0, *cuts, len(values)))]


def _candidates(values: list[float]) -> list[int]:
    """Where the mean changes most, by least squares, one place after another."""
    cuts: list[int] = []
    if len(values) < MIN_BATCHES + LEAST_BEFORE:
        return cuts
    for _ in range(MOST_CHANGES):
        ends = pairwise((0, *cuts, len(values)))
        gains = [best for a, b in ends if (best := _best(values, a, b))]
        if not gains:
            break
        cuts = sorted([*cuts, max(gains)[1]])
    return cuts


def _best(values: list[float], start: int, end: int) -> tuple[float, int] | None:
    """How much of the squares a change in a part explains, and where it is."""
    count, sums = end - start, [0.0, *accumulate(values[start:end])]
    least = LEAST if end == len(values) else LEAST_BEFORE
    places = range(LEAST_BEFORE, count - least + 1)
    gains = (
        ((sums[k] - sums[-1] * k / count) ** 2 * count / (k * (count - k)), start + k)
        for k in places
    )
    return max(gains, default=None)


def _chance(values: list[float], cuts: list[int], number: int) -> float:
    """The chance that noise looks like the change; 1 if the change is too small."""
    parts = _parts(values, cuts)
    means = [fmean(part) for part in parts]
    before, after = means[number - 1], means[number]
    if abs(before - after) < LEAST_CHANGE * max(before, after):
        return 1.0
    left = [v - m for part, m in zip(parts, means, strict=True) for v in part]
    variance, degrees = variance_of_sum(left)
    sizes = 1 / len(parts[number - 1]) + 1 / len(parts[number])
    error = sqrt(variance / len(values) * sizes)
    return tail(abs(before - after) / error, degrees) if error else 0.0


MOST_OFF = 0.1
"""A last level that is further from the mean of a run is not what the run had."""


def changed_within(series: Sequence[Interval]) -> str:
    """`2413 MB/s, then 673 MB/s`: a run whose last level is another than its mean, as
    when a cache was full; empty of any other."""
    whole = [one for one in series if one.length_s][:-1]
    rates = [sum(one.bytes.values()) / one.length_s for one in whole]
    parts = levels(rates)
    if len(parts) < 2:
        return ""
    first, last = fmean(parts[0]), fmean(parts[-1])
    if abs(fmean(rates) - last) <= MOST_OFF * last:
        return ""
    return f"{bandwidth_text(first)} MB/s, then {bandwidth_text(last)} MB/s"
