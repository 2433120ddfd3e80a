"""Checks `vary`: the values that an axis takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ioplan.language import tree
from ioplan.language.fields import AXIS_FIELDS, FIELDS, data_of
from ioplan.language.plan import Axis, CellValue
from ioplan.language.quantity import (
    KIND_NAMES,
    MOST_DECIMALS,
    Kind,
    Quantity,
    QuantityError,
    make,
)
from ioplan.language.scope import Open, OpenName, Scope
from ioplan.language.workloads import data_from, named, region_of
from ioplan.suggest import did_you_mean
from ioplan.workload import Data, Region

MOST_VALUES = 10_000
STEPS: dict[Kind, str] = {"size": "4KiB", "time": "10s", "share": "10%"}
PATTERNS = ("random", "sequential")


@dataclass(frozen=True)
class Dimension:
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
        return self.field == other.field and one_stream


def dimension(word: tree.Word) -> Dimension:
    """Whether a name is a field, a field of a stream, or any other name."""
    stream, _, field = word.text.rpartition(".")
    if field in AXIS_FIELDS and field != "workload":
        return Dimension(word, field, stream or None)
    if word.text == "workload":
        return Dimension(word, "workload")
    return Dimension(word, None)


def opened_by(axes: tuple[Axis, ...], varies: list[tree.Vary], scope: Scope) -> Open:
    """What the axes of a test decide, where they are no fields."""
    made = Open()
    whole = {name for axis in axes for name in axis.names}
    for word in (word for vary in varies for word in vary.names):
        if word.text not in whole:
            made.broken.add(word.text)
        if dimension(word).field is None:
            values = _quantities(word.text, axes)
            made.names.setdefault(word.text, OpenName(word.text, values))
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


def _quantities(name: str, axes: tuple[Axis, ...]) -> tuple[Quantity, ...]:
    return tuple(v.quantity for v in values_of(name, axes) if v.quantity)


def axis_of(vary: tree.Vary, scope: Scope) -> Axis | None:
    """The axis, or None after errors.

    In the scope, what other axes decide is open in definitions only.
    """
    dimensions = [dimension(word) for word in vary.names]
    rows = list(_rows(vary, dimensions, scope))
    if not rows or any(value is None for _, row in rows for value in row):
        return None
    values = tuple(tuple(value for value in row if value) for _, row in rows)
    if not _of_one_kind(vary, values, scope):
        return None
    _check_twice([element for element, _ in rows], values, scope)
    return Axis(names=tuple(d.name for d in dimensions), values=values)


def _of_one_kind(
    vary: tree.Vary, rows: tuple[tuple[CellValue, ...], ...], scope: Scope
) -> bool:
    """Values that cannot be compared make no axis."""
    for word, column in zip(vary.names, zip(*rows, strict=True), strict=True):
        kinds = list(dict.fromkeys(kind for v in column if (kind := _kind_of(v))))
        if len(kinds) > 1:
            shown = " and ".join(KIND_NAMES[kind] for kind in kinds)
            scope.findings.error(
                f"{word.text!r} varies over {shown}; an axis has one kind of value",
                vary.span,
            )
            return False
    return True


def _kind_of(value: CellValue) -> Kind | None:
    if value.quantity:
        return value.quantity.kind
    rate = (value.attributes or {}).get("rate")
    return rate[0] if rate else None


Row = tuple[CellValue | None, ...]


def _rows(
    vary: tree.Vary, dimensions: list[Dimension], scope: Scope
) -> Iterator[tuple[tree.Element, Row]]:
    for element in vary.elements:
        if len(dimensions) > 1:
            yield element, _together(element, dimensions, scope)
        elif element.kind == "together":
            scope.findings.error(
                "one axis takes single values, not tuples", element.span
            )
            yield element, (None,)
        else:
            for value in _values(element, dimensions[0], scope):
                yield element, (value,)


def _together(element: tree.Element, dimensions: list[Dimension], scope: Scope) -> Row:
    if element.kind != "together" or len(element.atoms) != len(dimensions):
        names = ", ".join(d.name for d in dimensions)
        scope.findings.error(
            f"({names}) move together, so each entry has {len(dimensions)} values",
            element.span,
            "for example vary (size, qd) in (4KiB, 32), (128KiB, 8)",
        )
        return (None,)
    pairs = zip(element.atoms, dimensions, strict=True)
    return tuple(_single(atom, d, scope) for atom, d in pairs)


def _values(
    element: tree.Element, what: Dimension, scope: Scope
) -> Iterator[CellValue | None]:
    if what.field == "region" or element.kind == "span":
        yield _span(element, what, scope)
    elif element.kind == "compressible":
        yield _compressible(element, what, scope)
    elif element.kind == "single":
        yield _single(element.atoms[0], what, scope)
    else:
        quantities = _range(element, scope)
        if quantities is None:
            yield None
            return
        for quantity in quantities:
            yield _of_quantity(quantity, element, what, scope)


def _span(element: tree.Element, what: Dimension, scope: Scope) -> CellValue | None:
    if what.field != "region":
        scope.findings.error(
            "a range needs to know its steps",
            element.span,
            f"add: doubling, or: step {_step(element.atoms[0], scope)}",
        )
        return None
    if element.kind != "span":
        scope.findings.error(
            "a region is written with both its edges", element.span, "such as 0%..50%"
        )
        return None
    first, last = element.atoms
    made = region_of(first, last, element.span, scope)
    if made is None:
        return None
    text = region_text(made["region"])
    return CellValue(text=text, key=text, attributes=made)


def region_text(region: Region) -> str:
    """A region as a plan writes it, and conditions compare it: `0%..50%`."""
    edges = (region.start_percent, region.end_percent)
    return "..".join(make("share", edge).text for edge in edges)


def _compressible(
    element: tree.Element, what: Dimension, scope: Scope
) -> CellValue | None:
    if what.field != "data":
        scope.findings.error(
            f"'compressible' is a value of data, not of {what.name}", element.span
        )
        return None
    made = data_from("compressible", element.atoms, scope)
    if made is None:
        return None
    text = compressible_text(made["data"])
    return CellValue(text=text, key=text, attributes=made)


def _step(atom: tree.Atom, scope: Scope) -> str:
    """A step that would fit a range."""
    with scope.findings.unsaid():
        first = scope.amount(atom)
    return STEPS.get(scope.kind_of(first) or "number", "1") if first else "1"


def compressible_text(data: Data) -> str:
    """What is written, in the plan's words: `compressible 50%`."""
    return f"compressible {make('share', data.percent).text}"


