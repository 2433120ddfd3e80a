"""Checks `vary`: the axis that it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ioplan.core.text import did_you_mean
from ioplan.language.checker.axes.forms import FORMS, formed, range_of
from ioplan.language.checker.axes.names import Dimension, dimension
from ioplan.language.checker.clause_values import region_of, region_text
from ioplan.language.checker.scope import Scope
from ioplan.language.checker.workloads import named
from ioplan.language.clause_table import CONVERTED
from ioplan.language.fields import data_of
from ioplan.language.plan import Axis, CellValue
from ioplan.language.quantity import KIND_NAMES, Kind, Quantity
from ioplan.language.syntax import tree
from ioplan.language.syntax.grammar import PATTERNS
from ioplan.workload import STREAM_DEFAULTS

# The values of one name of a `vary`, from what stands behind its `in`.

STEPS: dict[Kind, str] = {"size": "4KiB", "time": "10s", "share": "10%"}


def values_in(
    element: tree.Element, what: Dimension, scope: Scope
) -> Iterator[CellValue | None]:
    if what.field == "region" or element.kind == "span":
        yield _span(element, what, scope)
    elif element.kind in FORMS:
        yield from formed(element, what, scope)
    elif element.kind == "single":
        yield value_of(element.atoms[0], what, scope)
    else:
        quantities = range_of(element, scope)
        if quantities is None:
            yield None
            return
        for quantity in quantities:
            value = _of_quantity(quantity, element, what, scope)
            yield value
            if value is None:
                return  # what is wrong with one is wrong with the rest


def _span(element: tree.Element, what: Dimension, scope: Scope) -> CellValue | None:
    if what.field != "region":
        scope.findings.error(
            "a range needs a step",
            element.span,
            f"add: doubling, or: step {_step(element.atoms[0], scope)}",
        )
        return None
    if element.kind != "span":
        scope.findings.error(
            "a region needs both a start and an end", element.span, "such as 0%..50%"
        )
        return None
    first, last = element.atoms
    made = region_of(first, last, element.span, scope)
    if made is None:
        return None
    text = region_text(made["region"])
    return CellValue(text=text, key=text, attributes=made)


def _step(atom: tree.Atom, scope: Scope) -> str:
    """A step that would fit a range."""
    with scope.findings.suppressed():
        first = scope.amount(atom)
    return STEPS.get(scope.kind_of(first) or "number", "1") if first else "1"


def value_of(atom: tree.Atom, what: Dimension, scope: Scope) -> CellValue | None:
    by_word: dict[str | None, Callable[..., CellValue | None]] = {
        "workload": _workload,
        "pattern": _pattern,
        "data": _data,
        "distribution": _distribution,
        "hotspots": _hotspots,
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
        scope.findings.error(f"unknown pattern {atom.text!r}{near}", atom.span)
        return None
    pattern = {"pattern": atom.text}
    return CellValue(text=atom.text, key=atom.text, attributes=pattern)


def _data(atom: tree.Atom, scope: Scope) -> CellValue | None:
    known = ("random", "zeros")
    if atom.text not in known:
        near = did_you_mean(atom.text, known)
        scope.findings.error(
            f"unknown data {atom.text!r}{near}",
            atom.span,
            "data is random, zeros or compressible 50%",
        )
        return None
    return CellValue(text=atom.text, key=atom.text, attributes=data_of(atom.text))


def _distribution(atom: tree.Atom, scope: Scope) -> CellValue | None:
    if atom.text != "uniform":
        scope.findings.error(
            f"unknown distribution {atom.text!r}",
            atom.span,
            "write uniform, zipf 1.1, pareto 0.2, normal 10% or hotspots { … }",
        )
        return None
    made = {"distribution": STREAM_DEFAULTS["distribution"]}
    return CellValue(text=atom.text, key=atom.text, attributes=made)


def _hotspots(atom: tree.Atom, scope: Scope) -> None:
    scope.findings.error(
        f"{atom.text} is not hotspots", atom.span, "such as { 80% in 20%, 20% in 80% }"
    )


def _of_quantity(
    quantity: Quantity, node: tree.Node, what: Dimension, scope: Scope
) -> CellValue | None:
    """A quantity as a value of a field, or of a name that a step uses."""
    if what.field is None:
        return CellValue(text=quantity.text, key=quantity.value, quantity=quantity)
    field = what.field
    made = scope.parameters.guarded(node.span, lambda: CONVERTED[field](quantity))
    if made is None:
        return None
    return CellValue(
        text=quantity.text, key=quantity.value, attributes=made, quantity=quantity
    )


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
