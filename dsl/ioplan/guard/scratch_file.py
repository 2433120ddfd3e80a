"""Scratch files: made by ioplan, marked as such, and therefore free to overwrite."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from ioplan.devices.file_id import birth
from ioplan.devices.signatures import Unknown, signatures
from ioplan.language.quantity import size_text

MARK = "user.ioplan.scratch"
OPEN = "open"
OLD = "1"
"""What versions before this one wrote; it says nothing of the content."""


def foreign(fd: int, path: Path) -> str:
    """What there is that is not ioplan's to overwrite; empty if nothing."""
    said = _read(fd, path)
    if said is None:
        return "a file that ioplan did not make"
    if not _fits(said, fd):
        return "a scratch file that another program has written to since"
    if said == _left(fd):
        return ""  # random data may look like a signature, and this is ioplan's
    try:
        found = signatures(fd)
    except Unknown as unknown:
        return f"a scratch file that may hold data now ({unknown})"
    return f"a scratch file that holds data now ({', '.join(found)})" if found else ""


def begin(fd: int, path: Path) -> None:
    """A session is about to write. What is not ioplan's is no longer called so."""
    said = _read(fd, path)
    if said is not None:
        _change(fd, path, OPEN if _fits(said, fd) else None)


def end(fd: int, path: Path) -> None:
    """A session, if it was one that may write, has ended in order."""
    status = os.fstat(fd)
    writes = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    if writes and stat.S_ISREG(status.st_mode) and _read(fd, path) is not None:
        _change(fd, path, _left(fd))


def put_mark(fd: int, path: Path) -> None:
    """Make it a scratch file. Raises OSError."""
    try:
        os.setxattr(fd, MARK, OPEN.encode())
    except OSError:
        _put_beside(fd, path, OPEN)


def remove_mark_beside(path: Path) -> None:
    """Of a file that there is no more."""
    _sidecar(path).unlink(missing_ok=True)


def _change(fd: int, path: Path, said: str | None) -> None:
    """One that cannot be changed fits no longer, which only asks for more words."""
    with contextlib.suppress(OSError):
        if said is None:
            _remove(fd, path)
        elif _attribute(fd) is not None:
            os.setxattr(fd, MARK, said.encode())
        else:
            _put_beside(fd, path, said)


def _remove(fd: int, path: Path) -> None:
    remove_mark_beside(path)
    if _attribute(fd) is not None:
        os.removexattr(fd, MARK)


def _fits(said: str, fd: int) -> bool:
    return said in (OPEN, OLD, _left(fd))


def _left(fd: int) -> str:
    """Changing the mark changes the file's ctime, but not its mtime."""
    status = os.fstat(fd)
    return f"left {status.st_size} {status.st_mtime_ns}"


def _read(fd: int, path: Path) -> str | None:
    said = _attribute(fd)
    return said if said is not None else _beside(fd, path)


def _attribute(fd: int) -> str | None:
    try:
        return os.getxattr(fd, MARK).decode(errors="replace")
    except OSError:
        return None


def _sidecar(path: Path) -> Path:
    """The mark of a file where the file system keeps no extended attributes."""
    return path.with_name(f".{path.name}.ioplan-scratch")


def _put_beside(fd: int, path: Path, said: str) -> None:
    """All at once, and never through a link."""
    part = _sidecar(path).with_suffix(".ioplan-mark")
    part.unlink(missing_ok=True)
    with part.open("x") as file:
        file.write(f"{_this(fd)}\n{said}")
    part.replace(_sidecar(path))


def _beside(fd: int, path: Path) -> str | None:
    """A file system that tells no birth gives its inode to the next file."""
    try:
        this, _, said = _sidecar(path).read_text(errors="replace").partition("\n")
    except OSError:
        return None
    return said if birth(fd) and this == _this(fd) else None


def _this(fd: int) -> str:
    status = os.fstat(fd)
    return f"{status.st_dev}:{status.st_ino} {birth(fd)}"


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
