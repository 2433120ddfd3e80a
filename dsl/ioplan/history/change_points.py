"""Where a series has changed its level: binary segmentation with a calibrated test.

A series is cut where two levels fit it better than one, or three of which the outer
two are the same (Vostrikova 1981; Olshen et al., Circular binary segmentation,
Biostatistics 5, 2004). Beside the series' own noise counts what was learned elsewhere
(`prior`). The last GUARD values are never called by themselves. Whether the best cut is
one is decided by simulation of series that do not change (`null.py`).

E-divisive, as in Apache Otava, was not taken: its test by permutation cannot use noise
that is known, and with ten sessions before a change it finds fewer within three.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import sqrt

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ioplan.core.shared_variance import Variance
from ioplan.history.cuts import GUARD, Numbers, best_cut, clipped
from ioplan.history.null import chance_of

LEVEL = 0.05
"""So often a series that does not change is called at most."""
SHORTEST = 2 * GUARD
EXACT = 1e-12
"""The least variance, a millionth squared: figures are rounded somewhere."""
MARGIN, MARGIN_ALONE = 1.0, 1.6
"""So many standard errors are added to the correlation of neighbours, which a short
series hardly shows: more where nothing else tells its noise, as that may pass for a
change. So series without any are called less often than LEVEL."""
MOST_CORRELATED = 0.8


class ChangePoint(Struct, frozen=True):
    """The index of the first value of a new level, and the chance of seeing a cut as
    sharp in a series that does not change."""

    at: int
    chance: float


def change_points(
    values: Sequence[float], prior: Variance | None = None, floor: float = EXACT
) -> list[ChangePoint]:
    """The changes of a series, the oldest first.

    `prior` is the variance of a value that others have shown; no variance is taken to
    be below `floor`.
    """
    search = _Search(np.asarray(values, float), prior, max(floor, EXACT))
    return search.relocated(sorted(search.changes(0, len(values)), key=_place))


def _place(change: ChangePoint) -> int:
    return change.at


class _Search(Struct, frozen=True):
    values: NDArray[np.float64]
    prior: Variance | None
    floor: float

    def changes(self, first: int, last: int) -> Iterator[ChangePoint]:
        """Those between two indices."""
        part = self._part(first, last)
        if part is None:
            return
        cut = best_cut(part[None], self._prior, self.floor, self._is_end(last))
        found, edges = float(cut.height[0]), cut.edges(0)
        chance = chance_of(
            found,
            len(part),
            self.prior.degrees if self.prior else 0.0,
            correlation(part, edges, MARGIN if self.prior else MARGIN_ALONE),
            self._is_end(last),
        )
        if chance > LEVEL:
            return
        ends = self._sharpened([first, *(first + edge for edge in edges), last])
        yield from (ChangePoint(end, chance) for end in ends[1:-1])
        for one, other in pairwise(ends):
            yield from self.changes(one, other)

    def relocated(self, found: Sequence[ChangePoint]) -> list[ChangePoint]:
        """Each where it is best between its neighbours (Bai 1997)."""
        ends = self._sharpened([0, *(one.at for one in found), len(self.values)])
        return [
            ChangePoint(end, one.chance)
            for end, one in zip(ends[1:-1], found, strict=True)
        ]

    def _sharpened(self, ends: list[int]) -> list[int]:
        """With each inner end where it is best between those beside it."""
        for place in range(1, len(ends) - 1):
            first, last = ends[place - 1], ends[place + 1]
            part = self._part(first, last)
            if part is not None:
                single = best_cut(part[None], self._prior, self.floor, True, one=True)
                ends[place] = first + single.edges(0)[0]
        return ends

    def _part(self, first: int, last: int) -> Numbers | None:
        if last - first < SHORTEST:
            return None
        least = max(self.floor, self.prior.value if self.prior else 0.0)
        row: Numbers = clipped(self.values[first:last][None], least**0.5)[0]
        return row

    def _is_end(self, last: int) -> bool:
        return last == len(self.values)

    @property
    def _prior(self) -> tuple[Numbers, float]:
        """Its value, and its degrees of freedom; none weighs nothing."""
        value, degrees = self.prior or Variance(0.0, 0.0)
        return np.array([value]), degrees


def correlation(values: Numbers, edges: Sequence[int], margin: float) -> float:
    """Of each value with the next, beside the levels; its standard error is 1 / sqrt(n)
    (Bartlett 1946)."""
    parts = np.split(values, edges)
    rest = np.concatenate([part - part.mean() for part in parts])
    squares = float(rest @ rest)
    seen = float(rest[1:] @ rest[:-1]) / squares if squares else 0.0
    return min(MOST_CORRELATED, max(0.0, seen + margin / sqrt(len(values))))
