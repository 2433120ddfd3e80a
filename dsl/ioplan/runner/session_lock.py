"""One process at a time works on a session."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ioplan.backends import BackendError
from ioplan.results.private_folder import make_private
from ioplan.results.store_error import StoreError

NAME = "lock"


@contextmanager
def session_lock(folder: Path) -> Iterator[None]:
    """Hold a session's folder. Raises BackendError when another process does.

    The kernel lets go of it when the process ends, however that comes about.
    """
    try:
        make_private(folder)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(folder / NAME, flags, 0o600)
    except OSError as error:
        raise StoreError(f"cannot make {folder}: {error.strerror}") from error
    try:
        _lock(fd, folder.name)
        yield
    finally:
        os.close(fd)


def _lock(fd: int, session: str) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BackendError(
            f"session {session} goes on in another process; wait until it ends"
        ) from None


def is_held(folder: Path) -> bool:
    """Whether a process works on a session now."""
    try:
        with session_lock(folder):
            return False
    except BackendError:
        return True
