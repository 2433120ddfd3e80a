"""What ioplan calls; an author overrides `command`, and says what the program does."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ioplan.backends.backend import Availability, BackendError, Gap, TargetRequest
from ioplan.core.context import Closing
from ioplan.job import Event, Failure, Job
from ioplan.job_refusal import refusal
from ioplan.job_stream import JobStream
from ioplan.language.spoken import COMMON, speaking
from ioplan.process.execution import ProcessExecution, job_text
from ioplan.runner.guard.drive import FileDrive
from ioplan.runner.guard.target import Target, open_target


class ProcessBackend:
    """A backend around a program; its targets are files and block devices."""

    name = "process"
    version = ""
    virtual_time = False
    speaks = speaking(*COMMON, "fua")
    """The words that it knows; what of them it cannot do exactly, `gaps` says."""
    measures_gaps = True
    measures_commits = True
    """Perhaps: the protocol lets a program say both."""

    def command(self, options: dict[str, Any]) -> Sequence[str | Path]:
        """The program and its arguments. Raises BackendError."""
        raise NotImplementedError(f"{type(self).__name__} does not override command")

    def availability(self, options: dict[str, Any]) -> Availability:
        """Usable where there is the program."""
        program = str(self.command(options)[0])
        if shutil.which(program):
            return Availability(usable=True, version=self.version)
        reason = f"there is no program {program}; install it, or say where it is"
        return Availability(usable=False, reason=reason)

    def gaps(self, job: Job, options: dict[str, Any]) -> list[Gap]:
        """Closed loops of plain reads and writes, evenly spread; nothing else."""
        return find_gaps(job)

    def native(self, job: Job, options: dict[str, Any]) -> str:
        """The job as the program reads it."""
        return job_text(job, indent=2)

    def open(self, request: TargetRequest) -> ProcessDrive:
        """Open a file or a block device. Raises TargetError, BackendError."""
        found = self.availability(request.options)
        if not found.usable:
            raise BackendError(found.reason)
        return ProcessDrive(open_target(request), self, request.options)


class ProcessDrive(FileDrive):
    """A target that the program runs on, once for each run."""

    def __init__(
        self, target: Target, backend: ProcessBackend, options: dict[str, Any]
    ) -> None:
        super().__init__(target)
        self.backend, self.options = backend, options

    def start(self, job: Job) -> ProcessExecution | Refused:
        """Begin a run. Raises BackendError."""
        failure = refusal(job, self.facts, self.backend.gaps(job, self.options))
        if failure or (failure := self._elsewhere(job)):
            return Refused(failure)
        command = self.backend.command(self.options)
        who = f"the program {Path(command[0]).name}"
        try:
            return ProcessExecution(
                command, job_text(job), who=who, held_fds=[self.target.fd]
            )
        except OSError as error:
            raise BackendError(f"{who} cannot be started: {error}") from error

    def _elsewhere(self, job: Job) -> Failure | None:
        """No program is trusted to open another file than the one that was checked."""
        if job.target == self.facts.path:
            return None
        text = f"the job is for {job.target}, and {self.facts.path} is open"
        return Failure(cause="bad-job", message=text)


class Refused(Closing):
    """A run that does not begin."""

    never_waits = True

    def __init__(self, failure: Failure) -> None:
        self.failure = failure

    def __iter__(self) -> Iterator[Event]:
        """Why."""
        yield self.failure

    def stop(self) -> None:
        """Nothing runs."""

    def kill(self) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Nothing is held."""


WHO = "this backend's load generator"


def find_gaps(job: Job) -> list[Gap]:
    """All gaps of a job, stream by stream."""
    return [
        Gap(stream=stream.name, field=field, reason=reason, instead=instead)
        for stream in job.streams
        for field, reason, instead in _gaps(job, stream)
    ]


def _gaps(job: Job, stream: JobStream) -> Iterator[tuple[str, str, str]]:
    random = stream.pattern == "random"
    if stream.rate is not None:
        yield "rate", f"{WHO} has no clock for arrivals, only closed loops", ""
    if random and stream.distribution.kind != "uniform":
        spread = stream.distribution.kind
        reason = f"{WHO} spreads random I/O evenly, not as {spread}"
        yield "distribution", reason, "uniform"
    if stream.trim_percent:
        yield "trim", f"{WHO} cannot discard", ""
    if stream.sync_every is not None and stream.read_percent < 100:
        yield "sync", f"{WHO} cannot flush", "no flush"
    if stream.fua and stream.read_percent < 100:
        yield "fua", f"{WHO} has no writes with FUA", "no fua"
    if stream.verify:
        yield "verify", f"{WHO} does not remember what it wrote", ""
    if stream.data.kind == "compressible" and stream.read_percent < 100:
        yield "data", f"{WHO} makes no compressible data", "data random"
    if stream.permuted:
        reason = f"{WHO} does not remember which blocks it has visited"
        yield "permuted", reason, "independent offsets, some blocks more than once"
