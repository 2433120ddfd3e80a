"""Scratch files: made by ioplan, marked as such, and therefore free to overwrite."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from ioplan.language.quantity import size_text

MARK = "user.ioplan.scratch"
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
    does not reach the device, and would measure nothing. A file that could not
    be finished is removed. Raises OSError.
    """
    _check_room(path, size_bytes)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        _mark(fd, path)
        _fill(fd, size_bytes, done)
        os.fsync(fd)
    except BaseException:
        path.unlink(missing_ok=True)
        _sidecar(path).unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)


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


def _sidecar(path: Path) -> Path:
    """The mark of a file where the file system keeps no extended attributes."""
    return path.with_name(f".{path.name}.ioplan-scratch")


def _mark(fd: int, path: Path) -> None:
    try:
        os.setxattr(fd, MARK, b"1")
    except OSError:
        _sidecar(path).write_text(_identity(fd))


def _identity(fd: int) -> str:
    status = os.fstat(fd)
    return f"{status.st_dev}:{status.st_ino}"


def is_scratch(fd: int, path: Path) -> bool:
    """Whether ioplan made this very file."""
    try:
        return os.getxattr(fd, MARK) == b"1"
    except OSError:
        pass
    try:
        return _sidecar(path).read_text() == _identity(fd)
    except OSError:
        return False
