"""A lab: the content of a lab file."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from ioplan.core.error_kinds import ExplainedError, LabFault
from ioplan.core.model import Model
from ioplan.target_entry import (
    Command,
    CpuList,
    Duration,
    LabTarget,
    PowerMeter,
    Switch,
    Words,
)

# What a lab sets on a host for the time of a session.

KernelName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]


class HostSettings(Model):
    """`[prepare]`; what is absent stays as it is.

    `idle_latency_us` switches off the idle states that take longer to leave;
    `scheduler`, `nomerges` and `irq_affinity` are those of the target's drive.
    """

    governor: KernelName | None = None
    turbo: Switch | None = None
    idle_latency_us: Annotated[int, Field(strict=True, ge=0)] | None = None
    scheduler: KernelName | None = None
    nomerges: Literal[0, 1, 2] | None = None
    irq_affinity: CpuList | None = None


Port = Annotated[int, Field(strict=True, ge=1, le=65535)]

SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5")
"""A dead host is known within seconds; within 5 s, three packets were sent."""


class LabHost(Model):
    """`[hosts.NAME]`: how a host is reached.

    ssh connects to `address`, else to the name. `reach` is a command that runs the
    words after it on the host, in place of ssh. `program` is the ioplan there.
    """

    address: Words | None = None
    user: Words | None = None
    port: Port | None = None
    reach: tuple[Words, ...] = ()
    program: Words = "ioplan"

    def command(self, name: str, words: Iterable[str]) -> tuple[str, ...]:
        """The words to run here for `words` to be run on this host."""
        if self.reach:
            return (*self.reach, *words)
        at = f"{self.user}@" if self.user else ""
        port = ("-p", str(self.port)) if self.port else ()
        quoted = map(shlex.quote, words)  # ssh passes them to a shell
        return (*SSH, *port, f"{at}{self.address or name}", "--", *quoted)


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


def _hook(said: Any) -> Any:
    """An address is one word. Raises ValueError."""
    if not isinstance(said, str):
        return said
    if said.startswith(("http://", "https://")):
        return (said,)
    raise ValueError(
        'a command is a list of words, ["logger", "-t", "ioplan"], and an address '
        "begins with http:// or https://"
    )


Hook = Annotated[tuple[Words, ...], BeforeValidator(_hook)]
"""What is told of each end of a drive job on this host."""


class Lab(Model):
    """The content of a lab file, or of none."""

    backend: str = ""
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
    results: Words | None = None
    hook: Hook = ()
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
        return host.command(event.host, event.command)

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
