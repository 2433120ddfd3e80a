"""What names stand for: params, and axes that decide later."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice, product
from typing import TypeVar

from msgspec import Struct, field

from ioplan.core.text import did_you_mean
from ioplan.language.bind.bind import amount_of
from ioplan.language.checker.modules import Module, sort_of
from ioplan.language.checker.parameters import Parameters
from ioplan.language.errors.collector import Findings
from ioplan.language.fields import of_kind
from ioplan.language.foreign_words import answer
from ioplan.language.plan import (
    Amount,
    CellValue,
    Formula,
    Ref,
    ShareOf,
    Test,
    axes_of,
)
from ioplan.language.quantity import (
    KIND_NAMES,
    Kind,
    Quantity,
    QuantityError,
    make,
)
from ioplan.language.syntax import tree

Made = TypeVar("Made")
MOST_JUDGED = 10_000
"""Values of a formula that are looked at."""


class AxisName(Struct, frozen=True):
    """A name that an axis decides; without values where the axis is wrong.

    Names of one `axis` move together: their first values belong to each other, and so
    on.
    """

    name: str
    values: tuple[Quantity, ...] = ()
    axis: int = 0

    @property
    def kind(self) -> Kind | None:
        """What its values are; an axis takes values of one kind."""
        return self.values[0].kind if self.values else None


class AxisNames(Struct, frozen=True):
    """The names that a test's axes decide.

    `used` are those that a step uses; `broken` axes had errors, fields included.
    `fields` of the workload are axes, too: they can be reckoned with.

    A param that is varied is open wherever it is named, also in a workload's
    definition: the plan means the same as with the value written there.
    """

    names: dict[str, AxisName] = {}
    params: dict[int, str] = {}
    fields: dict[str, AxisName] = {}
    used: set[str] = set()
    broken: set[str] = set()


class Earlier(Struct, frozen=True):
    """Tests by their titles: those before, None after errors, and the others."""

    tests: dict[str, Test | None] = {}
    later: set[str] = set()


HIGHEST_IOPS = (make("iops", 1), make("iops", 1_000_000))
"""Between what the IOPS of a test lie that seeks nothing; more than drives have
means only that the plan's cost is overestimated."""


def found_between(test: Test) -> tuple[Quantity, Quantity]:
    """The least and the most that a test can find."""
    ends = (test.seek.lowest, test.seek.highest) if test.seek else ()
    known = [value.quantity for value in ends if value.quantity]
    return (known[0], known[-1]) if known else HIGHEST_IOPS


