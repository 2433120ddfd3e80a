"""Which cells lie between others: where the values of an axis lie as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from ioplan.language.bind.bind import Cell
from ioplan.language.plan import CellValue

LEAST_VALUES = 5
"""With fewer, no cell that is kept lies between two others that are."""


def is_share(value: CellValue) -> bool:
    """Whether it is a part of a whole, such as a mix of reads and writes."""
    return value.quantity is not None and value.quantity.kind in ("share", "mix")


def number_of(value: CellValue) -> float | None:
    """Where a value lies on its axis: a share as it is, all else by log2.

    None of what is no number.
    """
    found = value.quantity.value if value.quantity else value.key
    if isinstance(found, str):
        return None
    return float(found) if is_share(value) or found <= 0 else log2(found)


def numeric_axes(cells: Sequence[Cell]) -> list[str]:
    """The axes that have values between others."""
    names = list(cells[0]) if cells else []
    found = {name: {number_of(cell[name]) for cell in cells} for name in names}
    return [
        name
        for name, numbers in found.items()
        if None not in numbers and len(numbers) >= LEAST_VALUES
    ]


def skeleton(cells: Sequence[Cell]) -> list[Cell]:
    """Each second value of each numeric axis, and the last: what others lie between."""
    axes = numeric_axes(cells)
    orders = {
        name: sorted({number_of(cell[name]) or 0.0 for cell in cells}) for name in axes
    }

    def is_kept(name: str, cell: Cell) -> bool:
        order, number = orders[name], number_of(cell[name]) or 0.0
        return order.index(number) % 2 == 0 or number == order[-1]

    return [cell for cell in cells if all(is_kept(name, cell) for name in axes)]
