"""Processes that a run has started, and those that nothing ends."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ioplan.runner.devices.proc import PROC, threads

UNINTERRUPTIBLE = "D"
GONE = "ZX"
PF_EXITING = 0x4
PENDING = ("SigPnd:", "ShdPnd:")
SIGKILL_BIT = 1 << (9 - 1)
EXIT_S, POLL_S = 1.0, 0.02
"""How long a killed process gets to exit before it counts as stuck."""


class Process(NamedTuple):
    """A process; ids are used again, the pair of id and start time is not."""

    pid: int
    start_ticks: int


class StuckProcess(NamedTuple):
    """A process that is still there after SIGKILL, and where in the kernel it is."""

    pid: int
    name: str
    state: str
    place: str

    def __str__(self) -> str:
        where = f", in {self.place}" if self.place else ""
        return f"process {self.pid} ({self.name}, state {self.state}{where})"


def descendants() -> set[Process]:
    """All processes that this one has started, and those started by them."""
    found: set[Process] = set()
    todo = [os.getpid()]
    while todo:
        for pid in _children(todo.pop()):
            process = _process(pid)
            if process and process not in found:
                found.add(process)
                todo.append(pid)
    return found


def unkillable(processes: set[Process]) -> tuple[StuckProcess, ...]:
    """Killed processes that are still there, in the order of their ids."""
    deadline_s = time.monotonic() + EXIT_S
    while found := [one.pid for one in sorted(processes) if _survives(one)]:
        if time.monotonic() > deadline_s:
            break
        time.sleep(POLL_S)
    return tuple(_stuck(pid) for pid in found)


def _survives(process: Process) -> bool:
    """Whether a thread of it has a SIGKILL pending, or is exiting."""
    if _process(process.pid) != process:
        return False
    return any(_is_killed(thread) for thread in _threads(process.pid))


def _is_killed(thread: Path) -> bool:
    words = _stat(thread)
    flags = int(words[6]) if words else 0
    lines = _text(thread / "status").splitlines()
    pending = (int(one.split()[1], 16) for one in lines if one.startswith(PENDING))
    return bool(flags & PF_EXITING) or any(mask & SIGKILL_BIT for mask in pending)


def _children(pid: int) -> Iterator[int]:
    for thread in threads(PROC / str(pid)):
        yield from map(int, _text(thread / "children").split())


def _process(pid: int) -> Process | None:
    """The process of an id, unless it has ended."""
    words = _stat(PROC / str(pid))
    if not words or (words[0] in GONE and not _threads(pid)):
        return None
    return Process(pid, int(words[19]))


def _stat(folder: Path) -> list[str]:
    """The words of `stat` from the state on: the name before may hold anything."""
    try:
        return (folder / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _threads(pid: int) -> list[Path]:
    """Threads that live; a main thread may have ended before the others."""
    folders = threads(PROC / str(pid))
    return [one for one in folders if (_stat(one) or "Z")[0] not in GONE]


def _stuck(pid: int) -> StuckProcess:
    """What it waits for: preferably of a thread that no signal reaches."""
    threads = _threads(pid) or [PROC / str(pid)]
    hung = [one for one in threads if _state(one) == UNINTERRUPTIBLE]
    thread = (hung or threads)[0]
    return StuckProcess(pid, _text(thread / "comm"), _state(thread), _place(thread))


def _state(thread: Path) -> str:
    return (_stat(thread) or "?")[0]


def _place(thread: Path) -> str:
    """The kernel's function, for those who may know it."""
    text = _text(thread / "wchan")
    return "" if text == "0" else text


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
