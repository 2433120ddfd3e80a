"""The database of a store: a file of this host's, or a server that a lab shares."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self

from ioplan.core.context import Closing
from ioplan.core.error_kinds import StoreFault
from ioplan.results.store.connection import Connection, Source
from ioplan.results.store.errors import StoreError
from ioplan.results.store.layout.tables import (
    LAYOUT,
    create_all,
    layout_of,
    other_layout,
    upgrade,
)
from ioplan.results.store.reserve import Reserve
from ioplan.results.store.sqlite import SqliteFile, is_immutable

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
        else:
            upgrade(connection, layout)


def _postgres(address: str) -> Source:
    """What connects to a server is an extra, and loaded when needed."""
    try:
        from ioplan.results.store.postgres import PostgresDatabase  # noqa: PLC0415

        return PostgresDatabase(address)
    except ModuleNotFoundError as error:
        raise StoreError(
            f"results in PostgreSQL need {error.name}: pip install 'ioplan[postgres]'",
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
