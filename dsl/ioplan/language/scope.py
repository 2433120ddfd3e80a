"""What names stand for: parameters, and axes that decide later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from ioplan.language import quantity, tree
from ioplan.language.fields import of_kind
from ioplan.language.findings import Findings
from ioplan.language.module import Definition, Module, sort_of
from ioplan.language.plan import Amount, Precondition, Ref, WorkloadTemplate
from ioplan.language.quantity import KIND_NAMES, Kind, Quantity, QuantityError
from ioplan.language.source import Source, Span
from ioplan.suggest import did_you_mean

Made = TypeVar("Made")


class Parameters:
    """The value of each parameter: what the user set, else what the plan says.

    Beside them what definitions come to where no axis decides: made once.
    """

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.values: dict[int, Quantity | None] = {}
        self.workloads: dict[int, WorkloadTemplate | None] = {}
        self.preconditions: dict[int, Precondition | None] = {}

    def override(self, main: Module, settings: Mapping[str, str]) -> None:
        """Take `--set NAME=VALUE`; the kind must stay that of the plan."""
        given: dict[int, Quantity] = {}
        for name, text in settings.items():
            setting = Source("--set", f"{name}={text}")
            param = main.find(name)
            if param and isinstance(param[0], tree.Param):
                value = self._given(param[0], param[1], setting, len(name) + 1)
                given.update({id(param[0]): value} if value else {})
            else:
                near = main.suggestion(name, tree.Param)
                self.findings.error(
                    f"the plan has no param {name!r}{near}",
                    Span(setting, 0, max(1, len(name))),
                    _known_params(main),
                )
        # What was read to know the kinds may follow from what is set now.
        self.values = dict(given)

    def _given(
        self, param: tree.Param, module: Module, setting: Source, at: int
    ) -> Quantity | None:
        """The value of a setting, if it is of the kind that the plan says."""
        end = len(setting.text)
        span = Span(setting, min(at, end - 1), end)
        with self.findings.unsaid():
            planned = self.value(param, module)
        given = self._read(setting.text[at:], span, planned)
        if planned and given and _rates(planned.kind) != _rates(given.kind):
            self.findings.error(
                f"{param.name.text!r} is {KIND_NAMES[planned.kind]}, "
                f"not {KIND_NAMES[given.kind]}",
                span,
                f"the plan says {planned.text}",
            )
        return given

    def _read(self, text: str, span: Span, planned: Quantity | None) -> Quantity | None:
        try:
            return quantity.parse(text)
        except QuantityError as error:
            help = f"the plan says {planned.text}" if planned else ""
            self.findings.error(str(error), span, error.help or help)
            return None

    def value(self, param: tree.Param, module: Module) -> Quantity | None:
        """The parameter's value; None after an error, which is noted once."""
        if id(param) not in self.values:
            self.values[id(param)] = None  # ends a circle of parameters
            self.values[id(param)] = self._evaluate(param, module)
        return self.values[id(param)]

    def _evaluate(self, param: tree.Param, module: Module) -> Quantity | None:
        atom = param.value
        if atom.kind != "name":
            return self.parsed(atom.text, atom.span)
        found = module.find(atom.text)
        if found and isinstance(found[0], tree.Param):
            earlier = found[1] is not module or found[0].span.start < param.span.start
            if earlier:
                return self.value(found[0], found[1])
        self._no_param(atom, found, module)
        return None

    def _no_param(
        self, atom: tree.Atom, found: tuple[Definition, Module] | None, module: Module
    ) -> None:
        if found and isinstance(found[0], tree.Param):
            self.findings.error(
                f"the param {atom.text!r} is defined later, or by itself",
                atom.span,
                "define it before it is used",
            )
        elif found:
            self.findings.error(
                f"{atom.text!r} is {sort_of(found[0])}, not a param", atom.span
            )
        else:
            near = module.suggestion(atom.text, tree.Param)
            message = f"there is no param {atom.text!r}{near}"
            self.findings.unknown(atom.text, message, atom.span)

    def parsed(self, text: str, span: Span) -> Quantity | None:
        """A quantity, or None and an error."""
        return self.guarded(span, lambda: quantity.parse(text))

    def guarded(self, span: Span, make: Callable[[], Made]) -> Made | None:
        """What `make` makes; a QuantityError becomes an error at the place."""
        try:
            return make()
        except QuantityError as error:
            self.findings.error(str(error), span, error.help)
            return None


def _rates(kind: Kind) -> str:
    """Both kinds of rate may stand for one another."""
    return "rate" if kind in ("iops", "bandwidth") else kind


