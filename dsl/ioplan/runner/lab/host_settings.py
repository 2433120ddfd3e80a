"""What a lab sets on a host for the time of a session."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ioplan.core.model import Model
from ioplan.target_entry import CpuList, Switch

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
