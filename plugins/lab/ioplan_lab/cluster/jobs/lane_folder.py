"""A lane on its host: a folder, and a process that holds the lock in it.

The process is in a session of its own, and the folder identifies the lane: whoever
started it may end, and another process finds it again. So neither a lost connection
nor a killed worker affects the I/O, and no lane is started twice.
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

from ioplan.core import fcntl, set_title
from ioplan.results.store import default_path, is_address, make_own
from ioplan_lab.cluster.jobs.lane import (
    BY_EXIT,
    CANCELLED,
    LaneCall,
    LaneState,
    initial_state,
)
from ioplan_lab.cluster.jobs.lane_parent import start_lane
from ioplan_lab.cluster.jobs.reporting import enter
from ioplan_lab.cluster.jobs.traces import put

MAX_ATTEMPTS = 3
STATE_BYTES = 4096
SIGNAL_AGAIN_S = 10
MAX_MESSAGE = 1000
LANES = "lanes"
SIGNALLED = "stopped by a signal"


def lanes_root(store: str | None = None) -> Path:
    """The folder of all lanes of a host, beside its store."""
    path = Path(store).expanduser() if store else default_path()
    return path.absolute().parent / LANES


class LaneFolder:
    """A lane by its folder. Methods raise OSError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.call_file, self.state_file = path / "call.json", path / "state.json"
        self.lock_file, self.stop_file = path / "lock", path / "stop"
        self.errors_file = path / "errors.txt"

    @classmethod
    def of(cls, call: LaneCall) -> LaneFolder:
        """The folder of a call on this host; made if it is not there yet."""
        root = lanes_root(call.store)
        make_own(root)
        folder = cls(root / call.job / call.session)
        if not folder.call_file.exists():
            folder._make(call)
        return folder

    def _make(self, call: LaneCall) -> None:
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name, text in {**call.files, "lab.toml": call.lab}.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            put(file, text, self.path.parents[1])
        self._write_state(initial_state(call))
        part = self.path / f"call.{os.getpid()}"
        part.write_text(call.model_dump_json())
        self._report_again(call)
        part.replace(self.call_file)  # the last: now the lane exists

    def _report_again(self, call: LaneCall) -> None:
        """Its states are told to the lab's database, until the last one is there."""
        if call.results and is_address(call.results):
            enter(self.path.parents[1], call.session)

    def call(self) -> LaneCall:
        """What it has to do."""
        return LaneCall.model_validate_json(self.call_file.read_text())

    # ---- its state

    def state(self) -> LaneState:
        """The state that the lane's process wrote; the actual one if it was killed."""
        state = self._read_state()
        if state.exit_code is not None:
            return state
        if self.is_running():
            return state
        state = self._read_state()  # it may have ended just now
        if state.exit_code is None and state.attempts:
            return self._state_when_killed(state)
        return state

    def _state_when_killed(self, state: LaneState) -> LaneState:
        if self.stop_file.exists():
            change = {"status": "stopped", "message": self._stopped_by()}
            return state.model_copy(update=change)
        if state.attempts >= MAX_ATTEMPTS or not self.call().plan:
            often = f"{state.attempts} times" if state.attempts > 1 else "once"
            text = f"its process was ended {often} without a word"
            change = {"status": "died", "message": text}
            return state.model_copy(update=change | self._said())
        return state.model_copy(update={"status": "waiting"})

    def write_state(self, state: LaneState) -> None:
        """Write the state; never raises, as the disk may be full."""
        with suppress(OSError):
            self._write_state(state)

    def _write_state(self, state: LaneState) -> None:
        """In place and with a fixed length: that needs no room on a full disk."""
        change = {"at_s": time.time(), "message": state.message[-MAX_MESSAGE:]}
        text = state.model_copy(update=change).model_dump_json()
        fd = os.open(self.state_file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(fd, text.encode().ljust(STATE_BYTES), 0)
        finally:
            os.close(fd)

    def _read_state(self) -> LaneState:
        """A read in the middle of a write is repeated."""
        for _ in range(20):
            with suppress(ValueError):
                return LaneState.model_validate_json(self.state_file.read_bytes())
            time.sleep(0.005)
        return initial_state(self.call())

    def is_running(self) -> bool:
        """Whether its process exists: it holds the lock."""
        with self._lock(fcntl.LOCK_SH) as fd:
            return fd is None

    # ---- its process

    def advance(self, program: str) -> LaneState:
        """Start it if it was not yet, or was killed; returns its state.

        `program` is the module that runs a lane.
        """
        state = self.state()
        if not state.ended and not self.stop_file.exists():
            self._start(program)
            return self.state()
        if self.stop_file.exists() and state.status == "waiting":
            change = {"status": "stopped", "message": self._stopped_by()}
            return state.model_copy(update=change)
        return state

    def _start(self, program: str) -> None:
        with self._lock() as fd:
            if fd is None or self._read_state().exit_code is not None:
                return
            state = self._read_state()
            attempts = {"attempts": state.attempts + 1, "status": "waiting"}
            self._write_state(state.model_copy(update=attempts))
            with self.errors_file.open("wb") as errors:
                start_lane(program, self.path, fd, errors)

    def become(self, lock: int) -> None:
        """This process is the lane's from now on, with the lock of who asked for it.

        It is in a session of its own, and its errors go to the folder.
        """
        os.setsid()
        os.chdir(self.path)
        with self.errors_file.open("wb") as errors:
            os.dup2(errors.fileno(), sys.stderr.fileno())
        target = self.call().target
        set_title(["ioplan", "lane", target, str(self.path)], f"lane {target}")
        os.pwrite(lock, str(os.getpid()).encode().ljust(16), 0)

    @contextmanager
    def held(self) -> Iterator[None]:
        """This process is the lane's for this block; nobody starts it again."""
        with self._lock() as fd:
            if fd is None:
                raise BlockingIOError(EBUSY, "another process runs it", str(self.path))
            self.stop_file.unlink(missing_ok=True)
            os.pwrite(fd, str(os.getpid()).encode().ljust(16), 0)
            begun = initial_state(call := self.call())
            self._write_state(begun.model_copy(update={"attempts": 1}))
            self._report_again(call)
            yield

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

    def stop(self, person: str = "") -> None:
        """Stop it as Ctrl-C does; it is not started again. `person` wants it so.

        A second signal would interrupt the storing of its last run, so none is sent
        soon after the first.
        """
        was_signalled = self._was_signalled()
        with self.stop_file.open("a") as file:
            file.write("" if was_signalled or not person else f"{person}\n")
        os.utime(self.stop_file)
        if self.is_running() and not was_signalled:
            pid = int(self.lock_file.read_text() or 0)
            if self._is_own(pid):
                os.kill(pid, signal.SIGTERM)

    def _was_signalled(self) -> bool:
        try:
            return time.time() - self.stop_file.stat().st_mtime < SIGNAL_AGAIN_S
        except FileNotFoundError:
            return False

    def _is_own(self, pid: int) -> bool:
        """Process ids are reused: whether this process has the lane's lock open."""
        with suppress(OSError):
            lock = self.lock_file.stat()
            fds = Path(f"/proc/{pid}/fd").iterdir()
            return any(_is_same(one, lock) for one in fds)
        return False

    def reset(self) -> bool:
        """Let it be started again if it was stopped, refused or has failed.

        Returns whether that was so.
        """
        with self._lock() as fd:
            state = self._read_state()
            if fd is None or state.status in ("ok", "unmet"):
                return False
            self.stop_file.unlink(missing_ok=True)
            change = {
                "exit_code": None,
                "attempts": 0,
                "message": "",
                "errors_file": "",
            }
            fresh = state.model_copy(update=change | {"status": "waiting"})
            self._write_state(fresh)
            self._report_again(self.call())
            return True

    def finish(self, state: LaneState, code: int) -> None:
        """Write the last state, when its process ends with this exit code."""
        status = BY_EXIT.get(code, "failed")
        text = "" if status == "ok" else self.errors() or state.message
        if status == "stopped":
            text = self._stopped_by() or SIGNALLED
        change = {"status": status, "exit_code": code, "message": text}
        change |= self._said()
        self.write_state(
            state.model_copy(update=change | {"iops": None, "p99_ns": None})
        )

    def _stopped_by(self) -> str:
        """Who has cancelled it first, as a reason."""
        with suppress(OSError):
            names = self.stop_file.read_text(errors="replace").split("\n")
            return f"{CANCELLED}{names[0]}" if names[0] else ""
        return ""

    def _said(self) -> dict[str, str]:
        """Where its errors are, if it had any."""
        return {"errors_file": str(self.errors_file)} if self.errors() else {}

    def errors(self) -> str:
        """What its process wrote to standard error."""
        try:
            return self.errors_file.read_text(errors="replace").strip()
        except OSError:
            return ""


def _is_same(fd: Path, file: os.stat_result) -> bool:
    try:
        return os.path.samestat(fd.stat(), file)
    except OSError:  # closed meanwhile
        return False


def lane_folders(root: Path, job: str = "*") -> list[LaneFolder]:
    """The lanes below a root, the newest job first."""
    found = (file.parent for file in root.glob(f"{job}/*/call.json"))
    return [LaneFolder(path) for path in sorted(found, reverse=True)]
