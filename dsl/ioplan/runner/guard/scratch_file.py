"""Scratch files: made by ioplan, marked as such, and therefore free to overwrite.

The mark is an extended attribute, or a hidden file beside the scratch file where the
file system has none. It is "open" during a session that writes; at its end it has the
file's size and time of last write, so that a write by another program shows.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from ioplan.core.error_kinds import TargetFault
from ioplan.core.system import fcntl
from ioplan.language.quantity import size_text
from ioplan.runner.devices.file_id import birth
from ioplan.runner.guard.errors import TargetError, missing, os_reason

MARK = "user.ioplan.scratch"
OPEN = "open"
"""Alone it is of a file that is being made, or of a version before this one."""
OLD = "1"
"""What versions before this one wrote; it says nothing of the content."""


def is_unchanged_scratch(fd: int, path: Path) -> bool:
    """Whether nobody has written to it since the last session ended in order.

    Random data may look like a signature, and this is ioplan's.
    """
    return _read_mark(fd, path) == _closed_mark(fd)


def is_own_scratch(fd: int, path: Path) -> bool:
    """Whether ioplan created it, and nobody else has written to it since."""
    return is_unchanged_scratch(fd, path) or not foreign_mark(fd, path)


def foreign_mark(fd: int, path: Path) -> str:
    """Why a file is somebody's, by its mark; empty for a session's that was killed."""
    mark = _read_mark(fd, path)
    if mark is None:
        return "a file that ioplan did not create"
    if not _is_valid(mark, fd):
        return "a scratch file that another program has written to"
    return ""


def mark_open(fd: int, path: Path) -> None:
    """A session is about to write. A file that is not ioplan's loses its mark."""
    mark = _read_mark(fd, path)
    if mark is not None:
        _change_mark(fd, path, _open_mark(fd) if _is_valid(mark, fd) else None)


def mark_closed(fd: int, path: Path) -> None:
    """A session has ended in order; only one that could write changes the mark."""
    status = os.fstat(fd)
    writes = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    if writes and stat.S_ISREG(status.st_mode) and _read_mark(fd, path) is not None:
        _change_mark(fd, path, _closed_mark(fd))


def put_mark(fd: int, path: Path) -> None:
    """Make it a scratch file. Raises OSError."""
    try:
        os.setxattr(fd, MARK, OPEN.encode())
    except (OSError, AttributeError):  # on musl, Python before 3.13 has none
        _write_sidecar(fd, path, OPEN)


def _change_mark(fd: int, path: Path, mark: str | None) -> None:
    """A mark that cannot be changed is invalid from now on: --overwrite is needed."""
    with contextlib.suppress(OSError):
        if mark is None:
            _remove_mark(fd, path)
        elif _read_attribute(fd) is not None:
            os.setxattr(fd, MARK, mark.encode())
        else:
            _write_sidecar(fd, path, mark)


def _remove_mark(fd: int, path: Path) -> None:
    _sidecar(path).unlink(missing_ok=True)
    if _read_attribute(fd) is not None:
        os.removexattr(fd, MARK)


def _is_valid(mark: str, fd: int) -> bool:
    return mark in (OPEN, OLD, _open_mark(fd), _closed_mark(fd))


def _open_mark(fd: int) -> str:
    """Who copies another file over this one mostly changes its size."""
    return f"{OPEN} {os.fstat(fd).st_size}"


def _closed_mark(fd: int) -> str:
    """Changing the mark changes the file's ctime, but not its mtime."""
    status = os.fstat(fd)
    return f"left {status.st_size} {status.st_mtime_ns}"


def _read_mark(fd: int, path: Path) -> str | None:
    mark = _read_attribute(fd)
    return mark if mark is not None else _read_sidecar(fd, path)


def _read_attribute(fd: int) -> str | None:
    try:
        return os.getxattr(fd, MARK).decode(errors="replace")
    except (OSError, AttributeError):
        return None


def _sidecar(path: Path) -> Path:
    """The mark of a file where the file system has no extended attributes."""
    return path.with_name(f".{path.name}.ioplan-scratch")


