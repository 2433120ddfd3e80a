"""The cells of a test: every combination of its axes that is not skipped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, product
from math import prod
from random import Random

from msgspec import Struct

from ioplan.language.plan import Axis, CellValue, Condition

MOST_CELLS = 100_000

Cell = dict[str, CellValue]


class Matrix(Struct, frozen=True):
    """Axes, the first outermost, and what leaves cells out.

    A matrix that is too large has no cells: the test is refused for its size.
    """

    axes: tuple[Axis, ...]
    skips: tuple[Condition, ...] = ()

    @property
    def size(self) -> int:
        """How many cells there are before any is left out."""
        return prod(len(axis.values) for axis in self.axes)

    @property
    def names(self) -> list[str]:
        """What is varied."""
        return [name for axis in self.axes for name in axis.names]

    def cells(self, when: Condition | None = None) -> Iterator[Cell]:
        """The cells of which a condition is true."""
        if self.size > MOST_CELLS:
            return
        names = self.names
        for rows in product(*(axis.values for axis in self.axes)):
            cell = dict(zip(names, chain.from_iterable(rows), strict=True))
            if when is not None and not when.holds(cell):
                continue
            if self.skips and any(skip.holds(cell) for skip in self.skips):
                continue
            yield cell


CellKey = tuple[tuple[str, str], ...]
"""A cell by its axes and the texts of their values."""


def cell_key(cell: Mapping[str, CellValue]) -> CellKey:
    """What a cell is known by beyond its round."""
    return tuple((name, value.text) for name, value in cell.items())


def drawn(cells: Iterable[Cell], seed: str) -> list[Cell]:
    """The cells in an order drawn by a seed: the same in each session."""
    made = list(cells)
    Random(seed).shuffle(made)
    return made


def cell_text(cell: Cell) -> str:
    """A cell as conditions would name it: `qd == 1 and size == 4KiB`."""
    return " and ".join(f"{name} == {value.text}" for name, value in cell.items())
