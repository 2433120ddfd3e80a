"""A desk's turn at the queue.

One runner has a desk's folder at a time, by a lock that the kernel releases when its
process ends, however it ends. So what is `starting` under its name when it begins was
cut off, and is started again.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from ioplan.core import O_CLOEXEC, fcntl
from ioplan.records import RunRequest
from ioplan.results.store import StoreError
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.jobs.executors import Executor
from ioplan_lab.cluster.jobs.job import Job, Jobs
from ioplan_lab.cluster.jobs.lane import LaneState, gravest
from ioplan_lab.desk.errors import DeskError
from ioplan_lab.desk.queue.entry import Entry, queueable
from ioplan_lab.desk.queue.queue import Queue
from ioplan_lab.desk.work import Said, Turn

# Starting an entry the way a person does: `ioplan run … --detach`, guard and all.
#
# The job's id is known before: `run --job ID` refuses an id that is there already. So
# a start that was cut off is repeated without harm, as long as its desk is the same.

REQUEST = "request.json"
START_S = 600.0
"""A lab of 300 drives takes seconds; hosts that do not answer take minutes."""


class StartError(DeskError):
    """It was not started, and will not be; the text says why."""


def _allowed(entry: Entry) -> RunRequest:
    """Its request, as any program with the database's password may have written it."""
    try:
        return queueable(entry.request)
    except DeskError as error:
        raise StartError(str(error)) from None


class Starter(Protocol):
    """What starts entries and looks after them."""

    def is_started(self, entry: Entry) -> bool:
        """Whether its job is there."""

    def start(self, entry: Entry) -> None:
        """Start its job, unless it is there. Raises StartError."""

    def outcome(self, entry: Entry) -> str | None:
        """How it ended; None while it runs, or nothing is heard."""

    def stop(self, entry: Entry) -> None:
        """End its I/O."""


class JobStarter:
    """Jobs of this host's store, started by a child each."""

    def __init__(
        self,
        program: str,
        lab: Path | None,
        store: Path,
        folder: Path,
        connect: Callable[[Job], Executor],
    ) -> None:
        """`program` is the command line's module; `folder` is the desk's own."""
        self.program, self.lab, self.folder = program, lab, folder
        self.store, self.jobs = store, Jobs(store)
        self._connect = connect
        self._executors: dict[str | None, Executor] = {}

    def is_started(self, entry: Entry) -> bool:
        return self.jobs.has(entry.job)

    def start(self, entry: Entry) -> None:
        if self.is_started(entry):
            return
        done = self._call(self._words(entry))
        if self.is_started(entry):
            return
        said = done.stderr.strip() or f"exit code {done.returncode}"
        raise StartError(said.removeprefix("error: "))

    def _words(self, entry: Entry) -> list[str]:
        folder = self.folder / "queue" / entry.job
        plan, consent = self._written(entry, folder)
        words = ["run", str(plan), "--request", str(folder / REQUEST), "--detach"]
        words += ["--job", entry.job, "--store", str(self.store)]
        return words + ["--overwrite-from", str(consent)] * bool(consent)

    def _written(self, entry: Entry, folder: Path) -> tuple[Path, Path | None]:
        """The plan with its files, and the list of consents, in a folder of its own."""
        change = {"lab": self.lab, "person": entry.person}
        request = _allowed(entry).model_copy(update=change)
        try:
            for name, text in entry.files.items():
                file = folder / name
                if not file.resolve().is_relative_to(folder.resolve()):
                    raise StartError(f"the plan has a file outside of it: {name!r}")
                file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                file.write_text(text)
            (folder / REQUEST).write_text(request.model_dump_json())
            consent = folder / "consent.json"
            if entry.consent:
                consent.write_text(entry.consent)
        except OSError as error:
            raise StartError(f"cannot write {folder}: {error.strerror}") from error
        return folder / next(iter(entry.files)), consent if entry.consent else None

    def _call(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [sys.executable, "-m", self.program, *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                start_new_session=True,
                timeout=START_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise StartError(f"`ioplan run` was not started: {error}") from error

    def outcome(self, entry: Entry) -> str | None:
        with suppress(ClusterError, StoreError, OSError, ModuleNotFoundError):
            job = self.jobs.job(entry.job)
            executor = self._executor(job)
            try:
                job.known.update(executor.states(job.calls))
                if entry.cancelled_by:
                    job.stop_unseen()
                executor.start(job.unfinished)  # also those that were killed
            except BaseException:
                self._executors.pop(job.scheduler, None)
                raise
            if not job.unfinished:
                self.jobs.keep(job)
                return outcome_of(list(job.known.values()))
        return None

    def stop(self, entry: Entry) -> None:
        with suppress(ClusterError, StoreError, OSError, ModuleNotFoundError):
            job = self.jobs.job(entry.job)
            self._executor(job).stop(job.calls, entry.cancelled_by)

    def _executor(self, job: Job) -> Executor:
        if job.scheduler not in self._executors:
            self._executors[job.scheduler] = self._connect(job)
        return self._executors[job.scheduler]


def outcome_of(states: Sequence[LaneState]) -> str:
    """The gravest status, and why."""
    worst = gravest(states)
    why = worst.reason.removeprefix("error: ") if worst.status != "ok" else ""
    return f"{worst.status}: {why}" if why else worst.status


def desk_name(folder: Path) -> str:
    """What tells this desk from others of the same database."""
    return f"{platform.node()}:{folder.absolute()}"


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """One runner has the folder. Raises DeskError where another one has it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    fd = os.open(folder / "runner.lock", os.O_RDWR | os.O_CREAT | O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise DeskError(
            f"another desk already works on the queue, in {folder}; stop it first"
        ) from None
    finally:
        os.close(fd)


class Runner:
    """Starts what may be started, and follows it to its end.

    `checks` is what may take drives out of service before anything is started.
    """

    def __init__(
        self,
        queue: Queue,
        starter: Starter,
        desk: str,
        said: Said = lambda text: None,
        checks: Turn = lambda: None,
    ) -> None:
        self.queue, self.starter, self.desk, self.said = queue, starter, desk, said
        self.checks = checks

    def turn(self) -> None:
        """Once. Raises StoreError, LabError."""
        self.queue.give_up_lost()
        for entry in self.queue.of(self.desk):
            self._follow(entry)
        self.checks()
        while taken := self.queue.take(self.desk):
            self._start(taken)

    def _follow(self, entry: Entry) -> None:
        if entry.state != "running":  # cut off; a job that is there is not begun anew
            self._start(entry)
            return
        if entry.cancelled_by:
            self.starter.stop(entry)
        if (outcome := self.starter.outcome(entry)) is not None:
            self.queue.end(entry, outcome)
            self.said(f"#{entry.number} {entry.plan}: {outcome}")

    def _start(self, entry: Entry) -> None:
        try:
            self.starter.start(entry)
        except StartError as error:
            self.queue.end(entry, f"refused: {error}")
            self.said(f"#{entry.number} {entry.plan} was refused: {error}")
            return
        self.queue.started(entry)
        self.said(f"#{entry.number} {entry.plan} runs on {entry.target}: {entry.job}")
