"""The names of a `vary`: fields, fields of one stream, or names that steps use."""

from __future__ import annotations

from msgspec import Struct

from ioplan.language.checker.scope import AxisName, AxisNames, Scope
from ioplan.language.clause_table import AXIS_FIELDS, slot
from ioplan.language.plan import Axis, CellValue
from ioplan.language.quantity import Kind
from ioplan.language.syntax import tree


class Dimension(Struct, frozen=True):
    """One name of a `vary`, told apart: `reader.qd` is field qd of one stream."""

    word: tree.Word
    field: str | None
    stream: str | None = None

    @property
    def name(self) -> str:
        """The axis as the plan writes it."""
        return self.word.text

    def decides(self, other: Dimension) -> bool:
        """Whether both decide the same: `qd` decides `reader.qd` too."""
        if self.field is None or other.field is None:
            return self.name == other.name
        one_stream = None in (self.stream, other.stream) or self.stream == other.stream
        return slot(self.field) == slot(other.field) and one_stream


def dimension(word: tree.Word, rests: frozenset[str]) -> Dimension:
    """Whether a name is a field, a field of a stream, or any other name.

    What an `idle` of the test names is no field: `vary pause in …` with `idle pause`.
    """
    if word.text in rests:
        return Dimension(word, None)
    stream, _, field = word.text.rpartition(".")
    if field in AXIS_FIELDS and field != "workload":
        return Dimension(word, field, stream or None)
    if word.text == "workload":
        return Dimension(word, "workload")
    return Dimension(word, None)


def names_of(
    axes: tuple[Axis, ...],
    varies: list[tree.Vary],
    rests: frozenset[str],
    scope: Scope,
) -> AxisNames:
    """What the axes of a test decide, where they are no fields."""
    made = AxisNames()
    whole = {name for axis in axes for name in axis.names}
    for word in (word for vary in varies for word in vary.names):
        if word.text not in whole:
            made.broken.add(word.text)
        name = _axis_name(word.text, axes)
        if dimension(word, rests).field and name.values:
            made.fields.setdefault(word.text, name)
        elif dimension(word, rests).field is None:
            made.names.setdefault(word.text, name)
            param = scope.param(word.text)
            if param:
                made.params[id(param[0])] = word.text
    return made


def values_of(name: str, axes: tuple[Axis, ...]) -> list[CellValue]:
    """The values that a name takes."""
    return [
        row[axis.names.index(name)]
        for axis in axes
        if name in axis.names
        for row in axis.values
    ]


def _axis_name(name: str, axes: tuple[Axis, ...]) -> AxisName:
    numbers = (number for number, axis in enumerate(axes) if name in axis.names)
    values = tuple(v.quantity for v in values_of(name, axes) if v.quantity)
    return AxisName(name, values, next(numbers, -1))


def kind_of(axis: str, value: CellValue) -> Kind:
    """What a value of an axis is."""
    if value.quantity:
        return value.quantity.kind
    rate = (value.attributes or {}).get("rate")
    if rate:
        kind: Kind = rate[0]
        return kind
    field = axis.rpartition(".")[2]
    return FIELD_KINDS.get(field, "number")


FIELD_KINDS: dict[str, Kind] = {
    **{"size": "size", "pause": "time"},
    **dict.fromkeys(("read", "trim", "dedup", "normal"), "share"),
}
