"""The drive jobs of a host: `python -m ioplan_lab.host.process SOCKET_FD`.

The process is the parent of all drive jobs, see `ioplan_lab.host.parent`. A drive job
does what a person on the host would: `ioplan run`, or `ioplan resume` if the session
has begun. So it is like any other session.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sqlite3
import sys
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import NoReturn
from urllib.parse import quote

from ioplan.backends import BackendError, find
from ioplan.cli import INTERRUPTED, RUN_FAILED, print_message, run, tune_startup
from ioplan.core import fcntl, libc, set_title
from ioplan.records import RunRequest
from ioplan.results.store import (
    LANE_BUSY_S,
    LANE_LIFE_S,
    Outbox,
    Store,
    StoreError,
    default_path,
    start,
)
from ioplan.runner import LabError, prepare_results, read_lab
from ioplan_lab.host.drive_job import DriveJob, JobState
from ioplan_lab.host.folder import JobFolder
from ioplan_lab.host.parent import Begun, requests

PRELOADED = ("ioplan.cli.commands.resume", "ioplan_lab.plugin", "numpy.ma")
"""The last is imported by NumPy in the midst of a run: 3 MiB of a drive job."""
BACKENDS = ("io_uring", "fio", "sim")
"""What most drive jobs need beside a rehearsal: imported here, all of them share it."""
REHEARSAL = """\
plan "Rehearsal"

test "T" {
  run random 4KiB 70/30 for 2s
  vary qd in 1, 4
  expect p99 < 1s
}
"""
RUNS = "SELECT count(*) AS runs FROM run WHERE session = :session"
M_ARENA_MAX, M_MMAP_THRESHOLD = -8, -3
LARGE_BYTES = 128 << 10
STORE_CACHE_BYTES = 300_000
HOLES = 1000
FILLED: list[bytes] = []
"""What fills them, and stays."""


def main(fd: str) -> None:
    """Fork a drive job for each request that comes on the socket."""
    _preload()
    set_title(["ioplan", "drive-jobs"], "ioplan jobs")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel waits for them
    with socket.socket(fileno=int(fd)) as asked:
        for begun in requests(asked):
            if not os.fork():
                asked.close()
                _live(begun)
            os.close(begun.lock)
    with suppress(ChildProcessError):
        os.wait()  # for all of them


def _preload() -> None:
    """Everything that is the same in all drive jobs, and nothing that leaves a thread.

    Objects that are frozen stay on the pages that they share. A drive job has few
    threads, which need no arena of their own, gives back what is large once it is
    freed, and reads little of the store that all share.
    """
    libc().mallopt(M_ARENA_MAX, 1)
    libc().mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)  # else it grows with what is freed
    with closing(sqlite3.connect(":memory:")) as database:  # it is for all of them
        database.execute(f"PRAGMA soft_heap_limit = {STORE_CACHE_BYTES}")
    for module in PRELOADED:
        import_module(module)
    for backend in BACKENDS:
        with suppress(BackendError):
            find(backend).availability({})  # which it remembers
    for model in (DriveJob, JobState, RunRequest):
        model.model_rebuild()
    with suppress(OSError):
        _rehearse()
    prepare_results()
    gc.collect()
    _fill_holes()
    gc.freeze()


def _fill_holes() -> None:
    """Take the free places between shared objects, in each size that Python allots.

    A drive job that put something there would copy the page for itself: 0.6 MiB of it.
    """
    for size in range(48, 513, 16):
        FILLED.extend(bytes(size - 33) for _ in range(HOLES))


def _rehearse() -> None:
    """A session on the simulated drive: what is made on first use is made once.

    Validators, compiled expressions, the interpreter's own caches: 3 MiB each.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        plan, lab = folder / "rehearsal.ioplan", folder / "lab.toml"
        plan.write_text(REHEARSAL)
        lab.touch(0o600)
        target = ("--backend", "sim", "--create", "1GiB", "--target", "rehearsal")
        places = ("--lab", str(lab), "--store", str(folder / "store.db"), "--quiet")
        run(["run", str(plan), *target, *places])
        outbox = Outbox(folder / "store.db")
        outbox.add("rehearsal", "postgresql:///")
        outbox.due()
        _with_runs(JobState(session="rehearsal"), folder / "store.db")


def _live(begun: Begun) -> NoReturn:
    """A child's life; it must not go on with what the parent does."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, _interrupted)
        _run(JobFolder(begun.folder), begun.lock)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(0)


def _run(folder: JobFolder, lock: int) -> None:
    """Do what the drive job says, and write its exit code to the folder."""
    call = folder.call()
    store = Path(call.store) if call.store else default_path()
    try:
        folder.become(lock)
        if folder.stop_file.exists():  # it was cancelled before it had a process
            raise KeyboardInterrupt
        with drives_locked(folder, call):
            code = run(_words(folder, call, store))
    except KeyboardInterrupt:
        code = INTERRUPTED
    except (OSError, StoreError) as error:
        print_message(f"error: {error}")
        code = RUN_FAILED
    sys.stderr.flush()
    folder.finish(_with_runs(folder.state(), store), code)
    with suppress(OSError):
        start(store, LANE_LIFE_S)


def _with_runs(state: JobState, path: Path) -> JobState:
    """With all runs that the store has, also of earlier lives of the session."""
    with suppress(StoreError), Store.to_read(path) as store:
        with store.reading() as connection:
            runs = connection.rows(RUNS, session=state.session)[0]["runs"]
        return state.model_copy(update={"runs": runs})
    return state


@contextmanager
def drives_locked(folder: JobFolder, call: DriveJob) -> Iterator[None]:
    """Hold the locks of all drives, taken in one order, so that no two jobs wait for
    each other."""
    locks = folder.root / "locks"
    locks.mkdir(parents=True, exist_ok=True, mode=0o700)
    with ExitStack() as stack:
        for name in sorted(_lock_names(call)):
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            fd = os.open(locks / quote(name, safe="")[-200:], flags, 0o600)
            stack.callback(os.close, fd)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                text = {"message": f"waits for {name}, which another job uses"}
                folder.write_state(folder.state().model_copy(update=text))
                fcntl.flock(fd, fcntl.LOCK_EX)
        yield


def _lock_names(call: DriveJob) -> set[str]:
    """Its drives, and what the lab file says that they share with others."""
    shared: set[str | None] = set()
    with suppress(LabError):  # which the run refuses
        targets = read_lab(call.request.lab).targets
        shared = {targets[name].lock for name in call.drives if name in targets}
    return {*call.drives, *(f"the lock {name}" for name in shared if name)}


def _interrupted(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _words(folder: JobFolder, call: DriveJob, store: Path) -> list[str]:
    """The command line of `run` or `resume`."""
    same = ["--store", str(store), "--lane", str(folder.path), "--quiet"]
    if _has_begun(store, call.session):
        return ["resume", call.session, *same]
    asked = {"targets": call.drives, "person": call.person}
    file = folder.path / "request.json"
    file.write_text(call.request.model_copy(update=asked).model_dump_json())
    return ["run", str(folder.path / call.plan), "--request", str(file), *same]


def _has_begun(store: Path, session: str) -> bool:
    if not store.exists():
        return False
    with Store.open(store, LANE_BUSY_S) as opened:
        return session in opened.ids()


if __name__ == "__main__":
    tune_startup()
    main(sys.argv[1])
