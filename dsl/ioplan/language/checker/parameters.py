"""The params of a plan: what the user set, else what the plan says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import astuple

from ioplan.core.text import did_you_mean
from ioplan.language import quantity
from ioplan.language.arithmetic import reckoned
from ioplan.language.checker.modules import Definition, Module, place, sort_of
from ioplan.language.errors.collector import Findings
from ioplan.language.plan import FULL, Precondition, WorkloadTemplate
from ioplan.language.quantity import KIND_NAMES, Kind, Quantity, QuantityError
from ioplan.language.syntax import tree
from ioplan.language.syntax.source import Source, Span


def used_definitions(main: Module, instead: Instead) -> set[int]:
    """What tests use, also through what they name, each by its identity."""
    found: set[int] = set()
    todo: list[tuple[tree.Test | Definition, Module]] = [
        (item, main) for item in main.file.items if isinstance(item, tree.Test)
    ]
    while todo:
        node, module = todo.pop()
        for name in _names(node):
            known = module.find(name)
            if known and isinstance(node, tree.Test):
                known = instead.get(id(known[0]), known)
            if known and id(known[0]) not in found:
                found.add(id(known[0]))
                todo.append(known)
    return found


def used_params(main: Module, instead: Instead) -> dict[str, tuple[tree.Param, Module]]:
    """The params that tests use, by the names that they have in the main file."""
    used = used_definitions(main, instead)
    found = {name: main.find(name) for name in main.names(tree.Param)}
    return {
        name: (one[0], one[1])
        for name, one in found.items()
        if one and isinstance(one[0], tree.Param) and id(one[0]) in used
    }


def _names(node: tree.Test | Definition) -> Iterator[str]:
    """The words that may stand for a definition; a test's title does not."""
    parts: list[object] = [node.statements if isinstance(node, tree.Test) else node]
    while parts:
        part = parts.pop()
        if isinstance(part, tree.Word):
            yield part.text
        elif isinstance(part, tree.Atom):
            yield from tree.names_in(part)
        elif isinstance(part, tuple):
            parts += part
        elif isinstance(part, tree.Node):
            parts += astuple(part)


Made = TypeVar("Made")
Settings = dict[int, Quantity | None]
"""Values that the user picks, by the identity of the param."""
Instead = dict[int, tuple[tree.Precondition, Module]]
"""What tests get in place of a precondition, by the identity of that."""


class Picked(Struct, frozen=True):
    """What a profile decides."""

    values: Settings = {}
    instead: Instead = {}


class Parameters:
    """The value of each parameter: what the user set, else what the plan says.

    Beside them what definitions come to where no axis decides: made once.
    """

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.values: Settings = {}
        self.instead: Instead = {}
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
        if not self.findings.may_be_of_missing(name):
            self.findings.error(message, span, "" if near else _known_params(main))
        return None

    def given(
        self, param: tree.Param, module: Module, text: str, span: Span
    ) -> Quantity | None:
        """Another value, if it is of the kind that the plan says."""
        with self.findings.suppressed():
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
            return quantity.parse_quantity(text)
        except QuantityError as error:
            help = f"the plan says {planned.text}" if planned else ""
            self.findings.error(str(error), span, help or error.help)
            return None

    def value(self, param: tree.Param, module: Module) -> Quantity | None:
        """The parameter's value; None after an error, which is noted once."""
        if id(param) not in self.values:
            self.values[id(param)] = None  # ends a circle of parameters
            self.values[id(param)] = self._evaluate(param, module)
        return self.values[id(param)]

    def _evaluate(self, param: tree.Param, module: Module) -> Quantity | None:
        return self._value_of(param.value, param, module)

    def _value_of(
        self, atom: tree.Atom, param: tree.Param, module: Module
    ) -> Quantity | None:
        if atom.kind == "reckoned":
            parts = [self._value_of(part, param, module) for part in atom.parts]
            return self.reckoned(atom, [part for part in parts if part])
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

    def reckoned(self, atom: tree.Atom, parts: list[Quantity]) -> Quantity | None:
        """What an operator makes of both parts, or None and an error."""
        if len(parts) < len(atom.parts):
            return None
        return self.guarded(atom.span, lambda: reckoned(atom.text, *parts))

    def parsed(self, text: str, span: Span) -> Quantity | None:
        """A quantity, or None and an error."""
        return self.guarded(span, lambda: quantity.parse_quantity(text))

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
    names = ", ".join(used_params(main, {}) or main.names(tree.Param))
    return f"its params are: {names}" if names else "it has no params"


