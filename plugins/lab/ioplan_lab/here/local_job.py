"""A job of this host alone: its folders say how it is, with a database or without."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from rich.console import Console

from ioplan.cli import INTERRUPTED, print_message
from ioplan.results.report import print_screen, sessions_screen
from ioplan.results.store import (
    LANE_LIFE_S,
    Outbox,
    Store,
    StoreError,
    delivered_now,
    make_own,
    start,
    without_password,
)
from ioplan.runner import login_name, read_lab
from ioplan_lab.database.connection import Row
from ioplan_lab.host.drive_job import DriveJob, JobState
from ioplan_lab.host.folder import JobFolder, drive_jobs_root
from ioplan_lab.host.keeper import REPORTED
from ioplan_lab.people.watch import LAST, Watched, exit_code, table, watch

LOOK_S, ENDING_S = 0.5, 60.0
AGAIN = ("refused", "stopped", "failed", "died")


class LocalJob:
    """The folders of its drive jobs, in the order of its targets."""

    def __init__(self, path: Path) -> None:
        self.id = path.name
        folders = sorted(file.parent for file in path.glob("*/call.json"))
        self.folders = list(map(JobFolder, folders))
        self.calls = [folder.call() for folder in self.folders]
        self.store = Path(self.calls[0].store)
        self.lab = read_lab(self.calls[0].request.lab)
        results = self.lab.results
        self.where = without_password(results) if results else "this host's store"

    def rows(self, advance: bool = False) -> list[Row]:
        """How each is, as the database would say it; what was killed is started anew.

        Raises StoreError.
        """
        with job_errors():
            states = [state_of(folder, advance) for folder in self.folders]
            rows = list(map(row_of, self.calls, states))
            if self.lab.results and all(state.ended for state in states):
                start(self.store, LANE_LIFE_S)
                self._note_deliveries(rows, self.lab.results, advance)
        return rows

    def _note_deliveries(self, rows: list[Row], place: str, often: bool) -> None:
        """As the database says; who asks often asks once its sender says that all is
        there."""
        sessions = [row["session"] for row in rows]
        left = Outbox(self.store).report()
        if not (often and left.keys() & set(sessions)):
            left = delivered_now(self.store, sessions, place)
        for row in rows:
            if delivery := left.get(row["session"]):
                row["stored"] = delivery.stored
                row["message"] = row["message"] or delivery.error

    # ---- what people do with it

    def watched(self, console: Console) -> int:
        """Until all have ended; Ctrl-C stops them. Returns the exit code."""
        look = partial(self.rows, advance=True)
        job = Watched(self.id, look, self.where, LOOK_S, self.lab.delivery_s)
        try:
            code = watch(console, job)
        except KeyboardInterrupt:
            was_open = self.stop(login_name())
            console.print(table(rows := self.rows()))
            code = INTERRUPTED if was_open else exit_code(rows)
        self._print_headlines(console)
        if any(row["status"] in AGAIN for row in self.rows()):
            print_message(f"to continue: ioplan resume {self.id}")
        return code

    def detached(self, console: Console) -> int:
        """They go on by themselves; returns the exit code."""
        self.rows(advance=True)
        console.print(f"how it is:   ioplan lab status {self.id}", soft_wrap=True)
        console.print(f"to watch it: ioplan resume {self.id}", soft_wrap=True)
        return 0

    def stop(self, person: str) -> int:
        """End what has not ended, and wait for it; returns how many that were."""
        with job_errors():
            open = [each for each in self.folders if not state_of(each).ended]
            until_s = time.monotonic() + ENDING_S
            for folder in open:
                folder.stop(person)
            while any(folder.is_running() for folder in open):
                if time.monotonic() > until_s:
                    text = f"after {ENDING_S:.0f} s some drive jobs have not ended"
                    raise StoreError(f"{text}; look at this host's processes")
                time.sleep(LOOK_S / 2)
        return len(open)

    def begin_again(self) -> int:
        """Let those go on that did not end well; returns how many have not ended."""
        with job_errors():
            for call, folder in zip(self.calls, self.folders, strict=True):
                state = state_of(folder)
                if state.status in AGAIN:
                    (folder.path / REPORTED).unlink(missing_ok=True)
                    change = {"round": state.round + 1}
                    JobFolder.of(call.model_copy(update=change), folder.root)
        return sum(row["status"] in ("waiting", "running") for row in self.rows())

    def _print_headlines(self, console: Console) -> None:
        """The drives beside one another, where each has figures."""
        if not self.store.exists():
            return
        with Store.to_read(self.store) as store:
            ids = {call.session for call in self.calls}
            sessions = [each for each in store.sessions() if each.id in ids][::-1]
            if sessions:
                print_screen(console, sessions_screen(store, sessions))


def state_of(folder: JobFolder, advance: bool = False) -> JobState:
    """The state now; one that was cancelled before it began has ended."""
    if advance or folder.stop_file.exists():
        return folder.advance()
    state = folder.state()
    if state.attempts and state.status == "waiting" and not folder.is_running():
        return state.model_copy(update={"message": "its process was killed"})
    return state


def row_of(call: DriveJob, state: JobState) -> Row:
    """As a row of `lab.v_drive_job`."""
    return {
        **state.model_dump(mode="json"),
        **call.model_dump(include={"job", "title", "person", "host"}),
        "drives": ", ".join(call.drives),
        "last_status": state.status,
        "stored": state.runs,
        "total": max(0 if state.ended else call.expected, state.runs),
        "silent_s": 0.0,
    }


# ---- all of this host


def local_jobs(store: Path) -> list[Path]:
    """Their folders, the newest first. Raises StoreError."""
    root = drive_jobs_root(store)
    if not root.exists():
        return []
    with job_errors():
        make_own(root)
        return sorted(filter(_is_local, root.glob("2*/")), reverse=True)


def _is_local(path: Path) -> bool:
    """A job of the lab's queue has the name of its host."""
    file = next(path.glob("*/call.json"), None)
    return bool(file and not JobFolder(file.parent).call().host)


def local_job(store: Path, key: str) -> LocalJob | None:
    """The job by its id, the beginning of it, or "last". Raises StoreError."""
    paths = {path.name: path for path in local_jobs(store)}
    alike = [path for name, path in paths.items() if name.startswith(key)]
    if key == LAST:
        alike = list(paths.values())[:1]
    elif key in paths:
        alike = [paths[key]]
    with job_errors():
        return LocalJob(alike[0]) if len(alike) == 1 else None


@contextmanager
def job_errors() -> Iterator[None]:
    """What goes wrong with folders, as an error of the command line."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        where = f" in {error.filename}" if error.filename else ""
        raise StoreError(
            f"the drive jobs cannot be started or kept{where}: {reason}; if the disk "
            "or the memory is full, make room, and go on with `ioplan resume`"
        ) from error
