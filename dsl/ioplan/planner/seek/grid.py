"""The values that a seek may try: all cells have the same, whatever they start from.

A grid makes both kinds of axes one: what is next to a value is one index away, and
halving the indices halves the logarithm where steps are in percent.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from math import ceil, floor, log
from typing import Literal

from msgspec import Struct

WITHIN = 0.05
CONFIRMATIONS = 8
DIGITS = 4
"""Digits of a value that is no whole number of steps: what a person reads."""
SLACK = 1e-9

Direction = Literal["highest", "lowest"]


class Bounds(Struct, frozen=True):
    """What is sought, and where.

    `step` is what values are multiples of: 1 for a depth, a block for a size; 0 if any
    value will do. `within` is the resolution, as a share: two neighbours are at most so
    far apart. With 0 every multiple of `step` counts. Where `values` are listed,
    smallest first, they are all there are. `at_most` limits the probes. Where the
    condition also `asks_for_load`, as for IOPS, it may not hold yet where the search
    begins.
    """

    lowest: float
    highest: float
    within: float = WITHIN
    step: float = 0.0
    direction: Direction = "highest"
    at_most: int | None = None
    confirmations: int = CONFIRMATIONS
    values: tuple[float, ...] = ()
    asks_for_load: bool = False


def grid(bounds: Bounds) -> Sequence[float]:
    """All values that may be tried, smallest first.

    Raises ValueError for a range without a value, and for steps in percent from 0.
    """
    if bounds.values:
        return bounds.values
    if not bounds.lowest <= bounds.highest:
        raise ValueError("the range ends before it begins")
    if bounds.step and not bounds.within:
        return Multiples(bounds)
    if not bounds.within or bounds.lowest <= 0:
        raise ValueError("steps in percent need a range that begins above 0")
    return _by_percent(bounds)


class Multiples(Sequence[float]):
    """All multiples of a step in a range, made when they are asked for."""

    def __init__(self, bounds: Bounds) -> None:
        self.step = bounds.step
        self.first = ceil(bounds.lowest / bounds.step - SLACK)
        self.length = floor(bounds.highest / bounds.step + SLACK) - self.first + 1
        if self.length < 1:
            raise ValueError(f"the range holds no multiple of {bounds.step:g}")

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> float:  # type: ignore[override]
        if not 0 <= index < self.length:
            raise IndexError(index)
        return (self.first + index) * self.step


def _by_percent(bounds: Bounds) -> list[float]:
    """Even in the logarithm, neighbours at most `within` apart, both ends exact."""
    ratio = bounds.highest / bounds.lowest
    count = ceil(log(ratio) / log(1 + bounds.within) - SLACK)
    inner = (bounds.lowest * ratio ** (k / count) for k in range(1, count))
    ends = [bounds.lowest, *map(_rounded, inner), bounds.highest]
    if bounds.step:
        ends = [value for value in (_multiple(one, bounds) for one in ends) if value]
    return sorted(set(ends))


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _multiple(value: float, bounds: Bounds) -> float:
    """The nearest multiple of the step inside the range; 0 if there is none."""
    whole = round(value / bounds.step) * bounds.step
    return whole if bounds.lowest <= whole <= bounds.highest else 0.0


def doubled(values: Sequence[float], index: int) -> int:
    """The next index, but the last that is not beyond the double value."""
    return max(index + 1, at_or_below(values, 2 * values[index] * (1 + SLACK)))


def halved(values: Sequence[float], index: int) -> int:
    """The index before, but the first that is not below the half value."""
    return min(index - 1, bisect_left(values, values[index] / 2 * (1 - SLACK)))


def at_or_below(values: Sequence[float], value: float) -> int:
    """The index of the largest that is not above a value; 0 if all are."""
    return max(0, bisect_right(values, value) - 1)
