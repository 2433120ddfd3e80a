"""What ioplan calls; an author overrides `connect`."""

from __future__ import annotations

import time
from typing import Any

from ioplan.backends import (
    Availability,
    BackendError,
    Gap,
    ProgressCallback,
    TargetFacts,
    TargetRequest,
    ignore_progress,
)
from ioplan.blocking.execution import BlockingExecution
from ioplan.blocking.gaps import find_gaps
from ioplan.blocking.threads import Device, hang_up
from ioplan.core.error_kinds import TargetFault
from ioplan.job import SECOND_NS, Job
from ioplan.language.spoken import COMMON, speaking
from ioplan.runner.guard.target import TargetError

SPEAKS = speaking(*COMMON, "fua", "interval")
"""The words that it knows; what of them it cannot do exactly, `gaps` says."""


class BlockingBackend:
    """A whole backend around blocking reads and writes."""

    name = "blocking"
    version = ""
    virtual_time = False
    speaks = SPEAKS
    block_bytes = 512
    """The smallest I/O that the target takes."""

    def connect(self, path: str, options: dict[str, Any]) -> Device:
        """A new connection. Raises OSError, TargetError or BackendError."""
        raise NotImplementedError(f"{type(self).__name__} does not override connect")

    def availability(self, options: dict[str, Any]) -> Availability:
        """Usable wherever Python is; override it where more is needed."""
        return Availability(usable=True, version=self.version)

    def gaps(self, job: Job, options: dict[str, Any]) -> list[Gap]:
        """Closed loops of plain reads and writes, evenly spread; nothing else."""
        return find_gaps(job)

    def native(self, job: Job, options: dict[str, Any]) -> str:
        """The job itself; there is no other program to tell."""
        slots = sum(stream.qd * stream.threads for stream in job.streams)
        head = f"# {slots} connections to {job.target}, one I/O at a time on each\n"
        return head + job.model_dump_json(indent=2)

    def open(self, request: TargetRequest) -> BlockingDrive:
        """Look at the target. Raises TargetError, BackendError."""
        if request.path is None:
            text = "no target is named: add --target PATH"
            raise TargetError(text, TargetFault.NO_TARGET)
        if request.writes and request.path not in (
            *request.overwrite,
            *request.overwrite_data,
        ):
            raise TargetError(
                f"the plan writes, and all that is stored on {request.path} would be "
                f"lost; to allow that, add --overwrite '{request.path}'",
                TargetFault.NO_CONSENT,
            )
        try:
            device = self.connect(request.path, request.options)
        except OSError as error:
            raise TargetError(f"cannot connect to {request.path}: {error}") from None
        try:
            facts = self.facts(request.path, device)
        finally:
            hang_up(device)
        return BlockingDrive(self, facts, request.options)

    def facts(self, path: str, device: Device) -> TargetFacts:
        """What the target is, in whole blocks. Raises TargetError."""
        size_bytes = device.size_bytes // self.block_bytes * self.block_bytes
        if not size_bytes:
            text = f"{path} is smaller than a block; use a larger one"
            raise TargetError(text, TargetFault.BELOW_BLOCK)
        return TargetFacts(
            path=path,
            kind=self.name,
            capacity_bytes=size_bytes,
            block_bytes=self.block_bytes,
        )


class BlockingDrive:
    """An open target; each run makes its own connections."""

    def __init__(
        self, backend: BlockingBackend, facts: TargetFacts, options: dict[str, Any]
    ) -> None:
        self.backend, self.facts, self.options = backend, facts, options

    def start(self, job: Job) -> BlockingExecution:
        """Begin a run."""

        def connect() -> Device:
            return self.backend.connect(self.facts.path, self.options)

        return BlockingExecution(job, self.facts, connect)

    def purge(self, on_progress: ProgressCallback = ignore_progress) -> str:
        """Nobody knows how. Raises BackendError."""
        raise BackendError(
            f"the backend {self.backend.name!r} cannot purge {self.facts.path}; write "
            f"a precondition without `purge`"
        )

    def idle(self, pause_ns: int) -> None:
        """Wait."""
        time.sleep(pause_ns / SECOND_NS)

    def close(self) -> None:
        """Nothing is held between runs."""
