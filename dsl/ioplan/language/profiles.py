"""Checks profiles: named sets of values for the params of a plan."""

from __future__ import annotations

from ioplan.language import tree
from ioplan.language.module import Module, place
from ioplan.language.parameters import Parameters, Settings
from ioplan.language.plan import FULL
from ioplan.language.source import Source, Span
from ioplan.suggest import did_you_mean


def picked(main: Module, name: str, parameters: Parameters) -> Settings:
    """The values of the profile of that name; all profiles are checked."""
    found = {FULL: Settings()}
    for node in main.file.items:
        if isinstance(node, tree.Profile):
            _check_name(node, found, parameters)
            found.setdefault(node.name.text, _settings(node, main, parameters))
    if name not in found:
        _unknown(name, found, main, parameters)
    return found.get(name, Settings())


def profile_names(main: Module) -> tuple[str, ...]:
    """The profiles that can be picked, the plan's own values last."""
    named = [item for item in main.file.items if isinstance(item, tree.Profile)]
    return (*(item.name.text for item in named), FULL)


def _check_name(
    node: tree.Profile, found: dict[str, Settings], parameters: Parameters
) -> None:
    name = node.name.text
    if name == FULL:
        parameters.findings.error(
            f"the profile {FULL!r} is what the params themselves say",
            node.name.span,
            "give it another name",
        )
    elif name in found:
        parameters.findings.error(
            f"there are two profiles {name!r}", node.name.span, "keep one of them"
        )


def _settings(node: tree.Profile, main: Module, parameters: Parameters) -> Settings:
    """The right ones among the values of a profile."""
    said: dict[str, Span] = {}
    made: Settings = {}
    for setting in node.settings:
        name = setting.name.text
        if name in said:
            parameters.findings.twice(repr(name), setting.name.span, said[name])
        said.setdefault(name, setting.name.span)
        made |= _setting(setting, main, parameters)
    return made


def _setting(setting: tree.Setting, main: Module, parameters: Parameters) -> Settings:
    param = parameters.settable(setting.name.text, main, setting.name.span)
    if param is None:
        return {}
    node, module = param
    if module is main and node.span.start > setting.span.start:
        parameters.findings.error(
            f"the param {setting.name.text!r} is defined later",
            setting.name.span,
            "put the profile behind it",
        )
    value = parameters.given(node, module, setting.value.text, setting.value.span)
    return {id(node): value} if value else {}


def _unknown(
    name: str, found: dict[str, Settings], main: Module, parameters: Parameters
) -> None:
    """Said of the call where it names one, and so of no place in the plan."""
    shown = Source("--profile", name)
    span = Span(shown, 0, len(name)) if name else place(main)
    parameters.findings.error(
        f"the plan has no profile {name!r}{did_you_mean(name, found)}",
        span,
        f"its profiles are: {', '.join(profile_names(main))}",
    )
