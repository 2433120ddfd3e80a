"""What ioplan calls: the entry point `ioplan_sim:SimBackend`, and an open drive."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import ioplan
from ioplan.backends import (
    Availability,
    BackendError,
    Gap,
    TargetFacts,
    TargetRequest,
)
from ioplan.job import Job
from ioplan_sim.execution import SimExecution
from ioplan_sim.flash import Flash

BLOCK_BYTES = 512
DEFAULT_BYTES = 64 << 30


class SimBackend:
    """Needs nothing, touches nothing; a run takes no time."""

    name = "sim"
    virtual_time = True

    def availability(self, options: dict[str, Any]) -> Availability:
        """Usable everywhere."""
        return Availability(usable=True, version=ioplan.__version__)

    def gaps(self, job: Job, options: dict[str, Any]) -> list[Gap]:
        """None: the whole workload language can be simulated."""
        return []

    def native(self, job: Job, options: dict[str, Any]) -> str:
        """The job itself; there is no other program to tell."""
        return job.model_dump_json(indent=2)

    def open(self, request: TargetRequest) -> SimDrive:
        """A new drive of `create_bytes`; `writes` needs no leave, nothing is lost."""
        size_bytes = request.create_bytes or DEFAULT_BYTES
        if size_bytes < 0 or size_bytes % BLOCK_BYTES:
            raise BackendError(
                f"a simulated drive of {size_bytes} bytes is not a whole number of "
                f"{BLOCK_BYTES}-byte blocks; make it a multiple of {BLOCK_BYTES}"
            )
        return SimDrive(request.path or "sim", size_bytes)


class SimDrive:
    """One drive. Its state lives here and passes from run to run."""

    def __init__(self, path: str, capacity_bytes: int) -> None:
        self.flash = Flash(capacity_bytes)
        serial = f"SIM{crc32(f'{path} {capacity_bytes}'.encode()):08X}"
        self.facts = TargetFacts(
            path=path,
            kind="simulated",
            capacity_bytes=capacity_bytes,
            block_bytes=BLOCK_BYTES,
            identity={"model": "ioplan sim", "serial": serial},
        )

    def start(self, job: Job) -> SimExecution:
        """Begin a run; virtual time passes as its events are taken."""
        return SimExecution(job, self.facts, self.flash)

    def purge(self) -> str:
        """Make the drive as new."""
        self.flash.purge()
        return "simulated format: every block erased"

    def idle(self, pause_ns: int) -> None:
        """Let virtual time pass; the drive collects garbage meanwhile."""
        self.flash.rest(pause_ns)

    def close(self) -> None:
        """Nothing is held, so nothing is given back."""
