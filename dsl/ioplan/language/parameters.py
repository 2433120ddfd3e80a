"""The params of a plan: what the user set, else what the plan says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from ioplan.language import quantity, tree
from ioplan.language.findings import Findings
from ioplan.language.module import Definition, Module, sort_of
from ioplan.language.plan import Precondition, WorkloadTemplate
from ioplan.language.quantity import KIND_NAMES, Kind, Quantity, QuantityError
from ioplan.language.reach import used_params
from ioplan.language.source import Source, Span

Made = TypeVar("Made")
Settings = dict[int, Quantity | None]
"""Values that the user picks, by the identity of the param."""


class Parameters:
    """The value of each parameter: what the user set, else what the plan says.

    Beside them what definitions come to where no axis decides: made once.
    """

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.values: Settings = {}
        self.workloads: dict[int, WorkloadTemplate | None] = {}
        self.preconditions: dict[int, Precondition | None] = {}

    def override(self, main: Module, settings: Mapping[str, str]) -> Settings:
        """Values from `--set NAME=VALUE`; the kind must stay that of the plan."""
        made: Settings = {}
        for name, text in settings.items():
            setting = Source("--set", f"{name}={text}")
            param = self.settable(name, main, Span(setting, 0, max(1, len(name))))
            if param:
                end = len(setting.text)
                span = Span(setting, min(len(name) + 1, end - 1), end)
                value = self.given(*param, text, span)
                made.update({id(param[0]): value} if value else {})
        return made

    def use(self, settings: Settings) -> None:
        """Let these values count, and all that follows from them."""
        self.values = dict(settings)

    def settable(
        self, name: str, main: Module, span: Span
    ) -> tuple[tree.Param, Module] | None:
        """The param that is given another value, or None and an error."""
        found = main.find(name)
        if found and isinstance(found[0], tree.Param):
            return found[0], found[1]
        near = main.suggestion(name, tree.Param)
        message = f"the plan has no param {name!r}{near}"
        self.findings.error(message, span, _known_params(main))
        return None

    def given(
        self, param: tree.Param, module: Module, text: str, span: Span
    ) -> Quantity | None:
        """Another value, if it is of the kind that the plan says."""
        with self.findings.unsaid():
            planned = self.value(param, module)
        given = self._read(text, span, planned)
        if planned and given and _rates(planned.kind) != _rates(given.kind):
            self.findings.error(
                f"{param.name.text!r} is {KIND_NAMES[planned.kind]}, "
                f"not {KIND_NAMES[given.kind]}",
                span,
                f"the plan says {planned.text}",
            )
            return None
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
    names = ", ".join(used_params(main) or main.names(tree.Param))
    return f"its params are: {names}" if names else "it has no params"