def _single(atom: tree.Atom, what: Dimension, scope: Scope) -> CellValue | None:
    by_word: dict[str | None, Callable[..., CellValue | None]] = {
        "workload": _workload,
        "pattern": _pattern,
        "data": _data,
    }
    if what.field in by_word:
        return by_word[what.field](atom, scope)
    if what.field == "align" and atom.text == "size":
        return CellValue(text="size", key="size", attributes={"align_bytes": None})
    quantity = scope.quantity(atom, "a value of an axis")
    return _of_quantity(quantity, atom, what, scope) if quantity else None


def _workload(atom: tree.Atom, scope: Scope) -> CellValue | None:
    if atom.kind != "name":
        scope.findings.error(f"{atom.text} is not the name of a workload", atom.span)
        return None
    template = named(tree.Word(atom.span, atom.text), atom.span, scope)
    if template is None:
        return None
    return CellValue(text=atom.text, key=atom.text, workload=template)


def _pattern(atom: tree.Atom, scope: Scope) -> CellValue | None:
    if atom.text not in PATTERNS:
        near = did_you_mean(atom.text, PATTERNS)
        scope.findings.error(f"there is no pattern {atom.text!r}{near}", atom.span)
        return None
    pattern = {"pattern": atom.text}
    return CellValue(text=atom.text, key=atom.text, attributes=pattern)


