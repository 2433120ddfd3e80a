"""The database of a store: a file of this host's, or a server that a lab shares."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, Self, TypeVar

from ioplan.core.context import Closing
from ioplan.core.error_kinds import StoreFault
from ioplan.core.extras import install_command
from ioplan.core.system import O_BINARY, O_CLOEXEC, O_NOFOLLOW
from ioplan.results.store.connection import Connection, Source
from ioplan.results.store.errors import (
    OTHER_STORE_HINT,
    ReserveUsedError,
    StoreError,
    StoreFullError,
)
from ioplan.results.store.layout.tables import (
    LAYOUT,
    create_all,
    layout_of,
    other_layout,
)
from ioplan.results.store.layout.upgrade import upgrade
from ioplan.results.store.sqlite import SqliteFile, has_log, is_immutable

# Disk space held in reserve, so that a run which has ended can be stored.

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


BUSY_S = 30.0
LANE_BUSY_S = 600.0
"""Hundreds of lanes begin at once, and each waits for its turn."""
SCHEMES = ("postgresql://", "postgres://")


def is_address(word: str) -> bool:
    """Whether it names a database of a server, not a file."""
    return word.startswith(SCHEMES)


class Prepared(Closing):
    """Transactions on tables, made where they are missing. All may raise StoreError."""

    def __init__(self, source: Source) -> None:
        """Prepare it, or close it."""
        self.where = source.where
        self._source = source
        try:
            self._prepare()
        except BaseException:
            source.close()
            raise

    def _prepare(self) -> None:
        """Make what is missing."""

    def close(self) -> None:
        """Close the connections."""
        self._source.close()

    def reading(self) -> AbstractContextManager[Connection]:
        """A transaction that reads."""
        return self._source.transaction(writes=False)

    def writing(self) -> AbstractContextManager[Connection]:
        """A transaction that writes; durable when it ends."""
        return self._source.transaction(writes=True)


class Database(Prepared):
    """An open database. Every method may raise StoreError."""

    reserve: Reserve | None = None

    @classmethod
    def open(cls, path: str | os.PathLike[str], busy_s: float = BUSY_S) -> Self:
        """Open a file, or make it and its folder.

        `busy_s` is how long to wait for another process that is writing.
        """
        _check_is_file(path)
        path = Path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"the folder of the store {path} cannot be made: {error.strerror}; "
                "set IOPLAN_STORE to another file",
                StoreFault.STORE_NOT_OPENED,
            ) from error
        made = cls(SqliteFile(path, busy_s))
        made.reserve = Reserve(path)
        return made

    @classmethod
    def at(cls, place: str | os.PathLike[str]) -> Self:
        """Open a file, or a database that is shared: `postgresql://…`."""
        address = str(place)
        if is_address(address):
            return cls(_postgres(address))
        return cls.open(place)

    @classmethod
    def to_read(cls, place: str | os.PathLike[str]) -> Self:
        """As `at`, and also a file where nothing can be written."""
        try:
            return cls.at(place)
        except StoreFullError:  # a file in which nothing can change is read as it is
            if is_address(str(place)) or has_log(Path(place)):
                raise
        except StoreError:
            if is_address(str(place)) or not is_immutable(Path(place)):
                raise
        return cls(SqliteFile(Path(place), immutable=True))

    def _prepare(self) -> None:
        """Nothing is written before it is known to be a store."""
        with self.reading() as connection:
            layout = layout_of(connection, self.where)
        if layout == LAYOUT:
            return
        try:
            with self.writing() as connection:
                self._make(connection)
        except StoreError as error:
            raise (other_layout(self.where, layout) if layout else error) from error

    def _make(self, connection: Connection) -> None:
        """Make or upgrade it, unless somebody has done so meanwhile."""
        connection.lock_schema()
        layout = layout_of(connection, self.where)
        if layout is None:
            create_all(connection)
        elif layout != LAYOUT:
            upgrade(connection, layout)


def _postgres(address: str) -> Source:
    """What connects to a server is an extra, and loaded when needed."""
    try:
        from ioplan.results.store.postgres import PostgresDatabase  # noqa: PLC0415

        return PostgresDatabase(address)
    except ModuleNotFoundError as error:
        raise StoreError(
            f"results in PostgreSQL need {error.name}: {install_command('postgres')}",
            StoreFault.STORE_DRIVER,
        ) from error


def _check_is_file(path: str | os.PathLike[str]) -> None:
    """pathlib makes one slash of two."""
    if str(path).startswith(("postgresql:", "postgres:")):
        raise StoreError(
            "results are kept in a file on the host first, so that no run waits for a "
            "network: leave --store and IOPLAN_STORE, or name a file, and write "
            'results = "postgresql://…" into the lab file, or use `ioplan push`',
            StoreFault.STORE_ADDRESS,
        )
