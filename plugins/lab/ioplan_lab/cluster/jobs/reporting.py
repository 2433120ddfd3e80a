"""Which lanes of this host the lab's database is to be told of, and who tells it.

lanes/unreported/SESSION     a lane whose last state is not there yet
lanes/reporter               locked by the one process that reports
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ioplan.core import O_CLOEXEC, fcntl

PROGRAM = "ioplan_lab.workers.reporter"
UNREPORTED = "unreported"
STARTED: list[subprocess.Popen[bytes]] = []
"""Until they are reaped."""


def enter(root: Path, session: str) -> None:
    """A lane of this folder of lanes is to be told of. Raises OSError."""
    folder = root / UNREPORTED
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    (folder / session).touch()


def is_done(root: Path, session: str) -> None:
    """Its last state has been told; never fails, as it may be told twice."""
    with suppress(OSError):
        (root / UNREPORTED / session).unlink()


def unreported(root: Path) -> list[str]:
    """The sessions of lanes that are to be told of."""
    try:
        return sorted(os.listdir(root / UNREPORTED))  # noqa: PTH208  often called
    except OSError:
        return []


@contextmanager
def reporting(root: Path) -> Iterator[bool]:
    """Be the one that reports; False where another process is. Raises OSError."""
    fd = os.open(root / "reporter", os.O_RDWR | os.O_CREAT | O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(fd)


def start_reporter(root: Path) -> None:
    """Start one if there is something to tell and none is at work. Raises OSError.

    It is no child of a worker or a command for long, and ends with its last lane.
    """
    STARTED[:] = [child for child in STARTED if child.poll() is None]
    if not unreported(root):
        return
    with reporting(root) as is_free:
        pass
    if is_free:
        with (root / "reporter-errors.txt").open("wb") as errors:
            child = subprocess.Popen(
                [sys.executable, "-m", PROGRAM, str(root)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
                cwd="/",
            )
        STARTED.append(child)
