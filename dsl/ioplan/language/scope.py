"""What names stand for: parameters, and axes that decide later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from ioplan.language import quantity, tree
from ioplan.language.fields import of_kind
from ioplan.language.findings import Findings
from ioplan.language.module import Module
from ioplan.language.plan import Amount, Ref
from ioplan.language.quantity import KIND_NAMES, Kind, Quantity, QuantityError
from ioplan.language.source import Source, Span
from ioplan.suggest import did_you_mean

Made = TypeVar("Made")


class Parameters:
    """The value of each parameter: what the user set, else what the plan says."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.values: dict[int, Quantity | None] = {}
        self.used: dict[str, str] = {}

    def override(self, main: Module, settings: Mapping[str, str]) -> None:
        """Take `--set NAME=VALUE`; the kind must stay that of the plan."""
        for name, text in settings.items():
            setting = Source("--set", f"{name}={text}")
            found = main.find(name)
            if found and isinstance(found[0], tree.Param):
                self._set(found[0], found[1], setting, len(name) + 1)
            else:
                self.findings.error(
                    f"the plan has no param {name!r}{main.suggestion(name, tree.Param)}",
                    Span(setting, 0, max(1, len(name))),
                    _known_params(main),
                )

    def _set(self, param: tree.Param, module: Module, text: Source, at: int) -> None:
        span = Span(text, at, max(at + 1, len(text.text)))
        planned = self.value(param, module)
        given = self.parsed(text.text[at:], span)
        if planned and given:
            same = _rates(planned.kind) == _rates(given.kind)
            if not same:
                self.findings.error(
                    f"{param.name.text!r} is {KIND_NAMES[planned.kind]}, "
                    f"not {KIND_NAMES[given.kind]}",
                    span,
                    f"the plan says {planned.text}",
                )
            self.values[id(param)] = given

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
                return self.value(*found)
        self.findings.unknown(
            atom.text,
            f"no param {atom.text!r} stands before this one"
            f"{module.suggestion(atom.text, tree.Param)}",
            atom.span,
        )
        return None

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


@dataclass
class Scope:
    """The names that mean something at a place in a plan.

    `open_names` are those that an axis of the test decides, with their kind;
    `used` collects which of them a step has used.
    """

    module: Module
    parameters: Parameters
    open_names: Mapping[str, Kind] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    @property
    def findings(self) -> Findings:
        """Where errors go."""
        return self.parameters.findings

    def closed(self) -> Scope:
        """The same place, where no axis decides."""
        return Scope(self.module, self.parameters)

    def amount(self, atom: tree.Atom) -> Amount | None:
        """A quantity, or a reference to the axis that decides it."""
        if atom.kind != "name":
            return self.parameters.parsed(atom.text, atom.span)
        if atom.text in self.open_names:
            self.used.add(atom.text)
            return Ref(name=atom.text)
        found = self.module.find(atom.text)
        if found and isinstance(found[0], tree.Param):
            return self.parameters.value(*found)
        self._no_value(atom, found is not None)
        return None

    def _no_value(self, atom: tree.Atom, known: bool) -> None:
        if known:
            self.findings.error(f"{atom.text!r} is not a value", atom.span)
            return
        names = [*self.module.names(tree.Param), *self.open_names]
        self.findings.unknown(
            atom.text,
            f"there is no param {atom.text!r}{did_you_mean(atom.text, names)}",
            atom.span,
            "define it with: param NAME = VALUE, or vary it in this test",
        )

    def kind_of(self, amount: Amount) -> Kind:
        """The kind of a quantity, decided or open."""
        if isinstance(amount, Ref):
            return self.open_names[amount.name]
        return amount.kind

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
        if found is None or isinstance(found, Ref):
            return self._open_of_kind(found, atom, what, kinds)
        return self.parameters.guarded(atom.span, lambda: of_kind(found, what, *kinds))

    def _open_of_kind(
        self, ref: Ref | None, atom: tree.Atom, what: str, kinds: tuple[Kind, ...]
    ) -> Ref | None:
        if ref and self.open_names[ref.name] not in kinds:
            wanted = " or ".join(KIND_NAMES[kind] for kind in kinds)
            actual = KIND_NAMES[self.open_names[ref.name]]
            self.findings.error(
                f"{what} is {wanted}, but {ref.name!r} varies over {actual}", atom.span
            )
            return None
        return ref
