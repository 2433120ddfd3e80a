"""The value of a sought axis in a cell, from the number that a search names."""

from __future__ import annotations

from ioplan.language.clause_table import CONVERTED
from ioplan.language.plan import CellValue, Seek
from ioplan.language.quantity import SECTOR_BYTES, Kind, make

CONFIRM_RUNS = 4
"""How many times as long as the run the confirmation is, where the plan is silent."""
WHOLE: tuple[Kind, ...] = ("size", "time", "number", "passes")
"""Kinds of which a search tries whole numbers only."""


def sought_value(seek: Seek, number: float) -> CellValue:
    """The number as a value of the axis."""
    known = (seek.lowest, seek.highest, *seek.values)
    for value in known:
        if value.key == number:
            return value
    whole = seek.kind in WHOLE or number == int(number)
    quantity = make(seek.kind, round(number) if whole else number)
    if seek.lowest.attributes is None:
        return CellValue(text=quantity.text, key=quantity.value, quantity=quantity)
    made = CONVERTED[seek.axis.rpartition(".")[2]](quantity)
    return CellValue(
        text=quantity.text, key=quantity.value, attributes=made, quantity=quantity
    )


def step_of(kind: Kind) -> float:
    """What the values of a kind are multiples of; 0 where any will do."""
    if kind == "size":
        return float(SECTOR_BYTES)
    return 1.0 if kind in WHOLE else 0.0
