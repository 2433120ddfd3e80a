"""Scratch files: made by ioplan, and therefore free to overwrite without consent.

That a file is one, and holds nothing but what ioplan left there, is known from the
user's state folder (`known_content`). The mark, an extended attribute, proves nothing:
it tells a person, and whoever writes documents, what the file was made for.
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
from ioplan.runner.devices.facts import file_facts
from ioplan.runner.guard.errors import TargetError, missing, os_reason
from ioplan.runner.guard.known_content import KnownContent
from ioplan.runner.guard.output import SCRATCH_MARK


def has_mark(fd: int) -> bool:
    """Whether it was made as a scratch file, or has the attributes of one."""
    try:
        return bool(os.getxattr(fd, SCRATCH_MARK))
    except (OSError, AttributeError):  # on musl, Python before 3.13 has none
        return False


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
        with contextlib.suppress(OSError, AttributeError):
            os.setxattr(fd, SCRATCH_MARK, b"made")
        _fill(fd, size_bytes, on_progress)
        os.link(part, path)  # unlike a rename, it replaces nothing
        part.unlink()
        KnownContent(file_facts(path, fd), scratch=True).learn(fd)
    except BaseException:
        part.unlink(missing_ok=True)
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
            f"{free_bytes >> 20} MiB free, of which {SPARE_BYTES >> 20} MiB are left "
            "to others; use a smaller size, or a file elsewhere",
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
