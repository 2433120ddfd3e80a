"""Values of an axis that have a word: `1_000 iops poisson`, `compressible 50%`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ioplan.language.check.axes.names import Dimension
from ioplan.language.check.axes.ranges import range_of
from ioplan.language.check.clause_values import compressible_text, data_from, gamma_from
from ioplan.language.check.scope import Scope
from ioplan.language.check.streams.distributions import spots_of
from ioplan.language.clause_table import CONVERTED
from ioplan.language.fields import Attributes, data_of, percent
from ioplan.language.plan import CellValue
from ioplan.language.quantity import Quantity
from ioplan.language.syntax import tree
from ioplan.language.syntax.canonical import element as written

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
