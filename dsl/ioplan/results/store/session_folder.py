"""A session's folder, which nobody else may put anything into."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ioplan.backends.backend import BackendError
from ioplan.core.error_kinds import StoreFault
from ioplan.core.system import HAS_USERS, O_CLOEXEC, O_NOFOLLOW, fcntl, trusted_users
from ioplan.results.store.errors import StoreError

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def session_folder(store: Path, session: str) -> Path:
    """Where a session keeps what does not belong into the store."""
    return store.absolute().parent / "sessions" / session


def make_private(folder: Path) -> None:
    """Make it and the one above it, for their owner only. Raises OSError.

    Where a store lies in a folder of many, somebody else may have made them first,
    and could lead what is written there elsewhere.
    """
    folder.parent.parent.mkdir(parents=True, exist_ok=True)
    for one in (folder.parent, folder):
        one.mkdir(mode=0o700, exist_ok=True)
        check_own(one)


def check_own(folder: Path) -> None:
    """Nobody else may put anything into it. Raises OSError."""
    if not HAS_USERS:
        return
    status = folder.lstat()
    mine = status.st_uid in trusted_users()
    if not (mine and stat.S_ISDIR(status.st_mode)) or status.st_mode & OTHERS_WRITE:
        raise PermissionError(
            errno.EPERM,
            f"others may write to {folder}; keep the store in a folder of your own",
        )


def make_own(folder: Path) -> None:
    """Make a folder that says what is done, or close it to others. Raises OSError.

    One of another user is refused: that could make a job, or change one that waits.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    status = folder.lstat()
    if HAS_USERS and status.st_uid == os.geteuid() and stat.S_ISDIR(status.st_mode):
        folder.chmod(stat.S_IMODE(status.st_mode) & ~OTHERS_WRITE)
    check_own(folder)


NAME = "lock"


@contextmanager
def session_lock(folder: Path) -> Iterator[None]:
    """Hold a session's folder. Raises BackendError when another process does.

    The kernel lets go of it when the process ends, however that comes about.
    """
    try:
        make_private(folder)
        flags = os.O_RDWR | os.O_CREAT | O_NOFOLLOW | O_CLOEXEC
        fd = os.open(folder / NAME, flags, 0o600)
    except OSError as error:
        raise StoreError(
            f"cannot make {folder}: {error.strerror}", StoreFault.SESSION_FOLDER
        ) from error
    try:
        _lock(fd, folder.name)
        yield
    finally:
        os.close(fd)


def remove_unused(folder: Path) -> None:
    """If nothing but its lock is in it, which is held."""
    with suppress(OSError):
        if os.listdir(folder) == [NAME]:  # noqa: PTH208  no need of paths
            (folder / NAME).unlink()
            folder.rmdir()


def _lock(fd: int, session: str) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BackendError(
            f"session {session} goes on in another process; wait until it ends"
        ) from None


def is_locked(folder: Path) -> bool:
    """As `is_held`, for any session, and nothing is made."""
    try:
        fd = os.open(folder / NAME, os.O_RDWR | O_NOFOLLOW | O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def is_held(folder: Path) -> bool:
    """Whether a process works on a session now."""
    try:
        with session_lock(folder):
            return False
    except BackendError:
        return True
