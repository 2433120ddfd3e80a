"""The values of a range: `a..b doubling` or `a..b step c`."""

from __future__ import annotations

from ioplan.language.check.scope import Scope
from ioplan.language.quantity import MOST_DECIMALS, Quantity, QuantityError, make
from ioplan.language.syntax import tree

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
            "a range must increase", f"did you mean {last.text}..{first.text}?"
        )
    step = ends[2].value if kind == "stepped" else 0
    if kind == "stepped" and not step:
        raise QuantityError("the step must be more than 0")
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
        raise QuantityError("all numbers of a range must be of one kind")


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
