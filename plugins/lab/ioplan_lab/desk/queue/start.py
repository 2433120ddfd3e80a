"""Starting an entry the way a person does: `ioplan run … --detach`, guard and all.

The job's id is known before: `run --job ID` refuses an id that is there already. So a
start that was cut off is repeated without harm, as long as its desk is the same.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from ioplan.records.run_request import RunRequest
from ioplan.results.store.errors import StoreError
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.jobs.executors import Executor
from ioplan_lab.cluster.jobs.job import Job, Jobs
from ioplan_lab.cluster.jobs.lane import LaneState, gravest
from ioplan_lab.desk.errors import DeskError
from ioplan_lab.desk.queue.entry import Entry, queueable

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
