"""Scratch files: made by ioplan, marked as such, and therefore free to overwrite."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from ioplan.lab.scratch_mark import end, put_mark, remove_mark_beside
from ioplan.language.quantity import size_text

CHUNK_BYTES = 1 << 20
SPARE_BYTES = 64 << 20
"""Left free on the file system, so that a scratch file does not fill it up."""


class ScratchError(OSError):
    """A scratch file cannot be made."""


Done = Callable[[int], None]
"""Told how many bytes are written so far."""


def create_scratch(path: Path, size_bytes: int, done: Done) -> None:
    """Make a marked file full of random data.

    It is written, not only allocated: reading blocks that were never written
    does not reach the device, and would measure nothing. It has its name only once
    it is finished, and one that could not be is removed. Raises OSError.
    """
    _check_room(path, size_bytes)
    part = path.with_name(f".{path.name}.ioplan-part")
    fd = _open_part(part)
    try:
        put_mark(fd, path)
        _fill(fd, size_bytes, done)
        os.fsync(fd)
        end(fd, path)
        os.link(part, path)  # unlike a rename, it replaces nothing
        part.unlink()
    except BaseException:
        part.unlink(missing_ok=True)
        remove_mark_beside(path)
        raise
    finally:
        os.close(fd)


def _open_part(part: Path) -> int:
    """A new file under another name, locked. One that was left behind goes away."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(part, flags, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _check_own(fd, part)
        os.ftruncate(fd, 0)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _check_own(fd: int, part: Path) -> None:
    """In a folder of many, somebody else may have put something there first."""
    status = os.fstat(fd)
    own = status.st_uid == os.geteuid() and status.st_nlink == 1
    if not (own and stat.S_ISREG(status.st_mode)):
        raise ScratchError(
            errno.EEXIST, f"{part} is no unfinished scratch file of yours; remove it"
        )


def _check_room(path: Path, size_bytes: int) -> None:
    free = shutil.disk_usage(path.parent).free
    if size_bytes + SPARE_BYTES > free:
        raise ScratchError(
            errno.ENOSPC,
            f"{size_text(size_bytes)} do not fit: {path.parent} has "
            f"{free >> 20} MiB free; ask for less, or name a file elsewhere",
        )


def _fill(fd: int, size_bytes: int, done: Done) -> None:
    """Random blocks, each with its number in it, so that no two are the same."""
    noise = bytearray(os.urandom(CHUNK_BYTES))
    for offset in range(0, size_bytes, CHUNK_BYTES):
        noise[:8] = offset.to_bytes(8, "little")
        part = memoryview(noise)[: min(CHUNK_BYTES, size_bytes - offset)]
        while part:
            part = part[os.write(fd, part) :]
        done(min(offset + CHUNK_BYTES, size_bytes))
