"""Shares in whole percent, which is all that fio takes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import erf, sqrt


def is_whole(percent: float) -> bool:
    """Whether fio can be told the share as it is."""
    return float(percent).is_integer()


def whole(percents: Sequence[float]) -> list[int]:
    """The nearest whole percents that still add up to 100 (largest remainder)."""
    floors = [int(percent) for percent in percents]
    rest = [percent - floor for percent, floor in zip(percents, floors, strict=True)]
    order = sorted(range(len(rest)), key=lambda i: (-rest[i], i))
    for index in order[: 100 - sum(floors)]:
        floors[index] += 1
    return floors


def bell(deviation_percent: float) -> list[tuple[int, int]]:
    """A bell around the middle in steps: shares of the I/Os and of the space.

    The weights of 100 cells of one percent each, neighbours alike put together.
    """

    def below(percent: float) -> float:
        return (1 + erf((percent - 50) / (deviation_percent * sqrt(2)))) / 2

    inside = below(100) - below(0)
    cells = [(below(i + 1) - below(i)) / inside * 100 for i in range(100)]
    runs = [list(run) for _, run in groupby(whole(cells))]
    return [(sum(run), len(run)) for run in runs]