def _known_params(main: Module) -> str:
    names = ", ".join(main.names(tree.Param))
    return f"its params are: {names}" if names else "it has no params"


@dataclass(frozen=True)
class OpenName:
    """A name that an axis decides; without values where the axis is wrong."""

    name: str
    values: tuple[Quantity, ...] = ()

    @property
    def kind(self) -> Kind | None:
        """What its values are; an axis takes values of one kind."""
        return self.values[0].kind if self.values else None


@dataclass
class Open:
    """The names that a test's axes decide.

    `used` are those that a step uses; `broken` axes had errors, fields included.

    A param that is varied is open wherever it is named, also in a workload's
    definition: the plan means the same as with the value written there.
    """

    names: dict[str, OpenName] = field(default_factory=dict)
    params: dict[int, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)


@dataclass
class Scope:
    """The names that mean something at a place in a plan."""

    module: Module
    parameters: Parameters
    open: Open = field(default_factory=Open)
    elsewhere: bool = False
    """In a definition, where of a test's axes only the params are known."""

    @property
    def findings(self) -> Findings:
        """Where errors go."""
        return self.parameters.findings

    def closed(self) -> Scope:
        """The same place, where no axis decides."""
        return Scope(self.module, self.parameters)

    def within(self, module: Module) -> Scope:
        """A definition in a module, as seen from here."""
        return Scope(module, self.parameters, self.open, elsewhere=True)

    def amount(self, atom: tree.Atom) -> Amount | None:
        """A quantity, or a reference to the axis that decides it."""
        if atom.kind != "name":
            return self.parameters.parsed(atom.text, atom.span)
        opened = self.opened(atom.text)
        if opened:
            self.open.used.add(opened)
            return Ref(name=opened)
        found = self.param(atom.text)
        if found:
            return self.parameters.value(*found)
        self._no_value(atom)
        return None

    def param(self, name: str) -> tuple[tree.Param, Module] | None:
        """The parameter of that name."""
        found = self.module.find(name)
        if found and isinstance(found[0], tree.Param):
            return found[0], found[1]
        return None

    def opened(self, name: str) -> str | None:
        """The axis that decides what a name stands for, if one does.

        A param that takes its value from an open one is open as well.
        """
        if not self.elsewhere and name in self.open.names:
            return name
        seen: set[int] = set()
        scope, found = self, self.param(name) if self.open.params else None
        while found and id(found[0]) not in seen:
            seen.add(id(found[0]))
            if id(found[0]) in self.open.params:
                return self.open.params[id(found[0])]
            value = found[0].value
            scope = scope.within(found[1])
            found = scope.param(value.text) if value.kind == "name" else None
        return None

    def kind_of_name(self, name: str) -> Kind | None:
        """The kind of what a name stands for, if it is a value."""
        opened = self.opened(name)
        if opened:
            return self.open.names[opened].kind
        found = self.param(name)
        value = self.parameters.value(*found) if found else None
        return value.kind if value else None

    def _no_value(self, atom: tree.Atom) -> None:
        known = self.module.find(atom.text)
        if known:
            self.findings.error(
                f"{atom.text!r} is {sort_of(known[0])}, not a value", atom.span
            )
            return
        names = [*self.module.names(tree.Param), *self.open.names]
        self.findings.unknown(
            atom.text,
            f"there is no param {atom.text!r}{did_you_mean(atom.text, names)}",
            atom.span,
            "define it with: param NAME = VALUE, or vary it in this test",
        )

    def kind_of(self, amount: Amount) -> Kind | None:
        """The kind of a quantity, decided or open; None where the axis is wrong."""
        if isinstance(amount, Ref):
            return self.open.names[amount.name].kind
        return amount.kind

    def values_of(self, amount: Amount) -> tuple[Quantity, ...]:
        """All values that an amount can take."""
        if isinstance(amount, Ref):
            return self.open.names[amount.name].values
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
        if isinstance(found, Ref):
            self.findings.error(
                f"{what} cannot be varied by a name", atom.span, "write the value here"
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


def _naming(
    judge: Callable[[Quantity], Made], atom: tree.Atom, value: Quantity
) -> Callable[[], Made]:
    """Judge a value; where a name stands for it, an error says which it is."""

    def judged() -> Made:
        try:
            return judge(value)
        except QuantityError as error:
            if atom.kind != "name":
                raise
            which = f"{error}, but {atom.text!r} is {value.text}"
            raise QuantityError(which, error.help) from None

    return judged
