"""Values of an axis that have a word: `1_000 iops poisson`, `compressible 50%`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ioplan.language.checker.axes.names import Dimension
from ioplan.language.checker.clause_values import (
    compressible_text,
    data_from,
    gamma_from,
)
from ioplan.language.checker.scope import Scope
from ioplan.language.checker.streams.distributions import spots_of
from ioplan.language.clause_table import CONVERTED
from ioplan.language.fields import Attributes, data_of, percent
from ioplan.language.plan import CellValue
from ioplan.language.quantity import MOST_DECIMALS, Quantity, QuantityError, make
from ioplan.language.syntax import tree
from ioplan.language.syntax.canonical import element as written

# The values of a range: `a..b doubling` or `a..b step c`.

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
        raise QuantityError(f"the range has more than {MOST_VALUES:,} values")
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


Values = Iterator[CellValue | None]


def formed(element: tree.Element, what: Dimension, scope: Scope) -> Values:
    """The values of an element that has a word; None after an error."""
    make, fields = FORMS[element.kind]
    if what.field in fields:
        yield from make(element, scope)
        return
    word = element.kind.split()[0]
    scope.findings.error(
        f"{word!r} is a value of {' or '.join(fields)}, not of {what.name}",
        element.span,
    )
    yield None


def _value(text: str, made: Attributes) -> CellValue:
    """Values with a word are told apart by their text."""
    return CellValue(text=text, key=text, attributes=made)


def _compressible(element: tree.Element, scope: Scope) -> Values:
    made = data_from("compressible", element.atoms, scope)
    yield _value(compressible_text(made["data"]), made) if made else None


def _compressible_range(element: tree.Element, scope: Scope) -> Values:
    """`compressible 0%..100% step 25%`."""
    shares = range_of(tree.Element(element.span, "stepped", element.atoms), scope)
    for share in shares or []:
        made = _made(_compressed, share, element, scope)
        yield _value(compressible_text(made["data"]), made) if made else None
        if made is None:
            return  # what is wrong with one is wrong with the rest
    if shares is None:
        yield None


def _compressed(share: Quantity) -> Attributes:
    return data_of("compressible", percent(share, "the share that compresses"))


def _gamma(element: tree.Element, scope: Scope) -> Values:
    """A rate at which the gaps between I/Os vary as said."""
    rate = scope.quantity(element.atoms[0], "a value of an axis")
    made = rate and _made(CONVERTED["rate"], rate, element, scope)
    arrivals = gamma_from(element.atoms[1], scope)
    if rate and made and arrivals:
        text = f"{rate.text} gamma {arrivals[1]:g}"
        yield _value(text, made | {"arrivals": arrivals})
    else:
        yield None


def _poisson(element: tree.Element, scope: Scope) -> Values:
    """A rate at which I/Os arrive by chance, as other processes send them."""
    rate = scope.quantity(element.atoms[0], "a value of an axis")
    made = rate and _made(CONVERTED["rate"], rate, element, scope)
    if rate and made:
        yield _value(f"{rate.text} poisson", made | {"arrivals": ("poisson", 1.0)})
    else:
        yield None


def _skewed(element: tree.Element, scope: Scope) -> Values:
    said = scope.quantity(element.atoms[0], "a value of an axis")
    made = said and _made(CONVERTED[element.kind], said, element, scope)
    yield _value(f"{element.kind} {said.text}", made) if said and made else None


def _made(
    convert: Callable[[Quantity], Attributes],
    quantity: Quantity,
    element: tree.Element,
    scope: Scope,
) -> Attributes | None:
    return scope.parameters.guarded(element.span, lambda: convert(quantity))


def _spots(element: tree.Element, scope: Scope) -> Values:
    atoms = element.atoms
    pairs = tuple(zip(atoms[::2], atoms[1::2], strict=True))
    made = spots_of(pairs, element.span, scope)
    yield _value(written(element), made) if made else None


Make = Callable[[tree.Element, Scope], Values]
SKEWED = (_skewed, ("distribution",))
FORMS: dict[str, tuple[Make, tuple[str, ...]]] = {
    "compressible": (_compressible, ("data",)),
    "compressible range": (_compressible_range, ("data",)),
    "poisson": (_poisson, ("rate",)),
    "gamma": (_gamma, ("rate",)),
    "zipf": SKEWED,
    "pareto": SKEWED,
    "normal": SKEWED,
    "hotspots": (_spots, ("hotspots", "distribution")),
}
"""What makes the values of each form, and the axes that take them."""
