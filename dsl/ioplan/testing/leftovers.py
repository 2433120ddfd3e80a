"""What a run leaves behind: processes and threads."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

MARK = "IOPLAN_CONFORMANCE"
GRACE_S = 0.3
"""A process that was waited for is gone; a thread may need a moment."""


@contextmanager
def nothing_left() -> Iterator[None]:
    """Fails when processes or threads that began in the block outlive it.

    Each child inherits a mark in its environment, so that one that has changed
    its parent is found as well.
    """
    mark, before = str(uuid4()), (_children(), set(threading.enumerate()))
    outer = os.environ.get(MARK)
    os.environ[MARK] = mark
    try:
        yield
    finally:
        os.environ.pop(MARK)
        if outer is not None:
            os.environ[MARK] = outer
    _check(mark, *before)


def _check(mark: str, children: set[int], threads: set[threading.Thread]) -> None:
    deadline_s = time.monotonic() + GRACE_S
    while True:
        pids = (_children() - children) | _marked(mark)
        left = [t.name for t in set(threading.enumerate()) - threads if t.is_alive()]
        if not pids and not left:
            return
        if time.monotonic() > deadline_s:
            break
        time.sleep(0.02)
    assert not pids, f"processes are left behind: {[_shown(pid) for pid in pids]}"
    assert not left, f"threads are left behind: {left}"


def _children() -> set[int]:
    """Child processes of all threads; those not waited for are among them."""
    found: set[int] = set()
    for file in Path("/proc/self/task").glob("*/children"):
        try:
            found.update(map(int, file.read_text().split()))
        except OSError:
            continue
    return found


def _marked(mark: str) -> set[int]:
    wanted, own = f"{MARK}={mark}".encode(), os.getpid()
    return {
        int(folder.name)
        for folder in Path("/proc").iterdir()
        if folder.name.isdigit()
        and int(folder.name) != own
        and wanted in _environment(folder)
    }


def _environment(folder: Path) -> list[bytes]:
    try:
        return (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _shown(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        words = []
    return f"{pid} {b' '.join(words).decode(errors='replace')[:80]}".strip()
