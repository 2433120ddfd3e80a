"""What a lab file says, as data."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from ioplan.core.error_kinds import CommandFault, ExplainedError
from ioplan.core.model import Model
from ioplan.lab.hosts import LabHost
from ioplan.target_entry import LabTarget, PowerMeter, Words

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]


class LabError(ExplainedError):
    """A lab file that cannot be used; the text says where and why."""

    kind = CommandFault.LAB


class Lab(Model):
    """A lab. `options_of` gives a backend's options."""

    backend: str = "io_uring"
    backends: dict[str, dict[str, Any]] = {}
    on_failure: Literal["stop", "continue"] | None = None
    silence_s: Annotated[float, Field(gt=0)] | None = None
    targets: dict[Name, LabTarget] = {}
    power: PowerMeter | None = None
    hosts: dict[Name, LabHost] = {}
    groups: dict[Name, tuple[Words, ...]] = {}
    scheduler: Words | None = None
    results: Words | None = None

    def meter_of(self, entry: LabTarget | None) -> tuple[str, ...]:
        """The command of the target's power meter, else the lab's; empty without."""
        power = (entry and entry.power) or self.power
        return power.command if power else ()

    @property
    def here(self) -> dict[str, LabTarget]:
        """The targets of this host: what is said of others does not hold here."""
        return {
            name: one
            for name, one in self.targets.items()
            if not one.host and not one.hosts
        }

    def options_of(self, backend: str) -> dict[str, Any]:
        """What the lab says to a backend; empty where it says nothing."""
        return self.backends.get(backend, {})
