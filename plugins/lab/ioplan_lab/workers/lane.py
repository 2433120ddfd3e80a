"""The lanes of a host: `python -m ioplan_lab.workers.lane SOCKET_FD`.

The process is the parent of all lanes, see `ioplan_lab.cluster.jobs.lane_parent`. A
lane does what a person on the host would: `ioplan run`, or `ioplan resume` if the
session has begun. So it is like any other session.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sqlite3
import sys
import traceback
from collections.abc import Callable
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import NoReturn

from ioplan.backends import BackendError, find
from ioplan.cli import INTERRUPTED, RUN_FAILED, print_message, run, tune_startup
from ioplan.core import libc, set_title
from ioplan.records import RunRequest
from ioplan.results.store import (
    LANE_BUSY_S,
    LANE_LIFE_S,
    Store,
    StoreError,
    default_path,
    start,
)
from ioplan.runner import prepare_results
from ioplan_lab.cluster.jobs.lane import LaneCall, LaneState
from ioplan_lab.cluster.jobs.lane_folder import LaneFolder
from ioplan_lab.cluster.jobs.lane_parent import Begun, requests
from ioplan_lab.cluster.jobs.locks import locked

PRELOADED = ("ioplan.cli.commands.resume", "ioplan_lab.plugin")
BACKENDS = ("io_uring", "fio", "sim")
"""What most lanes need beside a rehearsal: imported here, all of them share it."""
REHEARSAL = """\
plan "Rehearsal"

test "T" {
  run random 4KiB 70/30 for 2s
  vary qd in 1, 4
  expect p99 < 1s
}
"""
M_ARENA_MAX, M_MMAP_THRESHOLD = -8, -3
LARGE_BYTES = 128 << 10
STORE_CACHE_BYTES = 300_000
HOLES = 1000
FILLED: list[bytes] = []
"""What fills them, and stays."""


def main(fd: str) -> None:
    """Fork a lane for each request that comes on the socket."""
    _preload()
    set_title(["ioplan", "lanes"], "ioplan lanes")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel waits for the lanes
    with socket.socket(fileno=int(fd)) as asked:
        for lane in requests(asked):
            if not os.fork():
                asked.close()
                _live(lane)
            os.close(lane.lock)
    with suppress(ChildProcessError):
        os.wait()  # for all of them


def _preload() -> None:
    """Everything that is the same in all lanes, and nothing that leaves a thread.

    Objects that are frozen stay on the pages that they share. A lane has few threads,
    which need no arena of their own, gives back what is large once it is freed, and
    reads little of the store that all share.
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
    for model in (LaneCall, LaneState, RunRequest):
        model.model_rebuild()
    with suppress(OSError):
        _rehearse()
    prepare_results()
    gc.collect()
    _fill_holes()
    gc.freeze()


def _fill_holes() -> None:
    """Take the free places between shared objects, in each size that Python allots.

    A lane that put something there would copy the page for itself: 0.6 MiB of it.
    """
    for size in range(48, 513, 16):
        FILLED.extend(bytes(size - 33) for _ in range(HOLES))


def _rehearse() -> None:
    """A session on the simulated drive: what is made on first use is made once.

    Validators, compiled expressions, the interpreter's own caches: 3 MiB of a lane.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        plan, lab = folder / "rehearsal.ioplan", folder / "lab.toml"
        plan.write_text(REHEARSAL)
        lab.touch(0o600)
        target = ("--backend", "sim", "--create", "1GiB", "--target", "rehearsal")
        kept = ("--lab", str(lab), "--store", str(folder / "store.db"), "--quiet")
        run(["run", str(plan), *target, *kept])


def _live(begun: Begun) -> NoReturn:
    """A child's life; it must not go on with what the parent does."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, _interrupted)
        _run(LaneFolder(begun.folder), begun.lock)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(0)


def _run(lane: LaneFolder, lock: int) -> None:
    """Do what the lane's call says, and write its exit code to the folder."""
    try:
        lane.become(lock)
        if lane.stop_file.exists():  # it was cancelled before it had a process
            raise KeyboardInterrupt
        call = lane.call()
        with locked(lane.path.parents[1] / "locks", call.locks, _on_wait(lane)):
            code = run(_words(lane, call))
    except KeyboardInterrupt:
        code = INTERRUPTED
    except (OSError, StoreError) as error:
        print_message(f"error: {error}")
        code = RUN_FAILED
    sys.stderr.flush()
    lane.finish(lane.state(), code)
    with suppress(OSError):
        start(_store(call), LANE_LIFE_S)


def _store(call: LaneCall) -> Path:
    return Path(call.store).expanduser() if call.store else default_path()


def _interrupted(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _on_wait(lane: LaneFolder) -> Callable[[str], None]:
    """Writes to the lane's state what it waits for."""

    def on_wait(name: str) -> None:
        text = {"message": f"waits for another lane, which has {name}"}
        lane.write_state(lane.state().model_copy(update=text))

    return on_wait


def _words(lane: LaneFolder, call: LaneCall) -> list[str]:
    store = _store(call)
    same = ["--store", str(store), "--lane", str(lane.path), "--quiet"]
    if _has_begun(store, call.session):
        return ["resume", call.session, *same]
    asked = call.request.model_copy(update={"lab": lane.path / "lab.toml"})
    file = lane.path / "request.json"
    file.write_text(asked.model_dump_json())
    return ["run", str(lane.path / call.plan), "--request", str(file), *same]


def _has_begun(store: Path, session: str) -> bool:
    if not store.exists():
        return False
    with Store.open(store, LANE_BUSY_S) as found:
        return session in found.ids()


if __name__ == "__main__":
    tune_startup()
    main(sys.argv[1])
