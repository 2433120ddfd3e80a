"""A host of a lab: how to reach it, and what it has in place of the lab's settings."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from ioplan.core.model import Model
from ioplan.runner.lab.host_settings import HostSettings
from ioplan.target_entry import CpuList, PowerMeter, Words

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
