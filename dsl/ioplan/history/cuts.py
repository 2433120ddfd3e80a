"""How much better two levels fit than one, for many series and all cuts at once.

The height of a cut is Student's t of the two levels, with the variance beside them
drawn towards a prior (Smyth 2004). A cut that is not near the end counts less: a change
that is older has more values behind it, and a new one has few. So two or three sessions
after a change are enough, and the chance of a false one stays the same.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]

GUARD = 2
"""So many values are needed on each side of a cut."""
RECENT, OLDER = 4, 1.5
"""A cut with more values behind it than these is lower by so much."""
SHORTEST_VISIT, VISIT_SHARE, STARTS = 6, 32, 4
"""A level that was left again lasted so long, and one in so many of all sessions; it is
looked for at steps of a part of its length."""
CLIP, NORMAL_MAD = 3.0, 1.4826
"""Outliers beyond so many deviations are moved there: two of them are no level."""


class Cut(Struct, frozen=True):
    """The best cut of each series: a level from `start` to `end`, another elsewhere."""

    height: Numbers
    start: Places
    end: Places

    def edges(self, row: int) -> list[int]:
        """Where the level changes; a level from the first value on has one edge."""
        start, end = int(self.start[row]), int(self.end[row])
        return [start, end] if start else [end]


def best_cut(
    rows: Numbers,
    prior: tuple[Numbers, float],
    floor: float,
    is_end: bool,
    one: bool = False,
) -> Cut:
    """The highest cut of each row; with `one`, among those with one edge.

    `prior` has a variance for each row, and its degrees of freedom. `is_end` says that
    the last value is the newest.
    """
    count = rows.shape[1]
    starts, ends = _cuts(count, one)
    value, degrees = prior
    off = rows - rows.mean(axis=1, keepdims=True)
    sums = np.concatenate([np.zeros((len(rows), 1)), off.cumsum(axis=1)], axis=1)
    inside = ends - starts
    between = (sums[:, ends] - sums[:, starts]) ** 2 * count
    between /= inside * (count - inside)
    within = np.maximum((off**2).sum(axis=1)[:, None] - between, 0.0)
    variance = (degrees * value[:, None] + within) / (degrees + count - 2)
    heights = np.sqrt(between / np.maximum(variance, floor))
    if is_end and not one:
        heights -= np.where((starts == 0) & (count - ends <= RECENT), 0.0, OLDER)
    best = heights.argmax(axis=1)
    return Cut(heights[np.arange(len(rows)), best], starts[best], ends[best])


@lru_cache(256)
def _cuts(count: int, one: bool) -> tuple[Places, Places]:
    """Start and end of each level: all that begin with the first value, and visits."""
    ends = list(range(GUARD, count - GUARD + 1))
    pairs = [(0, end) for end in ends]
    length = max(SHORTEST_VISIT, count // VISIT_SHARE)
    while not one and length <= count // 2:
        step = max(1, length // STARTS)
        pairs += [
            (start, start + length)
            for start in range(GUARD, count - GUARD - length + 1, step)
        ]
        length = max(length + 1, length * 3 // 2)
    found = np.array(pairs, dtype=np.int64).T
    return found[0], found[1]


def clipped(rows: Numbers, least: float = 0.0) -> Numbers:
    """Rows with their outliers moved to CLIP deviations, which are `least` at least."""
    middle = np.median(rows, axis=1, keepdims=True)
    spread = NORMAL_MAD * np.median(np.abs(rows - middle), axis=1, keepdims=True)
    far = np.where(spread > 0, CLIP * np.maximum(spread, least), np.inf)
    return np.clip(rows, middle - far, middle + far)
