"""A lab file's word on one host: how it is reached, and what is different there."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StrictInt

from ioplan.core.model import Model
from ioplan.target_entry import PowerMeter, Words

SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")


class LabHost(Model):
    """`[hosts.NAME]`.

    `address` is what workers listen on and what ssh takes; else the name. `reach` is
    a command that runs the program behind it on the host, in place of ssh. `store`,
    `backend`, `backends` and `power` are there in place of the lab's.
    """

    address: Words | None = None
    user: Words | None = None
    port: Annotated[StrictInt, Field(ge=1, le=65535)] | None = None
    python: Words = "python3"
    reach: tuple[Words, ...] = ()
    store: Words | None = None
    backend: Words | None = None
    backends: dict[str, dict[str, Any]] = {}
    power: PowerMeter | None = None

    def command(self, name: str) -> tuple[str, ...]:
        """What runs a program on the host of that name."""
        if self.reach:
            return self.reach
        at = f"{self.user}@" if self.user else ""
        port = ("-p", str(self.port)) if self.port else ()
        return (*SSH, *port, f"{at}{self.address or name}", "--")
