"""A host of a lab: how to reach it, and what it has in place of the lab's settings."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ioplan.core.model import Model
from ioplan.target_entry import CpuList, PowerMeter, Switch, Words

# What a lab sets on a host for the time of a session.

KernelName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]


class HostSettings(Model):
    """`[prepare]` and `[hosts.NAME.prepare]`; what is absent stays as it is.

    `idle_latency_us` switches off the idle states that take longer to leave;
    `scheduler`, `nomerges` and `irq_affinity` are those of the target's drive.
    """

    governor: KernelName | None = None
    turbo: Switch | None = None
    idle_latency_us: Annotated[int, Field(strict=True, ge=0)] | None = None
    scheduler: KernelName | None = None
    nomerges: Literal[0, 1, 2] | None = None
    irq_affinity: CpuList | None = None

    def over(self, other: HostSettings | None) -> HostSettings:
        """These settings, and the other's for what these leave out."""
        said = self.model_dump(exclude_none=True)
        return (other or HostSettings()).model_copy(update=said)


Port = Annotated[int, Field(strict=True, ge=1, le=65535)]

WORKER_PORT = 8788
"""Where a worker listens. The scheduler's usual port is 8786."""
SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5")
"""A dead host is known within seconds; within 5 s, three packets were sent."""


class LabHost(Model):
    """`[hosts.NAME]`.

    `address`, else the name, is what the worker listens on and ssh connects to; `port`
    is ssh's, `worker_port` the worker's.
    `reach` is a command that runs the words after it on the host, in place of ssh.
    `store`, `backend`, `backends`, `power`, `cpus` and the keys of `prepare` override
    the lab's.
    """

    address: Words | None = None
    user: Words | None = None
    port: Port | None = None
    worker_port: Port = WORKER_PORT
    python: Words = "python3"
    reach: tuple[Words, ...] = ()
    store: Words | None = None
    backend: Words | None = None
    backends: dict[str, dict[str, Any]] = {}
    power: PowerMeter | None = None
    cpus: CpuList | None = None
    prepare: HostSettings | None = None

    def command(self, name: str) -> tuple[str, ...]:
        """The words to put before a command that is to run on this host."""
        if self.reach:
            return self.reach
        at = f"{self.user}@" if self.user else ""
        port = ("-p", str(self.port)) if self.port else ()
        return (*SSH, *port, f"{at}{self.address or name}", "--")
