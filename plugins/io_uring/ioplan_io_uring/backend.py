"""The backend: opens targets with ioplan's guard, and starts the engine on them."""

from __future__ import annotations

import time
from typing import Any

from ioplan.backends import Availability, BackendError, Gap, TargetFacts, TargetRequest
from ioplan.job import SECOND_NS, Job
from ioplan.lab.purge import purge
from ioplan.lab.target import Target, open_target
from ioplan_io_uring.engine import engine_path, probe
from ioplan_io_uring.execution import EngineExecution


class IoUringDrive:
    """A file or block device, locked while it is open."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.facts: TargetFacts = target.facts
        self.program = engine_path()

    def start(self, job: Job) -> EngineExecution:
        """Begin a run."""
        return EngineExecution(self.program, job)

    def purge(self) -> str:
        """Discard the device, or punch out the file."""
        return purge(self.target)

    def idle(self, pause_ns: int) -> None:
        """Wait."""
        time.sleep(pause_ns / SECOND_NS)

    def close(self) -> None:
        """Unlock it."""
        self.target.close()


class IoUringBackend:
    """ioplan's own engine."""

    name = "io_uring"
    virtual_time = False

    def availability(self, options: dict[str, Any]) -> Availability:
        """Usable wherever the engine runs; without io_uring in its sync mode."""
        try:
            found = probe("/dev/zero")
        except BackendError as error:
            return Availability(usable=False, reason=str(error))
        reason = ""
        if not found.get("io_uring"):
            reason = f"in sync mode: {found.get('io_uring_reason', '')}"
        version = str(found.get("version", ""))
        return Availability(usable=True, version=version, reason=reason)

    def gaps(self, job: Job, options: dict[str, Any]) -> list[Gap]:
        """The engine expresses the whole language."""
        return []

    def native(self, job: Job, options: dict[str, Any]) -> str:
        """The job as the engine reads it."""
        return job.model_dump_json(indent=2)

    def open(self, request: TargetRequest) -> IoUringDrive:
        """Open a file or a block device. Raises TargetError, BackendError."""
        engine_path()
        return IoUringDrive(open_target(request))