class Scope(Struct, frozen=True):
    """The names that mean something at a place in a plan."""

    module: Module
    parameters: Parameters
    axis_names: AxisNames = field(default_factory=AxisNames)
    elsewhere: bool = False
    """In a definition, where of a test's axes only the params are known."""
    earlier: Earlier | None = None
    """The tests before this one; None outside of tests."""

    @property
    def findings(self) -> Findings:
        """Where errors go."""
        return self.parameters.findings

    def without_axes(self) -> Scope:
        """This scope without the axes of the matrix."""
        return Scope(self.module, self.parameters)

    def within(self, module: Module) -> Scope:
        """A definition in a module, as seen from here."""
        return Scope(module, self.parameters, self.axis_names, elsewhere=True)

    def amount(self, atom: tree.Atom) -> Amount | None:
        """A quantity, or a reference to the axis that decides it."""
        if atom.kind == "reckoned":
            return self._reckoned(atom)
        if atom.kind == "share":
            return self._share(atom)
        if atom.kind != "name":
            return self.parameters.parsed(atom.text, atom.span)
        opened = self.bound_axis(atom.text)
        if opened:
            self.axis_names.used.add(opened)
            return Ref(name=opened)
        found = self.param(atom.text)
        if found:
            return self._open_param(*found) or self.parameters.value(*found)
        self._no_value(atom)
        return None

    def _open_param(self, param: tree.Param, module: Module) -> Amount | None:
        """What a param is reckoned from, where an axis decides a part of it."""
        if param.value.kind != "reckoned" or not self.axis_names.params:
            return None
        with self.findings.suppressed():
            amount = self.within(module).amount(param.value)
        return None if isinstance(amount, Quantity) else amount

    def _reckoned(self, atom: tree.Atom) -> Amount | None:
        """A quantity, or a formula of which all values are right."""
        parts = [self._operand(part) for part in atom.parts]
        known = [part for part in parts if part is not None]
        closed = [part for part in known if isinstance(part, Quantity)]
        if len(known) < len(parts) or len(closed) == len(parts):
            return self.parameters.reckoned(atom, closed)
        text = f"({atom.span.one_line})" if atom.parts else ""
        formula = Formula(operator=atom.text, parts=tuple(known), text=text[1:-1])
        made = self.parameters.guarded(atom.span, lambda: self._values(formula))
        return None if made is None else formula

    def _share(self, atom: tree.Atom) -> Amount | None:
        """`load of "TITLE"`, of a test that comes before."""
        share = self._operand(atom.parts[0])
        test = self._earlier(atom)
        if share is None or test is None:
            return None
        text = atom.span.one_line
        ends = found_between(test)
        made = ShareOf(
            share=share, test=test, lowest=ends[0], highest=ends[1], text=text
        )
        shares = self.values_of(share)
        if shares and shares[0].kind != "share":
            self.findings.error(
                f"{atom.parts[0].span.one_line} is {KIND_NAMES[shares[0].kind]}, but "
                "the result of a test can only be used as a share",
                atom.parts[0].span,
                "for example 50%",
            )
            return None
        return made

    def _earlier(self, atom: tree.Atom) -> Test | None:
        """The test that is named, if it comes before this one."""
        if self.elsewhere or self.earlier is None:
            self.findings.error(
                "the result of a test can only be used in the steps of later tests",
                atom.span,
                "write it in the run: run oltp, rate 50% of …",
            )
            return None
        title = atom.text
        if title in self.earlier.tests:
            return self.earlier.tests[title]
        if title in self.earlier.later:
            message = f"the test {title!r} is not before this one"
            self.findings.error(message, atom.span, "put it before this test")
        else:
            near = did_you_mean(title, self.earlier.tests)
            message = f"there is no test {title!r} before this one{near}"
            self.findings.error(message, atom.span)
        return None

    def _operand(self, atom: tree.Atom) -> Amount | None:
        """A part of a formula, which may be a field that the test varies."""
        if atom.kind == "name" and atom.text in self.axis_names.fields:
            return Ref(name=atom.text)
        return self.amount(atom)

    def _values(self, formula: Formula | ShareOf) -> tuple[Quantity, ...]:
        """All that a formula can come to. Raises QuantityError."""
        axes: dict[int, list[AxisName]] = {}
        for name in axes_of(formula):
            known = self.axis_names.names.get(name) or self.axis_names.fields[name]
            axes.setdefault(known.axis, []).append(known)
        rows = [list(_rows(names)) for names in axes.values()]
        if isinstance(formula, ShareOf):
            ends = (formula.lowest, formula.highest)
            rows.append(list(_rows([AxisName(formula.found_name, ends)])))
        cells = (dict(chain.from_iterable(row)) for row in product(*rows))
        return tuple(amount_of(formula, cell) for cell in islice(cells, MOST_JUDGED))

    def param(self, name: str) -> tuple[tree.Param, Module] | None:
        """The parameter of that name."""
        found = self.module.find(name)
        if found and isinstance(found[0], tree.Param):
            return found[0], found[1]
        return None

    def bound_axis(self, name: str) -> str | None:
        """The axis that decides what a name stands for, if one does.

        A param that takes its value from an open one is open as well.
        """
        if not self.elsewhere and name in self.axis_names.names:
            return name
        seen: set[int] = set()
        scope, found = self, self.param(name) if self.axis_names.params else None
        while found and id(found[0]) not in seen:
            seen.add(id(found[0]))
            if id(found[0]) in self.axis_names.params:
                return self.axis_names.params[id(found[0])]
            value = found[0].value
            scope = scope.within(found[1])
            found = scope.param(value.text) if value.kind == "name" else None
        return None

    def _no_value(self, atom: tree.Atom) -> None:
        known = self.module.find(atom.text)
        if known:
            self.findings.error(
                f"{atom.text!r} is {sort_of(known[0])}, not a value", atom.span
            )
            return
        names = [*self.module.names(tree.Param), *self.axis_names.names]
        near = did_you_mean(atom.text, names)
        here = "" if near else answer(atom.text)
        self.findings.unknown(
            atom.text,
            f"there is no {'word' if here else 'param'} {atom.text!r}{near}",
            atom.span,
            here or "define it with: param NAME = VALUE, or vary it in this test",
        )

    def kind_of(self, amount: Amount) -> Kind | None:
        """The kind of a quantity, decided or open; None where the axis is wrong."""
        if isinstance(amount, Quantity):
            return amount.kind
        values = self.values_of(amount)
        return values[0].kind if values else None

    def kind_of_atom(self, atom: tree.Atom) -> Kind | None:
        """The kind of a value as written; None where it has none."""
        with self.findings.suppressed():
            amount = self.amount(atom)
        return self.kind_of(amount) if amount is not None else None

    def values_of(self, amount: Amount) -> tuple[Quantity, ...]:
        """All values that an amount can take."""
        if isinstance(amount, Formula | ShareOf):
            return self._values(amount)
        if isinstance(amount, Ref):
            names = self.axis_names
            return (names.names.get(amount.name) or names.fields[amount.name]).values
        return (amount,)

    def judged(
        self, amount: Amount, atom: tree.Atom, judge: Callable[[Quantity], Made]
    ) -> Made | None:
        """What `judge` makes of the last value, after it has seen all of them."""
        made: Made | None = None
        for value in self.values_of(amount):
            judged = _naming(judge, atom, value)
            made = self.parameters.guarded(atom.span, judged)
            if made is None:
                return None
        return made

    def quantity(self, atom: tree.Atom, what: str) -> Quantity | None:
        """A quantity that no axis may decide."""
        found = self.amount(atom)
        if found is not None and not isinstance(found, Quantity):
            self.findings.error(
                f"{what} cannot be varied by name", atom.span, "write the value here"
            )
            return None
        return found

    def of_kind(self, atom: tree.Atom, what: str, *kinds: Kind) -> Amount | None:
        """An amount of one of these kinds."""
        found = self.amount(atom)
        if found is None or not self.values_of(found):
            return found
        judged = self.judged(found, atom, lambda value: of_kind(value, what, *kinds))
        return found if judged else None


def _rows(names: list[AxisName]) -> Iterator[list[tuple[str, CellValue]]]:
    """The values of names that move together, as a part of a cell."""
    for row in zip(*(name.values for name in names), strict=True):
        yield [
            (name.name, CellValue(text=one.text, key=one.value, quantity=one))
            for name, one in zip(names, row, strict=True)
        ]


def _naming(
    judge: Callable[[Quantity], Made], atom: tree.Atom, value: Quantity
) -> Callable[[], Made]:
    """Judge a value; where a name stands for it, an error says which it is."""

    def judged() -> Made:
        try:
            return judge(value)
        except QuantityError as error:
            if not tree.names_in(atom):
                raise
            which = f"{error}, but {atom.span.one_line!r} is {value.text}"
            raise QuantityError(which, error.help) from None

    return judged
