"""/proc: what stands there of a process may be gone at the next look."""

from __future__ import annotations

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


def threads(process: Path) -> list[Path]:
    """The folders of a process's threads."""
    return listed(process / "task")


def processes() -> Iterator[Path]:
    """The folders of all processes that this one can see."""
    return (one for one in listed(PROC) if one.name.isdigit())
