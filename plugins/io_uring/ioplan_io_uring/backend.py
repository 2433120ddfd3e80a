"""The backend: opens targets with ioplan's guard, and starts the engine on them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ioplan.backends import Availability, BackendError, Gap, TargetRequest
from ioplan.job import Job
from ioplan.language.spoken import COMMON, REPLAYS, speaking
from ioplan.runner.guard.drive import FileDrive, JoinedDrive
from ioplan.runner.guard.target import Target, open_target
from ioplan_io_uring.engine import engine_path, probe
from ioplan_io_uring.execution import EngineExecution
from ioplan_io_uring.kept import KeptTrace
from ioplan_io_uring.settings import Settings, engine_job, gaps_of, settings_of

SPEAKS = speaking(
    *COMMON,
    "starts",
    "ends",
    "dedup",
    "fua",
    "follows",
    "shaped",
    "random share",
    "random by direction",
    "rate gamma",
    "burst",
    "ramp",
    "during",
    "interval",
    "errors allowed",
    "retry",
    "hang",
    "on targets",
    "over all",
    *REPLAYS,
)
"""The words that it knows; what of them it cannot do exactly, `gaps` says."""


class IoUringDrive(FileDrive):
    """A target that the engine runs on."""

    def __init__(self, target: Target, settings: Settings) -> None:
        super().__init__(target)
        self.settings = settings
        self.program = engine_path()
        self.stamps: Path | None = None
        self.journal: int | None = None

    def start(self, job: Job) -> EngineExecution:
        """Begin a run. Raises BackendError."""
        kept = None
        if self.settings.traces:
            kept = KeptTrace.new(Path(self.settings.traces), job)
        keep = kept.prefix if kept else None
        return EngineExecution(
            self.program,
            engine_job(
                job,
                self.settings,
                stamps=self.stamps,
                keep=keep,
                journal=self.journal,
            ),
            [self.target.fd],
            kept,
            () if self.journal is None else (self.journal,),
        )


class IoUringTargets(JoinedDrive[IoUringDrive]):
    """Several targets that one engine runs on."""

    def start(self, job: Job) -> EngineExecution:
        """Begin a run. Raises BackendError."""
        first, *_ = drives = self.drives.values()
        if first.settings.traces:
            raise BackendError(
                "a run on several targets is not kept as a trace: one trace is of one "
                "target; leave out the option traces"
            )
        fds = [drive.target.fd for drive in drives]
        return EngineExecution(first.program, engine_job(job, first.settings), fds)


class IoUringBackend:
    """ioplan's own engine."""

    name = "io_uring"
    virtual_time = False
    speaks = SPEAKS
    synchronised = True
    takes_cpus = True
    measures_gaps = True
    measures_commits = True

    def availability(self, options: dict[str, Any]) -> Availability:
        """Usable wherever the engine runs; without io_uring in its sync mode."""
        try:
            settings_of(options)
            found = probe("/dev/zero")
        except BackendError as error:
            return Availability(usable=False, reason=str(error))
        reason = ""
        if not found.get("io_uring"):
            reason = f"in sync mode: {found.get('io_uring_reason', '')}"
        version = str(found.get("version", ""))
        return Availability(usable=True, version=version, reason=reason)

    def gaps(self, job: Job, options: dict[str, Any]) -> list[Gap]:
        """The engine expresses the whole language, but not in every way."""
        return gaps_of(job, settings_of(options))

    def native(self, job: Job, options: dict[str, Any]) -> str:
        """The job as the engine reads it."""
        return engine_job(job, settings_of(options), indent=2)

    def open(self, request: TargetRequest) -> IoUringDrive:
        """Open a file or a block device. Raises TargetError, BackendError."""
        engine_path()
        settings = settings_of(request.options)
        return IoUringDrive(open_target(request), settings)

    def joined(self, drives: Mapping[str, IoUringDrive]) -> IoUringTargets:
        """Several targets as one."""
        return IoUringTargets(drives)