def picked(main: Module, name: str, parameters: Parameters) -> Picked:
    """What the profile of that name decides; all profiles are checked."""
    found = {FULL: Picked()}
    for node in main.file.items:
        if isinstance(node, tree.Profile):
            _check_name(node, found, parameters)
            found.setdefault(node.name.text, _settings(node, main, parameters))
    if name not in found:
        _unknown(name, found, main, parameters)
    return found.get(name, Picked())


def profile_names(main: Module) -> tuple[str, ...]:
    """The profiles that can be picked, the plan's own values last."""
    named = [item for item in main.file.items if isinstance(item, tree.Profile)]
    return (*(item.name.text for item in named), FULL)


def _check_name(
    node: tree.Profile, found: dict[str, Picked], parameters: Parameters
) -> None:
    name = node.name.text
    if name == FULL:
        parameters.findings.error(
            f"the profile {FULL!r} is reserved for the values of the param lines",
            node.name.span,
            "give it another name",
        )
    elif name in found:
        parameters.findings.error(
            f"there are two profiles {name!r}", node.name.span, "keep one of them"
        )


def _settings(node: tree.Profile, main: Module, parameters: Parameters) -> Picked:
    """What is right in a profile."""
    said: dict[str, Span] = {}
    made = Picked({}, {})
    for setting in node.settings:
        name = setting.name.text
        if name in said:
            parameters.findings.twice(repr(name), setting.name.span, said[name])
        said.setdefault(name, setting.name.span)
        found = main.find(name)
        if found and isinstance(found[0], tree.Precondition):
            made.instead.update(_state(setting, found, main, parameters))
        else:
            made.values.update(_setting(setting, main, parameters))
    return made


def _setting(setting: tree.Setting, main: Module, parameters: Parameters) -> Settings:
    param = parameters.settable(setting.name.text, main, setting.name.span)
    if param is None:
        return {}
    _check_before(setting, setting.name, param, main, parameters)
    if setting.value.kind == "name":
        what = f"{setting.name.text!r} is a param, and its value is not a name"
        parameters.findings.error(what, setting.value.span, "write the value here")
        return {}
    value = parameters.given(*param, setting.value.text, setting.value.span)
    return {id(param[0]): value} if value else {}


def _state(
    setting: tree.Setting,
    known: tuple[Definition, Module],
    main: Module,
    parameters: Parameters,
) -> Instead:
    """`pre.steady4k = pre.shaped4k`: tests that name the first get the second."""
    value = setting.value
    found = main.find(value.text) if value.kind == "name" else None
    _check_before(setting, setting.name, known, main, parameters)
    if found is None or not isinstance(found[0], tree.Precondition):
        _no_state(setting, found, main, parameters)
        return {}
    _check_before(setting, value, found, main, parameters)
    return {id(known[0]): (found[0], found[1])}


def _no_state(
    setting: tree.Setting,
    found: tuple[Definition, Module] | None,
    main: Module,
    parameters: Parameters,
) -> None:
    value, help = setting.value, "name a precondition: pre.steady4k = pre.shaped4k"
    if found is None and value.kind == "name":
        near = main.suggestion(value.text, tree.Precondition)
        message = f"there is no precondition {value.text!r}{near}"
        parameters.findings.unknown(value.text, message, value.span, help)
        return
    sort = sort_of(found[0]) if found else "a value"
    message = f"{setting.name.text!r} is a precondition, and {value.text!r} is {sort}"
    parameters.findings.error(message, value.span, help)


def _check_before(
    setting: tree.Setting,
    name: tree.Word | tree.Atom,
    known: tuple[Definition, Module],
    main: Module,
    parameters: Parameters,
) -> None:
    node, module = known
    if module is main and node.span.start > setting.span.start:
        parameters.findings.error(
            f"{sort_of(node).replace('a ', 'the ')} {name.text!r} is defined later",
            name.span,
            "move the profile after it",
        )


def _unknown(
    name: str, found: dict[str, Picked], main: Module, parameters: Parameters
) -> None:
    """Said of the call where it names one, and so of no place in the plan."""
    shown = Source("--profile", name)
    span = Span(shown, 0, len(name)) if name else place(main)
    parameters.findings.error(
        f"the plan has no profile {name!r}{did_you_mean(name, found)}",
        span,
        f"its profiles are: {', '.join(profile_names(main))}",
    )
