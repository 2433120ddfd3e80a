"""An SQLite file as a store's database: durable, and fit for several writers."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import NoneType
from typing import Any

from ioplan.core.error_kinds import StoreFault
from ioplan.results.store.connection import Connection, Row, Source
from ioplan.results.store.errors import (
    OTHER_STORE_HINT,
    KeyViolation,
    StoreError,
    StoreFullError,
)
from ioplan.results.store.tables import TEXTS

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
    def transaction(self, writes: bool) -> Iterator[Connection]:
        with _errors(self.where):
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
        _check_regular(self._path)
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
    """All that the open database holds, in a new file. Raises StoreError."""
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


class SqliteConnection(Connection):
    for_update = ""  # writers wait for each other anyway
    tables = """
        SELECT name FROM sqlite_master
        WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_'"""
    lock = "SELECT 1"  # who writes has locked the file already

    def rows(self, query: str, /, **values: Any) -> list[Row]:
        """A column takes values of any type; those of texts are checked."""
        rows = super().rows(query, **values)
        for name in TEXTS & rows[0].keys() if rows else ():
            if not {type(row[name]) for row in rows} <= {str, NoneType}:
                raise StoreError(
                    f"the store is not as ioplan writes it: a {name!r} in it is no "
                    "text; it is damaged or made by another program; use another store",
                    StoreFault.RECORD_DAMAGED,
                )
        return rows


def _check_regular(path: Path) -> None:
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


NOT_OPENED = (
    StoreFault.STORE_NOT_OPENED,
    "cannot be opened: see that the folder exists and that you may write "
    f"to it (SQLite keeps two more files there), or {OTHER_STORE_HINT}",
)
LOCKED = (
    StoreFault.STORE_LOCKED,
    "is locked by another process: wait until that one has finished, or end it",
)
FAULTS = {
    "FULL": (
        StoreFault.STORE_FULL,
        "cannot grow, the disk is full: what was to be stored now is not, and all "
        f"before is; free some space, or {OTHER_STORE_HINT}",
    ),
    "READONLY": (
        StoreFault.STORE_READ_ONLY,
        "is read-only: give yourself the right to write to the file and its "
        f"folder, or {OTHER_STORE_HINT}",
    ),
    "NOTADB": (
        StoreFault.STORE_NOT_A_DATABASE,
        f"is not an SQLite database: move the file away, or {OTHER_STORE_HINT}",
    ),
    "CORRUPT": (
        StoreFault.STORE_DAMAGED,
        "is damaged: keep a copy, and save what can be read with "
        "`sqlite3 FILE .recover`",
    ),
    **dict.fromkeys(("CANTOPEN", "PERM", "AUTH"), NOT_OPENED),
    **dict.fromkeys(("BUSY", "LOCKED"), LOCKED),
    "IOERR": (
        StoreFault.STORE_IO,
        f"cannot be read or written, the disk reports an error: {OTHER_STORE_HINT}",
    ),
}
"""By the first word of SQLite's error names, such as SQLITE_READONLY_DIRECTORY."""
FULL = "IOERR_SHMSIZE"
"""SQLite cannot say it better of the file that its processes share."""


@contextmanager
def _errors(where: str) -> Iterator[None]:
    """Turn SQLite's errors into StoreError and KeyViolation."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise KeyViolation from error
    except OverflowError as error:
        text = f"the store {where} has no numbers of more than 64 bits: {error}"
        raise StoreError(text, StoreFault.STORE_DATABASE) from error
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")  # the driver's own have none
        word = name.removeprefix("SQLITE_").replace(FULL, "FULL").split("_")[0]
        other = (StoreFault.STORE_DATABASE, f"reports: {error}")
        fault, text = FAULTS.get(word, other)
        kind = StoreFullError if fault is StoreFault.STORE_FULL else StoreError
        raise kind(f"the store {where} {text}", fault) from error
