"""An SQLite file as a store's database: durable, and fit for several writers."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import NoneType
from typing import Any

from ioplan.core.error_kinds import StoreFault
from ioplan.results.store.connection import Row, Source
from ioplan.results.store.errors import OTHER_STORE_HINT, StoreError, sqlite_errors
from ioplan.results.store.layout.tables import TEXTS

LEAST_BYTES = 100
"""SQLite's header; less is left of a file that was emptied."""
LOGS = ("-wal", "-journal")
"""What SQLite keeps beside a file for as long as it is not in the file."""
SETTINGS = """
PRAGMA foreign_keys = ON;
PRAGMA synchronous = FULL;
-- a store that was passed on may have triggers and views of its own
PRAGMA trusted_schema = OFF;
"""


class SqliteFile(Source):
    """A file, which need not exist yet, but whose folder must.

    One that is immutable is read without a lock, and nothing is made beside it.
    """

    def __init__(
        self, path: Path, busy_s: float = 0.0, immutable: bool = False
    ) -> None:
        super().__init__()
        self.where, self._path = str(path), path
        self._busy_s = busy_s
        self._uri = f"{path.absolute().as_uri()}?immutable=1" if immutable else None
        self._file: list[tuple[int, int]] | None = None
        """That which was written to first; empty where the path led to none."""

    @contextmanager
    def transaction(self, writes: bool) -> Iterator[SqliteConnection]:
        with sqlite_errors(self.where):
            connection = self._idle_connection() or self._new_connection()
            try:
                self._begin(connection, writes)
                yield SqliteConnection(connection)
                connection.commit()
            except BaseException:
                connection.rollback()
                raise
            finally:
                self._idle.append(connection)
            if writes:
                self._check_place(connection)

    def _new_connection(self) -> sqlite3.Connection:
        check_regular(self._path)
        connection = sqlite3.connect(
            self._uri or self.where,
            uri=bool(self._uri),
            timeout=self._busy_s,
            # the driver's own BEGIN comes too late, only before the first write
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.executescript(SETTINGS)
        except BaseException:
            connection.close()
            raise
        return connection

    def _begin(self, connection: sqlite3.Connection, writes: bool) -> None:
        if writes:
            _use_wal(connection, self._busy_s)
        # a transaction that reads first could not wait for its turn to write
        connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        if writes and self._file is None:
            self._file = _file(self._path)

    def _check_place(self, connection: sqlite3.Connection) -> None:
        """What was committed must be found by who opens the path. Raises StoreError.

        Of a file that is removed or replaced SQLite goes on with what it has open, and
        every commit succeeds; but once that is closed, nothing of it is left.
        """
        if self._file and self._file == _file(self._path):
            return
        lost, copy = self.where, _copied(connection, self._path)
        self.where, self._path, self._file = str(copy), copy, _file(copy)
        self.close()
        raise StoreError(
            f"the store {lost} was removed or replaced while it was in use; all that "
            f"it held is in {copy}: name that with --store or IOPLAN_STORE to go on",
            StoreFault.STORE_LOST,
        )


def _file(path: Path) -> list[tuple[int, int]]:
    """The file that a path leads to; none if it has no database."""
    with suppress(OSError):
        status = path.stat()
        if status.st_size >= LEAST_BYTES:
            return [(status.st_dev, status.st_ino)]
    return []


def _copied(connection: sqlite3.Connection, path: Path) -> Path:
    """All that the open database holds, in a new file beside. Raises StoreError."""
    now = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    new = path.with_name(f"{path.stem}-rescued-{now}{path.suffix}")
    try:
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with sqlite3.connect(new) as copy:
            connection.backup(copy)
        copy.close()
    except (OSError, sqlite3.Error) as error:
        raise StoreError(
            f"the store {path} was removed or replaced while it was in use, and what "
            f"it held cannot be written again: {error}; {OTHER_STORE_HINT}",
            StoreFault.STORE_LOST,
        ) from error
    return new


class SqliteConnection:
    for_update = ""  # writers wait for each other anyway
    tables = """
        SELECT name FROM sqlite_master
        WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_'"""
    lock = "SELECT 1"  # who writes has locked the file already

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, query: str, /, **values: Any) -> list[Row]:
        cursor = self._connection.execute(query, values)
        names = [column[0] for column in cursor.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
        _check_texts(rows)
        return rows

    def tuples(self, query: str, /, **values: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(query, values).fetchall()

    def change(self, statement: str, /, *rows: Row) -> int:
        return self._connection.executemany(statement, rows).rowcount

    def define(self, statement: str, /) -> None:
        self._connection.execute(statement)


def _check_texts(rows: Sequence[Row]) -> None:
    """A column of SQLite takes values of any type. Raises StoreError."""
    for name in TEXTS & rows[0].keys() if rows else ():
        if not {type(row[name]) for row in rows} <= {str, NoneType}:
            raise StoreError(
                f"the store is not as ioplan writes it: a {name!r} in it is no text; "
                f"it is damaged or made by another program; use another store",
                StoreFault.RECORD_DAMAGED,
            )


def check_regular(path: Path) -> None:
    """SQLite takes a disk for an empty file, and begins to write. Raises StoreError."""
    with suppress(OSError):  # what is not there yet, or not for us to see
        if not stat.S_ISREG(path.stat().st_mode):
            raise StoreError(
                f"the store {path} is not a regular file, and nothing was written to "
                f"it: {OTHER_STORE_HINT}",
                StoreFault.STORE_NOT_A_DATABASE,
            )


def has_log(path: Path) -> bool:
    """Whether a log may hold what is not in the file yet."""
    logs = (path.with_name(path.name + log) for log in LOGS)
    try:
        return any(log.stat().st_size for log in logs if log.exists())
    except OSError:  # not for us to see
        return True


def is_immutable(path: Path) -> bool:
    """Whether we cannot write to it, and no log holds what is not in it yet."""
    places = (path, path.parent)
    can_write = all(os.access(place, os.W_OK, effective_ids=True) for place in places)
    return not can_write and not has_log(path)


def _use_wal(connection: sqlite3.Connection, busy_s: float) -> None:
    """Switch to WAL. SQLite's busy timeout does not cover this, so wait here.

    The file remembers it, so only writers do it.
    """
    deadline_s = time.monotonic() + busy_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > deadline_s:
                raise
        time.sleep(0.01)
