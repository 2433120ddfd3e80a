"""What the cells that were measured say of those between them.

A rate is drawn on the line between the two measured cells beside it: of its logarithm
over that of a size, a depth or another number; of its reciprocal over a share, since
the times that reads and writes take add up. How far off that may be is told by the
same line where the truth is known: either of the two cells is left out and drawn
between its own neighbours. Where the curve bends once, anywhere between two cells, it
is off by no more than that; a single cell that stands out is not foreseen.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from math import exp, log
from statistics import fmean, stdev
from typing import NamedTuple

from ioplan.core.statistics.student_t import quantile
from ioplan.language.bind.between import is_share, number_of, numeric_axes
from ioplan.language.bind.bind import Cell
from ioplan.language.bind.matrix import CellKey, cell_key

CONFIDENCE = 0.95


class Rate(NamedTuple):
    """A rate, and its half-width at 95 % confidence as a part of it."""

    value: float
    error: float = 0.0

    @property
    def half_percent(self) -> float:
        """The half-width in percent."""
        return 100 * self.error


def rate_of(value: float, intervals: Sequence[float]) -> Rate:
    """A measured rate with the error that its intervals show; unknown of one."""
    if len(intervals) < 2:
        return Rate(value, 1.0)
    t = quantile((1 + CONFIDENCE) / 2, len(intervals) - 1)
    error = t * stdev(intervals) / len(intervals) ** 0.5
    return Rate(value, error / max(fmean(intervals), 1e-9))


class _Known(NamedTuple):
    """Where a cell lies on an axis, and its rate."""

    place: float
    rate: Rate


Line = tuple[str, CellKey]
"""An axis, and what the cells along it share."""


class _Placed(NamedTuple):
    """A cell by what it is told from others."""

    key: CellKey
    cell: Cell

    def at(self, name: str) -> float:
        """Where it lies on an axis of numbers."""
        return number_of(self.cell[name]) or 0.0

    def line(self, name: str) -> Line:
        """The line along an axis that it lies on."""
        return name, tuple(pair for pair in self.key if pair[0] != name)


Lines = Mapping[Line, list[_Known]]


def predictions(
    cells: Sequence[Cell], measured: Mapping[CellKey, Rate]
) -> dict[CellKey, Rate]:
    """Of the cells that lie between measured ones, or between such as lie so."""
    axes, known = numeric_axes(cells), dict(measured)
    places = [_Placed(cell_key(cell), cell) for cell in cells]
    for _ in axes:
        lines = _lines(places, axes, known)
        known |= dict(_between_all(places, axes, known, lines))
    return {key: rate for key, rate in known.items() if key not in measured}


def _between_all(
    places: Sequence[_Placed],
    axes: Sequence[str],
    known: Mapping[CellKey, Rate],
    lines: Lines,
) -> Iterator[tuple[CellKey, Rate]]:
    for one in places:
        if one.key not in known:
            made = [r for name in axes if (r := _between(one, name, lines))]
            if made:
                yield one.key, _agreed(made)


def _lines(
    places: Sequence[_Placed], axes: Sequence[str], known: Mapping[CellKey, Rate]
) -> Lines:
    lines: dict[Line, list[_Known]] = {}
    for one in places:
        if rate := known.get(one.key):
            for name in axes:
                found = _Known(one.at(name), rate)
                lines.setdefault(one.line(name), []).append(found)
    for line in lines.values():
        line.sort()
    return lines


def _agreed(made: Sequence[Rate]) -> Rate:
    """What is known best; as far as the axes differ, it is known less."""
    best = min(made, key=lambda one: one.error)
    differ = max(abs(one.value / best.value - 1) for one in made)
    return Rate(best.value, best.error + differ)


def _between(one: _Placed, name: str, lines: Lines) -> Rate | None:
    """On the line between the nearest on both sides along one axis."""
    line, place = lines.get(one.line(name), []), one.at(name)
    at = bisect([known.place for known in line], place)
    if not 0 < at < len(line):
        return None
    by_share = is_share(one.cell[name])
    bends = list(_bends(line, at, by_share))
    if not bends:
        return None
    low, high = line[at - 1], line[at]
    ends = max(low.rate.error, high.rate.error)
    return Rate(_drawn(low, high, place, by_share), max(bends) + ends)


def _bends(line: Sequence[_Known], at: int, by_share: bool) -> Iterator[float]:
    """How far each end of a gap is from the line that leaves it out, as a part of it.

    A neighbour beyond that is nearer than the gap is wide shows less of a bend in it.
    """
    gap = line[at].place - line[at - 1].place
    for end, beyond in ((at - 1, at - 2), (at, at + 1)):
        if 0 <= beyond < len(line):
            known = line[end]
            low, high = sorted((line[2 * end - beyond], line[beyond]))
            drawn = _drawn(low, high, known.place, by_share)
            near = abs(line[beyond].place - known.place)
            seen = max(1.0, (gap + near) / (2 * near))
            yield seen * abs(drawn / known.rate.value - 1)


def _drawn(low: _Known, high: _Known, place: float, by_share: bool) -> float:
    share = (place - low.place) / (high.place - low.place)
    one, other = low.rate.value, high.rate.value
    if by_share:
        return 1 / ((1 - share) / one + share / other)
    return exp((1 - share) * log(one) + share * log(other))
