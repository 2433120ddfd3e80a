"""The values of one name of a `vary`, from what stands behind its `in`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ioplan.core.text import did_you_mean
from ioplan.language.check.axis_names import Dimension
from ioplan.language.check.clause_values import (
    compressible_text,
    data_from,
    region_of,
    region_text,
)
from ioplan.language.check.scope import Scope
from ioplan.language.check.workloads import named
from ioplan.language.clause_table import CONVERTED
from ioplan.language.fields import data_of
from ioplan.language.plan import CellValue
from ioplan.language.quantity import MOST_DECIMALS, Kind, Quantity, QuantityError, make
from ioplan.language.syntax import tree
from ioplan.language.syntax.grammar import PATTERNS

MOST_VALUES = 10_000


def range_of(element: tree.Element, scope: Scope) -> list[Quantity] | None:
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


STEPS: dict[Kind, str] = {"size": "4KiB", "time": "10s", "share": "10%"}


def values_in(
    element: tree.Element, what: Dimension, scope: Scope
) -> Iterator[CellValue | None]:
    if what.field == "region" or element.kind == "span":
        yield _span(element, what, scope)
    elif element.kind == "compressible":
        yield _compressible(element, what, scope)
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


def _step(atom: tree.Atom, scope: Scope) -> str:
    """A step that would fit a range."""
    with scope.findings.suppressed():
        first = scope.amount(atom)
    return STEPS.get(scope.kind_of(first) or "number", "1") if first else "1"


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


def value_of(atom: tree.Atom, what: Dimension, scope: Scope) -> CellValue | None:
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
    made = scope.parameters.guarded(node.span, lambda: CONVERTED[field](quantity))
    if made is None:
        return None
    return CellValue(
        text=quantity.text, key=quantity.value, attributes=made, quantity=quantity
    )
