"""Checks `when`: conditions on a cell of the matrix."""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.language import tree
from ioplan.language.plan import Axis, CellValue, Comparison, Condition, Junction
from ioplan.language.quantity import KIND_NAMES, Kind, Quantity
from ioplan.language.scope import Scope
from ioplan.suggest import did_you_mean

FIELD_KINDS: dict[str, tuple[Kind, ...]] = {
    "qd": ("number",),
    "threads": ("number",),
    "sync": ("number",),
    "size": ("size",),
    "align": ("size",),
    "read": ("share",),
    "trim": ("share",),
    "rate": ("iops", "bandwidth"),
}


def condition(
    node: tree.Condition, axes: tuple[Axis, ...], scope: Scope
) -> Condition | None:
    """The condition over the axes of a test, or None after errors."""
    if isinstance(node, tree.Junction):
        parts = [condition(part, axes, scope) for part in node.parts]
        made = tuple(part for part in parts if part)
        if len(made) < len(parts):
            return None
        return Junction.model_validate({"operator": node.operator, "parts": made})
    return _comparison(node, axes, scope)


def _comparison(
    node: tree.Comparison, axes: tuple[Axis, ...], scope: Scope
) -> Comparison | None:
    values = list(_values(node.name.text, axes))
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


def _values(name: str, axes: tuple[Axis, ...]) -> Iterator[CellValue]:
    for axis in axes:
        if name in axis.names:
            position = axis.names.index(name)
            yield from (row[position] for row in axis.values)


def _no_axis(word: tree.Word, axes: tuple[Axis, ...], scope: Scope) -> None:
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
    texts = {value.key for value in values if isinstance(value.key, str)}
    if node.value.kind == "name" and texts:
        return _word(node.value, texts, scope)
    quantity = scope.closed().quantity(node.value, "a condition's value")
    if quantity is None or not _same_kind(node, quantity, values, scope):
        return None
    return quantity.value


def _word(atom: tree.Atom, texts: set[str], scope: Scope) -> str | None:
    if atom.text in texts:
        return atom.text
    scope.findings.error(
        f"the axis has no value {atom.text!r}{did_you_mean(atom.text, texts)}",
        atom.span,
        f"its values are: {', '.join(sorted(texts)[:12])}",
    )
    return None


def _same_kind(
    node: tree.Comparison, quantity: Quantity, values: list[CellValue], scope: Scope
) -> bool:
    field = node.name.text.rpartition(".")[2]
    first = values[0].quantity
    kinds = (first.kind,) if first else FIELD_KINDS.get(field, ())
    if quantity.kind in kinds:
        return True
    wanted = " or ".join(KIND_NAMES[kind] for kind in kinds) or "a name"
    scope.findings.error(
        f"{node.name.text} is {wanted}, not {KIND_NAMES[quantity.kind]}",
        node.value.span,
        f"for example {values[0].text}",
    )
    return False


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
            f"{node.name.text} is never {node.value.text} in this test",
            node.value.span,
            f"its values are: {shown}{', …' if len(values) > 12 else ''}",
        )
