"""The backend: opens targets with ioplan's guard, and starts the engine on them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from msgspec import Struct

from ioplan.backends import (
    COMMON,
    REPLAYS,
    Availability,
    BackendError,
    Event,
    Failure,
    FileDrive,
    Gap,
    Job,
    JoinedDrive,
    ProcessExecution,
    Result,
    Target,
    TargetRequest,
    TraceError,
    open_target,
    speaking,
)
from ioplan_io_uring.settings import Settings, engine_job, gaps_of, settings_of

# Where the engine is, and what it says of this machine.

NAME = "ioplan-engine"
HERE = Path(__file__).resolve().parent
PLACES = (HERE / "bin" / NAME, HERE.parent / "engine" / "target" / "release" / NAME)
HOW_TO_BUILD = (
    "the engine was not built: install Rust's cargo, then install ioplan again (in a "
    "clone: make demo), or name the program in IOPLAN_ENGINE"
)
PROBE_S = 20


def engine_path() -> Path:
    """The engine's program. Raises BackendError."""
    named = os.environ.get("IOPLAN_ENGINE")
    if named:
        if not os.access(named, os.X_OK):
            raise BackendError(f"IOPLAN_ENGINE names {named}, which cannot be run")
        return Path(named)
    for place in PLACES:
        if os.access(place, os.X_OK):
            return place
    raise BackendError(HOW_TO_BUILD)


def probe(path: str) -> dict[str, Any]:
    """What the engine says of itself, of io_uring and of a path; asked once."""
    return _probed(engine_path(), path)


def clock_reading(program: Path) -> dict[str, str]:
    """For the environment of a run: the engine's clocks as its last probe saw them.

    Where there was none, the run takes 10 ms longer to begin.
    """
    return CLOCKS.get(program, {})


CLOCKS: dict[Path, dict[str, str]] = {}


@cache
def _probed(program: Path, path: str) -> dict[str, Any]:
    try:
        done = subprocess.run(
            [program, "probe", path],
            capture_output=True,
            timeout=PROBE_S,
            text=True,
            check=False,
        )
        found = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise BackendError(f"the engine {program} does not answer: {error}") from error
    if not isinstance(found, dict):
        raise BackendError(f"the engine {program} sent an invalid answer")
    if reading := found.get("clock"):
        CLOCKS[program] = {"IOPLAN_CLOCK": str(reading)}
    return found


# What a run did, kept as a trace: the files of its threads, joined when it ends.


class KeptTrace(Struct, frozen=True):
    """A trace to be: where, and of how many threads."""

    path: Path
    threads: int

    @classmethod
    def new(cls, folder: Path, job: Job) -> KeptTrace:
        """The next number that is free in a folder. Raises BackendError."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BackendError(f"no traces in {folder}: {error.strerror}") from error
        numbered = (folder / f"run-{number:04}.iotrace" for number in count(1))
        path = next(path for path in numbered if not path.exists())
        return cls(path.resolve(), sum(stream.threads for stream in job.streams))

    @property
    def prefix(self) -> Path:
        """What the names of the threads' files begin with."""
        return self.path.with_suffix(".thread")

    def _parts(self) -> list[Path]:
        return sorted(self.path.parent.glob(f"{self.prefix.name}.*"))

    def join(self, result: Result) -> Result | Failure:
        """The result that names the trace; a failure where it is not whole."""
        parts = self._parts()
        try:
            if len(parts) < self.threads:
                raise TraceError("a thread could not write its part; is the disk full?")
            import_module("ioplan.trace.convert").joined(parts, self.path)  # by numpy
        except (TraceError, OSError) as error:
            self.path.unlink(missing_ok=True)
            text = f"the trace {self.path} could not be kept: {error}"
            return Failure(cause="backend-error", message=text)
        facts = {**result.facts, "trace": self.path.name}
        return result.model_copy(update={"facts": facts})

    def remove_parts(self) -> None:
        """Whatever became of the run."""
        for part in self._parts():
            part.unlink(missing_ok=True)


# One run of the engine: the program of this backend, and how it is called.


class EngineExecution(ProcessExecution):
    """A running engine."""

    def __init__(
        self,
        program: Path,
        job: str,
        held_fds: Sequence[int],
        kept: KeptTrace | None = None,
        kept_fds: Sequence[int] = (),
    ) -> None:
        """`job` is JSON in one line; `held_fds` the locked targets; `kept_fds` are
        inherited, too."""
        self.kept = kept
        super().__init__(
            [program, "run", "--lifeline"],
            job,
            who="the engine",
            held_fds=held_fds,
            kept_fds=kept_fds,
            environment=clock_reading(program),
        )

    def __iter__(self) -> Iterator[Event]:
        """Events up to Result or Failure; with the trace, where one is kept."""
        if self.kept is None:
            yield from super().__iter__()
            return
        try:
            for event in super().__iter__():
                yield self.kept.join(event) if isinstance(event, Result) else event
        finally:
            self.kept.remove_parts()


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
            ),
            [self.target.fd],
            kept,
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
