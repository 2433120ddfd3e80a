"""The object that a path leads to, held while it is looked at and then opened.

A name in a folder of another user may mean another file from one moment to the next.
So it is resolved once, what it means is held (O_PATH), and all that follows is done on
that.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ioplan.core.error_kinds import TargetFault
from ioplan.core.path_steps import path_steps
from ioplan.guard.errors import TargetError

SYS_OPENAT2 = 437
AT_FDCWD = -100
RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS = 0x02, 0x04


class OpenHow(ctypes.Structure):
    """struct open_how of Linux's openat2.h."""

    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


@contextmanager
def pinned(path: Path) -> Iterator[int]:
    """What a resolved path leads to, without a symbolic link on the way.

    A descriptor that only names it. Raises TargetError, OSError.
    """
    try:
        fd = _open_path(path)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        text = f"{path} became a symbolic link while it was opened; try again"
        raise TargetError(text, TargetFault.REPLACED) from None
    try:
        yield fd
    finally:
        os.close(fd)


def opened(pin: int, flags: int) -> int:
    """Open what is held, wherever its name leads now. Raises OSError."""
    return os.open(f"/proc/self/fd/{pin}", flags | os.O_CLOEXEC)


def check_links(path: Path) -> None:
    """Who made a symbolic link decides what is overwritten. Raises TargetError."""
    trusted = (0, os.geteuid())
    for place, status in path_steps(path):
        if stat.S_ISLNK(status.st_mode) and status.st_uid not in trusted:
            raise TargetError(
                f"{place} is a link of another user (uid {status.st_uid}), who may "
                f"have it lead elsewhere at any time; name what is to be written: "
                f"{path.resolve()}",
                TargetFault.FOREIGN_LINK,
            )


def _open_path(path: Path) -> int:
    flags = os.O_PATH | os.O_CLOEXEC
    how = OpenHow(flags, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    name = ctypes.c_char_p(os.fsencode(path))
    fd = syscall(SYS_OPENAT2, AT_FDCWD, name, ctypes.byref(how), ctypes.sizeof(how))
    if fd >= 0:
        return int(fd)
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EPERM):  # before Linux 5.6, or in a sandbox
        return os.open(path, flags | os.O_NOFOLLOW)
    raise OSError(number, os.strerror(number), str(path))
