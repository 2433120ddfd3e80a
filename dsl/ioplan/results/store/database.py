"""The database of a store: a file of this host's, or a server that a lab shares."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from ioplan.core.context import Closing
from ioplan.core.error_kinds import StoreFault
from ioplan.core.extras import needed
from ioplan.core.system import O_BINARY, O_CLOEXEC, O_NOFOLLOW
from ioplan.results.store.connection import Connection, Row, Source
from ioplan.results.store.errors import (
    OTHER_STORE_HINT,
    ReserveUsedError,
    StoreError,
    StoreFullError,
)
from ioplan.results.store.layout import prepare
from ioplan.results.store.sqlite import SqliteFile, has_log, is_immutable

RESERVE_BYTES = 8 << 20
"""Enough for a run of a day with an interval each second, twice: SQLite writes
first to its log and then to the file."""


class Reserve:
    """Disk space, really allocated, so that a run which has ended can be stored: a file
    beside the store, which stays there between sessions."""

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
        except FileNotFoundError:
            return False
        allocated = getattr(status, "st_blocks", status.st_size // 512) * 512
        return allocated >= RESERVE_BYTES >= status.st_size

    def _allocate(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | O_CLOEXEC | O_NOFOLLOW
        fd = os.open(self.path, flags, 0o600)
        try:
            if not self._is_ours():
                raise StoreError(
                    f"{self.path} is in the way: the store keeps its reserve there, "
                    f"and this holds data; move it away, or {OTHER_STORE_HINT}",
                    StoreFault.STORE_NOT_OPENED,
                )
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(fd, 0, RESERVE_BYTES)
            else:
                os.write(fd, bytes(RESERVE_BYTES))
        except OSError:
            self.release()
            raise
        finally:
            os.close(fd)

    def _is_ours(self) -> bool:
        """Whether it has zeros, and no more of them than a reserve."""
        fd = os.open(self.path, os.O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_BINARY)
        with os.fdopen(fd, "rb") as file:
            content = file.read(RESERVE_BYTES + 1)
        return len(content) <= RESERVE_BYTES and not content.strip(b"\0")

    def release(self) -> bool:
        """Free the room; returns whether there was any."""
        try:
            if is_ours := self._is_ours():
                self.path.unlink()
        except OSError:
            return False
        return is_ours


P = ParamSpec("P")
R = TypeVar("R")
Write = Callable[Concatenate[Any, P], R]


def with_reserve(write: Write[P, R]) -> Write[P, R]:
    """Decorate a write of a `Database`: where the disk is full, it is repeated in the
    reserve.

    It then raises ReserveUsedError: this is stored, but what follows will not be.
    """

    @wraps(write)
    def guarded(store: Database, /, *args: P.args, **more: P.kwargs) -> R:
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


BUSY_S = 30.0
LANE_BUSY_S = 600.0
"""Hundreds of lanes begin at once, and each waits for its turn."""


def is_address(word: str) -> bool:
    """Whether it names a database of a server, not a file."""
    return word.startswith(("postgresql://", "postgres://"))


class Database(Closing):
    """An open database, whose tables are made where it is empty, and upgraded.

    Every method may raise StoreError.
    """

    reserve: Reserve | None = None
    """None where others look after the disk."""

    def __init__(self, source: Source) -> None:
        self.where = source.where
        self._source = source
        try:
            prepare(source)
        except BaseException:
            source.close()
            raise

    @classmethod
    def open(cls, path: str | os.PathLike[str], busy_s: float = BUSY_S) -> Self:
        """Open a file, or make it and its folder.

        `busy_s` is how long to wait for another process that is writing.
        """
        if str(path).startswith(("postgresql:", "postgres:")):  # a path has one slash
            raise StoreError(
                "results are kept in a file on the host first, so that no run waits "
                "for a network: leave --store and IOPLAN_STORE, or name a file, and "
                'write results = "postgresql://…" into the lab file, or use '
                "`ioplan push`",
                StoreFault.STORE_ADDRESS,
            )
        path = Path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"the folder of the store {path} cannot be made: {error.strerror}; "
                f"{OTHER_STORE_HINT}",
                StoreFault.STORE_NOT_OPENED,
            ) from error
        opened = cls(SqliteFile(path, busy_s))
        opened.reserve = Reserve(path)
        return opened

    @classmethod
    def at(cls, place: str | os.PathLike[str]) -> Self:
        """Open a file, or a database that is shared: `postgresql://…`."""
        if is_address(address := str(place)):
            return cls(_postgres(address))
        return cls.open(place)

    @classmethod
    def to_read(cls, place: str | os.PathLike[str]) -> Self:
        """As `at`, and also a file where nothing can be written."""
        try:
            return cls.at(place)
        except StoreError as error:
            path = Path(place)
            is_full = isinstance(error, StoreFullError)  # then nothing can change
            is_fixed = not has_log(path) if is_full else is_immutable(path)
            if is_address(str(place)) or not is_fixed:
                raise
        return cls(SqliteFile(path, immutable=True))

    def close(self) -> None:
        self._source.close()

    def reading(self) -> AbstractContextManager[Connection]:
        return self._source.transaction(writes=False)

    def writing(self) -> AbstractContextManager[Connection]:
        """A transaction that writes; durable when it ends."""
        return self._source.transaction(writes=True)

    def rows(self, query: str, **values: Any) -> list[Row]:
        with self.reading() as connection:
            return connection.rows(query, **values)


def _postgres(address: str) -> Source:
    def without_driver(text: str) -> StoreError:
        return StoreError(text, StoreFault.STORE_DRIVER)

    with needed("results in PostgreSQL need", "postgres", without_driver):
        from ioplan.results.store.postgres import PostgresDatabase  # noqa: PLC0415
    return PostgresDatabase(address)