def _data(atom: tree.Atom, scope: Scope) -> CellValue | None:
    known = ("random", "zeros")
    if atom.text not in known:
        near = did_you_mean(atom.text, known)
        scope.findings.error(
            f"there is no data {atom.text!r}{near}",
            atom.span,
            "data is random, zeros or compressible 50%",
        )
        return None
    return CellValue(text=atom.text, key=atom.text, attributes=data_of(atom.text))


def _of_quantity(
    quantity: Quantity, node: tree.Node, what: Dimension, scope: Scope
) -> CellValue | None:
    """A quantity as a value of a field, or of a name that a step uses."""
    if what.field is None:
        return CellValue(text=quantity.text, key=quantity.value, quantity=quantity)
    field = what.field
    made = scope.parameters.guarded(node.span, lambda: FIELDS[field](quantity))
    if made is None:
        return None
    return CellValue(text=quantity.text, key=quantity.value, attributes=made)


def _range(element: tree.Element, scope: Scope) -> list[Quantity] | None:
    """The values of `a..b doubling` or `a..b step c`."""
    ends = [scope.quantity(atom, "the end of a range") for atom in element.atoms]
    known = [end for end in ends if end]
    if len(known) < len(ends):
        return None
    return scope.parameters.guarded(element.span, lambda: _expand(element.kind, known))


def _expand(kind: str, ends: list[Quantity]) -> list[Quantity]:
    first, last = ends[0], ends[1]
    _check_ends(ends)
    if first.value > last.value:
        raise QuantityError(
            "a range goes upwards", f"did you mean {last.text}..{first.text}?"
        )
    step = ends[2].value if kind == "stepped" else 0
    if kind == "stepped" and not step:
        raise QuantityError("the step is more than 0")
    if kind == "doubling" and not first.value:
        raise QuantityError("0 cannot be doubled", "begin with 1, and name 0 apart")
    numbers = _numbers(first.value, last.value, step)
    if abs(numbers[-1] - last.value) > 1e-9 * max(1, last.value):
        reached = make(first.kind, numbers[-1]).text
        raise QuantityError(
            f"{last.text} is not reached; the last value before it is {reached}",
            f"write {first.text}..{reached}",
        )
    return [make(first.kind, number) for number in numbers]


def _check_ends(ends: list[Quantity]) -> None:
    """Both ends, and the step, are of one kind."""
    with_unit = [end for end in ends if end.kind != "number"]
    without = [end for end in ends if end.kind == "number"]
    if with_unit and without:
        raise QuantityError(
            f"{without[0].text} has no unit, but {with_unit[0].text} has one",
            "each number of a range has its unit, as in 4KiB..64KiB",
        )
    if len({end.kind for end in ends}) > 1:
        raise QuantityError("the numbers of a range are of one kind")


def _numbers(first: float, last: float, step: float) -> list[int | float]:
    """First to last, by addition of `step` or, where it is 0, by doubling."""
    if step and (last - first) / step > MOST_VALUES:
        raise QuantityError(f"the range has more than {MOST_VALUES:_} values")
    numbers: list[int | float] = []
    number: int | float = first
    while number <= last * (1 + 1e-12):
        numbers.append(int(number) if number == int(number) else number)
        index = len(numbers)
        number = _rounded(first + index * step if step else first * 2**index)
    return numbers


def _rounded(number: int | float) -> int | float:
    """Sums of decimal fractions, without the noise of binary ones."""
    return number if isinstance(number, int) else round(number, MOST_DECIMALS)


def _check_twice(
    elements: list[tree.Element], rows: tuple[tuple[CellValue, ...], ...], scope: Scope
) -> None:
    seen: set[tuple[int | float | str, ...]] = set()
    for element, row in zip(elements, rows, strict=True):
        key = tuple(value.key for value in row)
        if key in seen:
            text = ", ".join(value.text for value in row)
            scope.findings.error(f"the value {text} stands twice", element.span)
            return
        seen.add(key)
