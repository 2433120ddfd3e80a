"""The database of a store: a file of this host's, or a server that a lab shares.

Statements are SQLAlchemy's and hold for SQLite and PostgreSQL alike.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from sqlalchemy import Connection, Engine

from ioplan.core.context import Closing
from ioplan.core.error_kinds import StoreFault
from ioplan.store.errors import StoreError, database_errors
from ioplan.store.postgres import (
    is_address,
    lock_schema,
    postgres_engine,
    without_password,
)
from ioplan.store.reserve import Reserve
from ioplan.store.sqlite import WRITES, is_immutable, sqlite_engine
from ioplan.store.tables import create_missing, is_complete

BUSY_S = 30.0


class Database(Closing):
    """An open database. Every method may raise StoreError."""

    def __init__(self, engine: Engine, where: str) -> None:
        """Use an engine, and make the tables when its database is empty."""
        self.where = where
        self.reserve: Reserve | None = None
        self._engine = engine
        self._writer = engine.execution_options(**WRITES)
        try:
            self._prepare()
        except BaseException:
            engine.dispose()
            raise

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
        made = cls(sqlite_engine(path, busy_s), str(path))
        made.reserve = Reserve(path)
        return made

    @classmethod
    def at(cls, place: str | os.PathLike[str]) -> Self:
        """Open a file, or a database that is shared: `postgresql://…`."""
        address = str(place)
        if is_address(address):
            return cls(postgres_engine(address), without_password(address))
        return cls.open(place)

    @classmethod
    def to_read(cls, place: str | os.PathLike[str]) -> Self:
        """As `at`, and also a file where nothing can be written."""
        try:
            return cls.at(place)
        except StoreError:
            if is_address(str(place)) or not is_immutable(Path(place)):
                raise
        return cls(sqlite_engine(Path(place), immutable=True), str(place))

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that reads."""
        with database_errors(self.where), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes; durable when it ends."""
        with database_errors(self.where), self._writer.begin() as connection:
            yield connection

    def _prepare(self) -> None:
        """Make the tables; nothing is written before it is known to be a store."""
        with self.reading() as connection:
            ready = is_complete(connection, self.where)
        if not ready:
            with self.writing() as connection:
                lock_schema(connection)
                create_missing(connection, self.where)


def _check_is_file(path: str | os.PathLike[str]) -> None:
    """pathlib makes one slash of two."""
    if str(path).startswith(("postgresql:", "postgres:")):
        raise StoreError(
            "results are kept in a file on the host first, so that no run waits for a "
            "network: leave --store and IOPLAN_STORE, or name a file, and write "
            'results = "postgresql://…" into the lab file, or use `ioplan push`',
            StoreFault.STORE_ADDRESS,
        )
