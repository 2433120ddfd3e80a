"""A lab: the content of a lab file."""

from __future__ import annotations

import shlex
from typing import Annotated, Any, Literal

from pydantic import Field

from ioplan.core.error_kinds import ExplainedError, LabFault
from ioplan.core.model import Model
from ioplan.runner.lab.hosts import HostSettings, LabHost
from ioplan.target_entry import (
    Command,
    CpuList,
    Duration,
    LabTarget,
    PowerMeter,
    Words,
)

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]

AdminKey = Annotated[str, Field(pattern=r"^ed25519:[A-Za-z0-9+/]{43}=$")]
"""What an admin's signature is checked with; `ioplan lab consent key` prints it."""


class LabError(ExplainedError):
    """A lab file that cannot be used; the text says where and why."""

    def __init__(self, text: str, kind: LabFault) -> None:
        super().__init__(text, kind)


class LabEvent(Model):
    """`[events."path A down"]`: what is run for `event "path A down"` in a plan.

    `command` is a program with its arguments, run without a shell, where the session
    runs or on a `host`; after `timeout` it is killed.
    """

    command: Command
    timeout: Duration = "1min"
    host: Words | None = None


class Lab(Model):
    """The content of a lab file, or of none."""

    backend: str = "io_uring"
    backends: dict[str, dict[str, Any]] = {}
    on_failure: Literal["stop", "continue"] | None = None
    silence_s: Annotated[float, Field(gt=0)] | None = None
    targets: dict[Name, LabTarget] = {}
    power: PowerMeter | None = None
    cpus: CpuList | None = None
    prepare: HostSettings | None = None
    hosts: dict[Name, LabHost] = {}
    groups: dict[Name, tuple[Words, ...]] = {}
    events: dict[Words, LabEvent] = {}
    scheduler: Words | None = None
    results: Words | None = None
    delivery_s: Annotated[float, Field(ge=0)] = 60
    plans: tuple[Words, ...] = ()
    name: Name | None = None
    admins: dict[Name, AdminKey] = {}

    def meter_of(self, entry: LabTarget | None) -> tuple[str, ...]:
        """The command of the target's power meter, else of the lab's; empty if none."""
        power = (entry and entry.power) or self.power
        return power.command if power else ()

    def cpus_of(self, entry: LabTarget | None) -> str | None:
        """The CPUs of the target, else of the lab; None if neither names any."""
        return (entry and entry.cpus) or self.cpus

    def event_words(self, event: LabEvent) -> tuple[str, ...]:
        """The words to run here, also of an event on another host."""
        host = self.hosts.get(event.host) if event.host else None
        if event.host is None or host is None:
            return event.command
        there = event.command
        if not host.reach:
            there = tuple(map(shlex.quote, there))  # ssh passes them to a shell
        return (*host.command(event.host), *there)

    @property
    def here(self) -> dict[str, LabTarget]:
        """The targets of this host; entries of other hosts do not apply here."""
        return {
            name: one
            for name, one in self.targets.items()
            if not one.host and not one.hosts
        }

    def options_of(self, backend: str) -> dict[str, Any]:
        """A backend's options; empty if the lab has none."""
        return self.backends.get(backend, {})
