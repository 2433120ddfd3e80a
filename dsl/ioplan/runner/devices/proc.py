"""/proc: what stands there of a process may be gone at the next look."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")


def listed(folder: Path) -> list[Path]:
    """What is in a folder of /proc; nothing if it may not be read, or has ended.

    `Path.glob` does not fit: of a process that ends meanwhile it raises
    FileNotFoundError or, as the kernel says it, ProcessLookupError.
    """
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def own_pid() -> int:
    """This process as /proc numbers it, which may be that of another PID namespace."""
    try:
        return int((PROC / "self").readlink().name)
    except (OSError, ValueError):
        return os.getpid()


def lineage(pid: int) -> Iterator[int]:
    """A process, its parent, and so on."""
    while pid:
        yield pid
        try:
            words = (PROC / str(pid) / "stat").read_text(errors="replace")
            pid = int(words.rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            return  # it has ended


def threads(process: Path) -> list[Path]:
    """The folders of a process's threads."""
    return listed(process / "task")


def processes() -> Iterator[Path]:
    """The folders of all processes that this one can see."""
    return (one for one in listed(PROC) if one.name.isdigit())
