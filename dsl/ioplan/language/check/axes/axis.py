"""Checks `vary`: the axis that it makes."""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.language.check.axes.names import Dimension, dimension
from ioplan.language.check.axes.values import value_of, values_in
from ioplan.language.check.scope import Scope
from ioplan.language.plan import Axis, CellValue
from ioplan.language.quantity import KIND_NAMES, Kind
from ioplan.language.syntax import tree

Row = tuple[CellValue | None, ...]


def axis_of(vary: tree.Vary, rests: frozenset[str], scope: Scope) -> Axis | None:
    """The axis, or None after errors; `rests` are the names that an `idle` uses.

    In the scope, what other axes decide is open in definitions only.
    """
    dimensions = [dimension(word, rests) for word in vary.names]
    with scope.findings.listing():
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
            for value in values_in(element, dimensions[0], scope):
                yield element, (value,)


def _together(element: tree.Element, dimensions: list[Dimension], scope: Scope) -> Row:
    if element.kind != "together" or len(element.atoms) != len(dimensions):
        names = ", ".join(d.name for d in dimensions)
        scope.findings.error(
            f"({names}) vary together, so each entry has {len(dimensions)} values",
            element.span,
            "for example vary (size, qd) in (4KiB, 32), (128KiB, 8)",
        )
        return (None,)
    pairs = zip(element.atoms, dimensions, strict=True)
    return tuple(value_of(atom, d, scope) for atom, d in pairs)


def _check_twice(
    elements: list[tree.Element], rows: tuple[tuple[CellValue, ...], ...], scope: Scope
) -> None:
    seen: set[tuple[int | float | str, ...]] = set()
    for element, row in zip(elements, rows, strict=True):
        key = tuple(value.key for value in row)
        if key in seen:
            text = ", ".join(value.text for value in row)
            scope.findings.error(f"the value {text} is listed twice", element.span)
            return
        seen.add(key)
