"""Disk space held in reserve, so that a run which has ended can be stored."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from ioplan.core.error_kinds import StoreFault
from ioplan.core.system import O_BINARY, O_CLOEXEC, O_NOFOLLOW
from ioplan.results.store.errors import (
    OTHER_STORE_HINT,
    ReserveUsedError,
    StoreError,
    StoreFullError,
)

RESERVE_BYTES = 8 << 20
"""Enough for a run of a day with an interval each second, twice: SQLite writes
first to its log and then to the file."""


class Reserve:
    """A file beside the store, really allocated; it stays there between sessions."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.path = store.with_name(f"{store.name}-reserve")

    def acquire(self) -> None:
        """Allocate the room if it is not there yet. Raises StoreFullError."""
        try:
            if not self._is_allocated():
                self._allocate()
        except OSError as error:
            raise StoreFullError(
                f"the store {self.store} needs {RESERVE_BYTES >> 20} MiB of free disk "
                f"before a plan is run, so that no run is lost: {error.strerror}; "
                f"free some space, or {OTHER_STORE_HINT}"
            ) from error

    def _is_allocated(self) -> bool:
        try:
            status = self.path.stat()
            held_bytes = getattr(status, "st_blocks", status.st_size // 512) * 512
            return held_bytes >= RESERVE_BYTES >= status.st_size
        except FileNotFoundError:
            return False

    def _allocate(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | O_CLOEXEC | O_NOFOLLOW
        fd = os.open(self.path, flags, 0o600)
        try:
            self._check_ours()
            _fill(fd)
        except OSError:
            self.release()
            raise
        finally:
            os.close(fd)

    def _check_ours(self) -> None:
        """A file of that name may be somebody's. Raises StoreError, OSError."""
        if not self._is_ours():
            raise StoreError(
                f"{self.path} is in the way: the store keeps its reserve there, and "
                f"this holds data; move it away, or {OTHER_STORE_HINT}",
                StoreFault.STORE_NOT_OPENED,
            )

    def _is_ours(self) -> bool:
        """Whether it has zeros, and no more of them than a reserve."""
        fd = os.open(self.path, os.O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_BINARY)
        with os.fdopen(fd, "rb") as file:
            held = file.read(RESERVE_BYTES + 1)
        return len(held) <= RESERVE_BYTES and held.count(0) == len(held)

    def release(self) -> bool:
        """Free the room; returns whether there was any."""
        try:
            if not self._is_ours():
                return False
            self.path.unlink()
        except OSError:
            return False
        return True


def _fill(fd: int) -> None:
    """Raises OSError where there is no room."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, RESERVE_BYTES)
    else:
        os.write(fd, bytes(RESERVE_BYTES))


class Reserved(Protocol):
    """A store with a reserve, or with none where others look after the disk."""

    where: str
    reserve: Reserve | None


Store = TypeVar("Store", bound=Reserved)
Args = ParamSpec("Args")
Result = TypeVar("Result")
Write = Callable[Concatenate[Store, Args], Result]


def with_reserve(write: Write[Store, Args, Result]) -> Write[Store, Args, Result]:
    """Decorate a write: where the disk is full, it is repeated in the reserve.

    It then raises ReserveUsedError: this is stored, but what follows will not be.
    """

    @wraps(write)
    def guarded(store: Store, /, *args: Args.args, **more: Args.kwargs) -> Result:
        try:
            return write(store, *args, **more)
        except StoreFullError:
            if not (store.reserve and store.reserve.release()):
                raise
        write(store, *args, **more)
        raise ReserveUsedError(
            f"the disk of the store {store.where} is full: what has ended is stored, "
            f"in the room that was kept for it; free some space before you go on"
        )

    return guarded
