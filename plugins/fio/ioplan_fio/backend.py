"""The backend: opens targets with ioplan's guard, and starts fio on them."""

from __future__ import annotations

from typing import Any

from ioplan.backends import (
    COMMON,
    REPLAYS,
    Availability,
    BackendError,
    FileDrive,
    Gap,
    Job,
    Target,
    TargetRequest,
    open_target,
    speaking,
)
from ioplan_fio.execution import FioExecution
from ioplan_fio.gaps import GapContext, find_gaps
from ioplan_fio.jobfile import (
    Settings,
    arguments,
    environment,
    file_name,
    job_file,
    settings_of,
    target_of,
)
from ioplan_fio.program import OLDEST, Program, find_program, io_uring_fault
from ioplan_fio.run_files import RunFiles

OTHER_ENGINES = "choose another engine with the option engine=libaio or engine=psync"


SPEAKS = speaking(
    *COMMON,
    *REPLAYS,
    "starts",
    "ends",
    "dedup",
    "fua",
    "interval",
    "random share",
    "random by direction",
)
"""The words that it knows; what of them it cannot do exactly, `gaps` says."""


class FioDrive(FileDrive):
    """fio opens the target once more, which an exclusive holder does not hinder."""

    def __init__(
        self, target: Target, program: Program, settings: Settings, folder: str | None
    ) -> None:
        super().__init__(target)
        self.program, self.settings = program, settings
        self.folder, self.runs = folder, 0

    def start(self, job: Job) -> FioExecution:
        """Begin a run. Raises BackendError."""
        if job.run_ns is None and job.limit_bytes is None and job.passes is None:
            raise BackendError("the job has no end: give a time, bytes or passes")
        self.runs += 1
        files = RunFiles.of(self.folder, self.runs)
        return FioExecution(self.program, job, self.settings, files, self.target)


class FioBackend:
    """fio, run on job files."""

    name = "fio"
    virtual_time = False
    speaks = SPEAKS
    synchronised = True
    takes_cpus = True

    def availability(self, options: dict[str, Any]) -> Availability:
        """Usable with a fio that is new enough; a reason tells what part is not."""
        try:
            program = _program(settings_of(options))
        except BackendError as error:
            return Availability(usable=False, reason=str(error))
        reason = io_uring_fault()
        if reason:
            reason = f"{reason}; {OTHER_ENGINES}"
        return Availability(usable=True, version=program.version_text, reason=reason)

    def gaps(self, job: Job, options: dict[str, Any]) -> list[Gap]:
        """What fio cannot say exactly. Raises BackendError for unknown options."""
        settings = settings_of(options)
        return find_gaps(GapContext(job, settings.engine, _version(settings)))

    def native(self, job: Job, options: dict[str, Any]) -> str:
        """The job file, with the command that takes it. Raises BackendError."""
        settings = settings_of(options)
        named = environment(job, settings).items()
        words = [*(f"{name}={text}" for name, text in named), "fio", *arguments(job)]
        return f"# {' '.join(words)} FILE\n\n" + job_file(job, settings)

    def open(self, request: TargetRequest) -> FioDrive:
        """Open a file or a block device. Raises TargetError, BackendError."""
        settings = settings_of(request.options)
        program = _program(settings)
        reason = io_uring_fault() if settings.engine.startswith("io_uring") else ""
        if reason:
            raise BackendError(f"{reason}; {OTHER_ENGINES}")
        target = open_target(request)
        try:
            file_name(target_of(target.facts.path, settings))
        except BackendError:
            target.close()
            raise
        return FioDrive(target, program, settings, request.folder)


def _program(settings: Settings) -> Program:
    """The program, of the version that is named. Raises BackendError."""
    program, named = find_program(settings.path), settings.version
    if named and program.version[: len(named)] != named:
        asked = ".".join(map(str, named))
        raise BackendError(
            f"{program.path} is fio {program.version_text}, and option version says "
            f"{asked}; remove it, or set option path to that program"
        )
    return program


def _version(settings: Settings) -> tuple[int, ...]:
    """The version that would run; where there is none, the one with most gaps."""
    if settings.version:
        return settings.version
    try:
        return find_program(settings.path).version
    except BackendError:
        return OLDEST
