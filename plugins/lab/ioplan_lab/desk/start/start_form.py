"""What a person asks to be run, and the words of the call that does it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, field

from ioplan.core import did_you_mean, printable
from ioplan.records import OPTIONS, RunRequest, request_of
from ioplan.runner import Lab
from ioplan_lab.desk.errors import DeskError

MOST_TARGETS = 64


class StartForm(Struct, frozen=True):
    """A plan by its name, or as a text; `targets` are names of the lab.

    `consent` is the name of a signed list.
    """

    plan: str = ""
    text: str = ""
    targets: tuple[str, ...] = ()
    request: RunRequest = field(default_factory=RunRequest)
    consent: str = ""
    priority: str = ""

    @property
    def checking(self) -> list[str]:
        """What `check`, `plan` and `run` are told alike."""
        asked = self.request
        return [
            *(f"--set={one}" for one in asked.settings),
            f"--profile={asked.profile}",
        ]

    @property
    def scaling(self) -> list[str]:
        """What `plan` and `run` are told alike."""
        return [f"--scale-time={self.request.scale_time}"]


class FormField(NamedTuple):
    """A field of the form; a tick's text is `1` or empty."""

    name: str
    label: str
    example: str
    text: str
    is_tick: bool


IN_FORM = {name: one for name, one in OPTIONS.items() if one.label}
"""Fields of a request by their names; the others have controls of their own."""


def form_fields(request: RunRequest) -> list[FormField]:
    """The fields of the form, as they are filled in."""
    return [
        FormField(
            name, one.label, one.example, _text(request, name), _default(name) is False
        )
        for name, one in IN_FORM.items()
    ]


def _default(name: str) -> Any:
    return RunRequest.model_fields[name].default


def _text(request: RunRequest, name: str) -> str:
    value = getattr(request, name)
    if value == _default(name):
        return ""
    if isinstance(value, tuple):
        return shlex.join(value)
    return "1" if value is True else str(value)


def _value(name: str, text: str) -> Any:
    """What a text of the form says. Raises ValueError."""
    default = _default(name)
    if isinstance(default, tuple):
        return shlex.split(text)
    return bool(text) if default is False else text


def _request(texts: Mapping[str, str]) -> RunRequest:
    """Raises DeskError."""
    try:
        values = {name: _value(name, text) for name, text in texts.items() if text}
        return request_of(values)
    except ValueError as error:
        raise DeskError(str(error)) from None


def start_form_of(form: Mapping[str, Sequence[str]], lab: Lab) -> StartForm:
    """What a form says. Raises DeskError for what can be no word of a call."""

    def said(name: str) -> str:
        found = form.get(name, ("",))[-1].strip()
        if printable(found) != found:
            raise DeskError(f"the field {name!r} has characters that cannot be shown")
        return found

    targets = tuple(dict.fromkeys(form.get("target", ())))
    for one in targets:
        if one not in lab.targets and one not in lab.groups:
            near = did_you_mean(one, [*lab.targets, *lab.groups])
            raise DeskError(f"the lab has no target {one!r}{near}")
    if len(targets) > MOST_TARGETS:
        raise DeskError(f"{MOST_TARGETS} targets at most; a group counts as one")
    text = form.get("text", ("",))[-1]
    return StartForm(
        plan=said("plan"),
        text=text if text.strip() else "",
        targets=targets,
        request=_request({name: said(name) for name in IN_FORM}),
        consent=said("consent"),
        priority=said("priority"),
    )
