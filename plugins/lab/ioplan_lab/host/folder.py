"""A drive job on its host: a folder, and a process that holds the lock in it.

The process is in a session of its own, and the folder identifies the drive job: whoever
started it may end, and another process finds it again. So neither a lost database nor a
killed worker affects the I/O, and no drive job is started twice.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EBUSY
from pathlib import Path
from typing import Any

from ioplan.core import fcntl, set_title
from ioplan.results.store import make_own
from ioplan_lab.host.drive_job import BY_EXIT, DriveJob, JobState
from ioplan_lab.host.parent import start_process

MAX_ATTEMPTS = 3
PLAIN = "plain"
"""The folder of runs that people began on this host themselves."""
STATE_BYTES = 4096
SIGNAL_AGAIN_S = 10
MAX_MESSAGE = 1000
SIGNALLED = "stopped by a signal"


def drive_jobs_root(store: Path) -> Path:
    """The folder of all drive jobs of a host, beside its store."""
    return store.expanduser().absolute().parent / "drive-jobs"


class JobFolder:
    """A drive job by its folder. Methods raise OSError."""

    def __init__(self, path: Path) -> None:
        self.path, self.root = path, path.parents[1]
        self.call_file, self.state_file = path / "call.json", path / "state.json"
        self.lock_file, self.stop_file = path / "lock", path / "stop"
        self.errors_file, self.hook_file = path / "errors.txt", path / "hook"

    @classmethod
    def of(cls, call: DriveJob, root: Path) -> JobFolder:
        """The folder of a drive job; made if it is not there yet.

        One that a person lets go on begins a new round.
        """
        make_own(root)
        folder = cls(root / call.job / call.session)
        if not folder.call_file.exists():
            folder._make(call)
        elif folder.state().round < call.round:
            folder._begin_round(call)
        return folder

    def _make(self, call: DriveJob) -> None:
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name, text in call.files.items():
            file = self.path / name
            if not file.resolve().is_relative_to(self.path.resolve()):
                raise PermissionError(f"{name} is outside of the folder")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self._write_state(JobState(session=call.session, round=call.round))
        self._write_call(call)  # the last: now the drive job exists

    def _write_call(self, call: DriveJob) -> None:
        part = self.path / f"call.{os.getpid()}"
        part.write_text(call.model_dump_json())
        part.replace(self.call_file)

    def _begin_round(self, call: DriveJob) -> None:
        with self._lock() as fd:
            if fd is None:  # it still runs: this round is told of when it has ended
                return
            self.stop_file.unlink(missing_ok=True)
            self.hook_file.unlink(missing_ok=True)
            runs = self._read_state().runs
            state = JobState(session=call.session, round=call.round, runs=runs)
            self._write_state(state)
            self._write_call(call)

    def call(self) -> DriveJob:
        """What it has to do."""
        return DriveJob.model_validate_json(self.call_file.read_bytes())

    def offer(self) -> dict[str, Any]:
        """The drive job as `lab.offer` takes it; of a plain run only its title."""
        call = self.call()
        is_plain = call.job == PLAIN
        same = {"session", "round", "person", "title", "drives", "expected", "files"}
        left_out = {"targets", "lab", "person"}
        asked = call.request.model_dump(
            mode="json", exclude_defaults=True, exclude=left_out
        )
        return {
            **call.model_dump(mode="json", include=same | {"schema_version"}),
            "job": call.session if is_plain else call.job,
            "plan": "plan/none" if is_plain else call.plan,
            "title": call.title or call.plan,
            "request": asked,
        }

    # ---- its state

    def state(self) -> JobState:
        """The state that its process wrote; the actual one if it was killed."""
        state = self._read_state()
        if state.exit_code is not None or self.is_running():
            return state
        state = self._read_state()  # it may have ended just now
        if state.exit_code is None and state.attempts:
            return self._state_when_killed(state)
        return state

    def _state_when_killed(self, state: JobState) -> JobState:
        if self.stop_file.exists():
            change = {"status": "stopped", "message": self._stopped_by()}
            return state.model_copy(update=change)
        if state.attempts >= MAX_ATTEMPTS:
            text = f"its process was killed {state.attempts} times"
            why = self.errors() or text
            return state.model_copy(update={"status": "died", "message": why})
        return state.model_copy(update={"status": "waiting"})

    def write_state(self, state: JobState) -> None:
        """Write the state; never raises, as the disk may be full."""
        with suppress(OSError):
            self._write_state(state)

    def _write_state(self, state: JobState) -> None:
        """In place and with a fixed length: that needs no room on a full disk."""
        change = {"at_s": time.time(), "message": state.message[-MAX_MESSAGE:]}
        text = state.model_copy(update=change).model_dump_json()
        fd = os.open(self.state_file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(fd, text.encode().ljust(STATE_BYTES), 0)
        finally:
            os.close(fd)

    def _read_state(self) -> JobState:
        """A read in the middle of a write is repeated."""
        for _ in range(20):
            with suppress(ValueError):
                return JobState.model_validate_json(self.state_file.read_bytes())
            time.sleep(0.005)
        return JobState(session=self.path.name)

    def is_running(self) -> bool:
        """Whether its process exists: it holds the lock."""
        with self._lock(fcntl.LOCK_SH) as fd:
            return fd is None

    # ---- its process

    def advance(self) -> JobState:
        """Start it if it was not yet, or was killed; returns its state."""
        state = self.state()
        if state.ended:
            return state
        if not self.stop_file.exists():
            self._start()
            return self.state()
        if state.status == "waiting":
            change = {"status": "stopped", "message": self._stopped_by()}
            return state.model_copy(update=change)
        return state

    def _start(self) -> None:
        with self._lock() as fd:
            if fd is None or self._read_state().exit_code is not None:
                return
            state = self._read_state()
            attempts = {"attempts": state.attempts + 1, "status": "waiting"}
            self._write_state(state.model_copy(update=attempts))
            with self.errors_file.open("wb") as errors:
                start_process(self.path, fd, errors)

    def become(self, lock: int) -> None:
        """This process is the drive job's from now on, with the lock of its starter."""
        os.setsid()
        os.chdir(self.path)
        with self.errors_file.open("wb") as errors:
            os.dup2(errors.fileno(), sys.stderr.fileno())
        drives = ",".join(self.call().drives)
        title = ["ioplan", "drive-job", drives, str(self.path)]
        set_title(title, f"drive-job {drives}"[:15])
        os.pwrite(lock, str(os.getpid()).encode().ljust(16), 0)

    @contextmanager
    def _lock(self, how: int = fcntl.LOCK_EX) -> Iterator[int | None]:
        """The lock, for this block or for a child; None while another has it."""
        fd = os.open(self.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, how | fcntl.LOCK_NB)
            yield fd
        except BlockingIOError:
            yield None
        finally:
            os.close(fd)

    @contextmanager
    def held(self) -> Iterator[None]:
        """This process is that of a plain run for this block; nobody starts another."""
        with self._lock() as fd:
            if fd is None:
                raise BlockingIOError(EBUSY, "another process runs it", str(self.path))
            self.stop_file.unlink(missing_ok=True)
            os.pwrite(fd, str(os.getpid()).encode().ljust(16), 0)
            state = JobState(session=self.path.name, attempts=MAX_ATTEMPTS)
            self._write_state(state)
            yield

    # ---- its end

    def stop(self, person: str = "") -> None:
        """Stop it as Ctrl-C does; it is not started again. `person` wants it so.

        A second signal would interrupt the storing of its last run, so none is sent
        soon after the first.
        """
        was_signalled = self._was_signalled()
        if was_signalled:
            return
        if not self._stopped_by():
            self.stop_file.write_text(f"{person}\n" if person else "")
        os.utime(self.stop_file)
        if self.is_running():
            pid = int(self.lock_file.read_text() or 0)
            if self._is_own(pid):
                os.kill(pid, signal.SIGTERM)

    def _was_signalled(self) -> bool:
        try:
            return time.time() - self.stop_file.stat().st_mtime < SIGNAL_AGAIN_S
        except FileNotFoundError:
            return False

    def _is_own(self, pid: int) -> bool:
        """Process ids are reused: whether this process has the lock open."""
        with suppress(OSError):
            lock = self.lock_file.stat()
            fds = Path(f"/proc/{pid}/fd").iterdir()
            return any(is_file(fd, lock) for fd in fds)
        return False

    def finish(self, state: JobState, code: int) -> None:
        """Write the last state, when its process ends with this exit code."""
        status = BY_EXIT.get(code, "failed")
        text = "" if status == "ok" else self.errors() or state.message
        if status == "stopped":
            text = self._stopped_by() or SIGNALLED
        end = {"status": status, "exit_code": code, "message": text}
        live = {"iops": None, "p99_ns": None, "left_s": None}
        self.write_state(state.model_copy(update={**end, **live}))

    def _stopped_by(self) -> str:
        """Who has cancelled it, as a reason."""
        with suppress(OSError):
            name = self.stop_file.read_text(errors="replace").partition("\n")[0]
            return f"cancelled by {name}" if name else ""
        return ""

    def errors(self) -> str:
        """The first error that its process wrote, else the last line."""
        try:
            lines = self.errors_file.read_text(errors="replace").strip().splitlines()
        except OSError:
            return ""
        errors = (line for line in lines if line.startswith("error:"))
        return next(errors, lines[-1] if lines else "")


def is_file(fd: Path, file: os.stat_result) -> bool:
    """Whether a descriptor in /proc is of this file."""
    try:
        return os.path.samestat(fd.stat(), file)
    except OSError:  # closed meanwhile
        return False
