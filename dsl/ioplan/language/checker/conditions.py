"""Checks `when`: conditions on a cell of the matrix."""

from __future__ import annotations

from ioplan.core.text import did_you_mean
from ioplan.language.checker.axes.names import values_of
from ioplan.language.checker.clause_values import (
    compressible_text,
    data_from,
    region_of,
    region_text,
)
from ioplan.language.checker.scope import Scope
from ioplan.language.clause_table import BY_WORD
from ioplan.language.plan import (
    Axis,
    CellValue,
    Comparison,
    Condition,
    Junction,
    Reckoned,
)
from ioplan.language.quantity import KIND_NAMES, Kind, Quantity
from ioplan.language.syntax import tree
from ioplan.language.syntax.source import Span


def condition(
    node: tree.Condition, axes: tuple[Axis, ...], scope: Scope
) -> Condition | None:
    """The condition over the axes of a test, or None after errors."""
    if isinstance(node, tree.Junction):
        parts = [condition(part, axes, scope) for part in node.parts]
        made = tuple(part for part in parts if part)
        if len(made) < len(parts):
            return None
        return Junction(operator=node.operator, parts=made)
    if node.reckoned:
        return _reckoned(node, node.reckoned, axes, scope)
    return _comparison(node, axes, scope)


def _reckoned(
    node: tree.Comparison, left: tree.Atom, axes: tuple[Axis, ...], scope: Scope
) -> Reckoned | None:
    """`size * qd > 16MiB`: what is reckoned of axes, and perhaps of params."""
    names = [name for name in tree.names_in(left) if not scope.param(name)]
    for name in names:
        if not values_of(name, axes):
            _no_axis(tree.Word(left.span, name), axes, scope)
            return None
    formula = scope.amount(left)
    if formula is None:
        return None
    if isinstance(formula, Quantity):
        scope.findings.error(
            f"{left.span.one_line} is the same in all cells",
            left.span,
            "a condition can only use axes that the test varies",
        )
        return None
    if not isinstance(node.value, tree.Atom):
        scope.findings.error(
            f"{node.name.text} is compared with one value", node.value.span
        )
        return None
    limit = scope.without_axes().quantity(node.value, "a condition's value")
    kind = scope.kind_of(formula)
    if limit is None or kind is None:
        return None
    if limit.kind != kind:
        scope.findings.error(
            f"{node.name.text} is {KIND_NAMES[kind]}, not {KIND_NAMES[limit.kind]}",
            node.value.span,
            f"for example {scope.values_of(formula)[0].text}",
        )
        return None
    return Reckoned(formula=formula, operator=node.operator.text, value=limit.value)


def _comparison(
    node: tree.Comparison, axes: tuple[Axis, ...], scope: Scope
) -> Comparison | None:
    values = values_of(node.name.text, axes)
    if not values:
        _no_axis(node.name, axes, scope)
        return None
    key = _key(node, values, scope)
    if key is None:
        return None
    worded = any(isinstance(value.key, str) for value in values)
    if worded and node.operator.text not in ("==", "!="):
        scope.findings.error(
            f"{node.name.text} has no order", node.operator.span, "use == or !="
        )
        return None
    _check_reached(node, key, values, scope)
    return Comparison(axis=node.name.text, operator=node.operator.text, value=key)


def _no_axis(word: tree.Word, axes: tuple[Axis, ...], scope: Scope) -> None:
    if word.text in scope.axis_names.broken:
        return
    names = [name for axis in axes for name in axis.names]
    varied = f"varied are: {', '.join(names)}" if names else "nothing is varied"
    scope.findings.unknown(
        word.text,
        f"{word.text!r} is not varied in this test{did_you_mean(word.text, names)}",
        word.span,
        varied,
    )


def _key(
    node: tree.Comparison, values: list[CellValue], scope: Scope
) -> int | float | str | None:
    """What the cell's key is compared with."""
    texts = list(dict.fromkeys(v.key for v in values if isinstance(v.key, str)))
    if isinstance(node.value, tree.Element):
        if texts:
            return _text(node.value, texts, scope)
        scope.findings.error(
            f"{node.name.text} is compared with one value",
            node.value.span,
            f"for example {values[0].text}",
        )
        return None
    if texts and node.value.kind == "name" and not scope.param(node.value.text):
        return _word(node.value.text, node.value.span, texts, scope)
    quantity = scope.without_axes().quantity(node.value, "a condition's value")
    if quantity is None or not _same_kind(node, quantity, values, scope):
        return None
    return quantity.value


def _text(element: tree.Element, texts: list[str], scope: Scope) -> str | None:
    """`0%..50%` or `compressible 50%`, as the axis writes it."""
    closed, atoms = scope.without_axes(), element.atoms
    if element.kind == "span":
        region = region_of(atoms[0], atoms[1], element.span, closed)
        text = region and region_text(region["region"])
    else:
        data = data_from("compressible", atoms, closed)
        text = data and compressible_text(data["data"])
    return _word(text, element.span, texts, scope) if text else None


def _word(text: str, span: Span, texts: list[str], scope: Scope) -> str | None:
    if text in texts:
        return text
    shown = ", ".join(texts[:12]) + (", …" if len(texts) > 12 else "")
    scope.findings.error(
        f"the axis has no value {text!r}{did_you_mean(text, texts)}",
        span,
        f"its values are: {shown}" if texts else "",
    )
    return None


def _same_kind(
    node: tree.Comparison, quantity: Quantity, values: list[CellValue], scope: Scope
) -> bool:
    field = node.name.text.rpartition(".")[2]
    first = values[0].quantity
    kinds = (first.kind,) if first else _field_kinds(field, values)
    if quantity.kind in kinds:
        return True
    wanted = " or ".join(KIND_NAMES[kind] for kind in kinds)
    actual = KIND_NAMES[quantity.kind]
    scope.findings.error(
        f"{node.name.text} is {wanted}, not {actual}"
        if kinds
        else f"{node.name.text} is compared with one of its values, not {actual}",
        node.value.span,
        f"for example {values[0].text}",
    )
    return False


def _field_kinds(field: str, values: list[CellValue]) -> tuple[Kind, ...]:
    """What a field is compared with; the two kinds of rate cannot be compared."""
    rate = (values[0].attributes or {}).get("rate")
    return (rate[0],) if rate else _kinds_of(field)


def _kinds_of(field: str) -> tuple[Kind, ...]:
    clause = BY_WORD.get(field)
    return clause.kinds if clause else ()


def _check_reached(
    node: tree.Comparison,
    key: int | float | str,
    values: list[CellValue],
    scope: Scope,
) -> None:
    """An equality that no cell can meet is a slip of the pen."""
    if node.operator.text == "==" and all(value.key != key for value in values):
        shown = ", ".join(value.text for value in values[:12])
        scope.findings.error(
            f"{node.name.text} is never {node.value.span.text} in this test",
            node.value.span,
            f"its values are: {shown}{', …' if len(values) > 12 else ''}",
        )
