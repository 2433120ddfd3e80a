"""A session's folder, which nobody else may put anything into."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
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
    for private in (folder.parent, folder):
        private.mkdir(mode=0o700, exist_ok=True)
        check_own(private)


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
LOCK_FLAGS = os.O_RDWR | O_NOFOLLOW | O_CLOEXEC


@contextmanager
def locked(path: Path, flags: int = 0, fd: int | None = None) -> Iterator[int]:
    """Hold the lock of a file, or of one that is open. Raises OSError.

    The kernel lets go of it when the process ends, however that comes about.
    """
    fd = os.open(path, LOCK_FLAGS | os.O_CREAT, 0o600) if fd is None else fd
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | flags)
        yield fd
    finally:
        os.close(fd)


@contextmanager
def session_lock(folder: Path) -> Iterator[None]:
    """Hold a session's folder. Raises BackendError when another process does."""
    with ExitStack() as stack:
        try:
            make_private(folder)
            stack.enter_context(locked(folder / NAME, fcntl.LOCK_NB))
        except BlockingIOError:
            raise BackendError(
                f"session {folder.name} goes on in another process; wait until it ends"
            ) from None
        except OSError as error:
            raise StoreError(
                f"cannot make {folder}: {error.strerror}", StoreFault.SESSION_FOLDER
            ) from error
        yield


def is_locked(folder: Path) -> bool | None:
    """Whether a process works on a session; None if that is not for us to see."""
    try:
        fd = os.open(folder / NAME, LOCK_FLAGS)
        with locked(folder / NAME, fcntl.LOCK_NB, fd):
            return False
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    except OSError:
        return None


def remove_unused(folder: Path) -> None:
    """If nothing but its lock is in it, which is held."""
    with suppress(OSError):
        if os.listdir(folder) == [NAME]:  # noqa: PTH208  no need of paths
            (folder / NAME).unlink()
            folder.rmdir()