def _write_sidecar(fd: int, path: Path, mark: str) -> None:
    """Atomically, and never through a link."""
    part = _sidecar(path).with_suffix(".ioplan-mark")
    part.unlink(missing_ok=True)
    with part.open("x") as file:
        file.write(f"{_file_identity(fd)}\n{mark}")
    part.replace(_sidecar(path))


def _read_sidecar(fd: int, path: Path) -> str | None:
    """Without a birth, a new file could have the inode of the one that was marked."""
    try:
        text = _own_text(_sidecar(path))
    except OSError:
        return None
    identity, _, mark = text.partition("\n")
    return mark if birth(fd) and identity == _file_identity(fd) else None


def _own_text(path: Path) -> str:
    """The text of a file that no other user can have made. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, errors="replace") as file:
        status = os.fstat(fd)
        if status.st_uid not in (0, os.geteuid()) or not stat.S_ISREG(status.st_mode):
            raise PermissionError(errno.EPERM, "another user's", str(path))
        return file.read()


def _file_identity(fd: int) -> str:
    status = os.fstat(fd)
    return f"{status.st_dev}:{status.st_ino} {birth(fd)}"


CHUNK_BYTES = 1 << 20
SPARE_BYTES = 64 << 20
"""Left free on the file system, so that a scratch file does not fill it up."""


class ScratchError(OSError):
    """A scratch file cannot be made."""


ProgressCallback = Callable[[int], None]
"""Called with the number of bytes written so far."""


def make_scratch(path: Path, size_bytes: int, on_progress: ProgressCallback) -> None:
    """Make a scratch file where there is no file. Raises TargetError."""
    try:
        if not path.absolute().parent.is_dir():
            raise missing(path)
        create_scratch(path, size_bytes, on_progress)
    except OSError as error:
        text = f"cannot make {str(path)!r}: {os_reason(error)}"
        raise TargetError(text, TargetFault.NOT_CREATED) from None


def create_scratch(path: Path, size_bytes: int, on_progress: ProgressCallback) -> None:
    """Make a marked file full of random data.

    It is written, not only allocated: reading blocks that were never written
    does not reach the device, and would measure nothing. It gets its name only once
    it is finished, and one that could not be is removed. Raises OSError.
    """
    _check_room(path, size_bytes)
    part = path.with_name(f".{path.name}.ioplan-part")
    fd = _open_part(part)
    try:
        put_mark(fd, path)
        _fill(fd, size_bytes, on_progress)
        os.fsync(fd)
        mark_closed(fd, path)
        os.link(part, path)  # unlike a rename, it replaces nothing
        part.unlink()
    except BaseException:
        part.unlink(missing_ok=True)
        _sidecar(path).unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)


def _open_part(part: Path) -> int:
    """A new file under another name, locked. A leftover of that name is overwritten."""
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
    """In a shared folder another user may have put something there first."""
    status = os.fstat(fd)
    own = status.st_uid == os.geteuid() and status.st_nlink == 1
    if not (own and stat.S_ISREG(status.st_mode)):
        raise ScratchError(
            errno.EEXIST,
            (f"{part} is not an unfinished scratch file of yours; remove it"),
        )


def _check_room(path: Path, size_bytes: int) -> None:
    free_bytes = shutil.disk_usage(path.parent).free
    if size_bytes + SPARE_BYTES > free_bytes:
        raise ScratchError(
            errno.ENOSPC,
            f"{size_text(size_bytes)} do not fit: {path.parent} has "
            f"{free_bytes >> 20} MiB free; use a smaller size, or a file elsewhere",
        )


def _fill(fd: int, size_bytes: int, on_progress: ProgressCallback) -> None:
    """Random blocks, each with its number in it, so that no two are the same."""
    noise = bytearray(os.urandom(CHUNK_BYTES))
    for offset in range(0, size_bytes, CHUNK_BYTES):
        noise[:8] = offset.to_bytes(8, "little")
        part = memoryview(noise)[: min(CHUNK_BYTES, size_bytes - offset)]
        while part:
            part = part[os.write(fd, part) :]
        on_progress(min(offset + CHUNK_BYTES, size_bytes))
