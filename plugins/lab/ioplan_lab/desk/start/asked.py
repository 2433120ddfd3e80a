"""What a person asks to be run, and the words of the call that does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ioplan.core.text import did_you_mean, printable
from ioplan.lab.lab import Lab
from ioplan.language.plan import FULL
from ioplan_lab.desk.errors import DeskError
from ioplan_lab.desk.queue.entry import RunOptions

MOST_TARGETS = 64


class Asked(Struct, frozen=True):
    """A plan by its name, or as a text; `targets` are names of the lab.

    `consent` is the name of a signed list.
    """

    plan: str = ""
    text: str = ""
    targets: tuple[str, ...] = ()
    profile: str = ""
    settings: tuple[str, ...] = ()
    size: str = ""
    scale: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""
    consent: str = ""
    priority: str = ""

    @property
    def checking(self) -> list[str]:
        """What `check`, `plan` and `run` are told alike."""
        words = [f"--set={one}" for one in self.settings]
        return words + ([f"--profile={self.profile}"] if self.profile else [])

    @property
    def scaling(self) -> list[str]:
        """What `plan` and `run` are told alike."""
        return [f"--scale-time={self.scale}"] if self.scale else []

    @property
    def options(self) -> RunOptions:
        """What the run is told. Raises DeskError."""
        return RunOptions(
            create=self.size,
            settings=self.settings,
            profile=self.profile or FULL,
            scale_time=_factor(self.scale),
            tags=self.tags,
            note=self.note,
        )


def _factor(word: str) -> float:
    try:
        found = float(word or 1)
    except ValueError:
        found = 0.0
    if not 0 < found <= 1000:
        raise DeskError(
            f"the time scale must be above 0, for example 0.01, not {word!r}"
        )
    return found


def asked_of(form: Mapping[str, Sequence[str]], lab: Lab) -> Asked:
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
    return Asked(
        plan=said("plan"),
        text=text if text.strip() else "",
        targets=targets,
        profile=said("profile"),
        settings=tuple(said("settings").split()),
        size=said("size"),
        scale=said("scale"),
        tags=tuple(said("tags").split()),
        note=said("note"),
        consent=said("consent"),
        priority=said("priority"),
    )
