"""Transactions of plain SQL, whose statements hold for SQLite and PostgreSQL alike.

Parameters are `:name`.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager, suppress
from typing import Any

from ioplan.core.context import Closing
from ioplan.results.store.tables import COLUMNS, insertion

Row = dict[str, Any]
"""Values by the names of their columns."""


class Connection:
    """A transaction. Every method may raise StoreError, and KeyViolation."""

    for_update: str
    """Ends a query whose rows nobody else may change meanwhile."""
    tables: str
    """The query of the names of all tables."""
    lock: str
    """The query by which one at a time makes tables, until its transaction ends."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def rows(self, query: str, /, **values: Any) -> list[Row]:
        cursor = self._connection.execute(self._translated(query), values)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def tuples(self, query: str, /, **values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query, their values as the database has them, unchecked."""
        query = self._translated(query)
        rows: list[tuple[Any, ...]] = self._connection.execute(query, values).fetchall()
        return rows

    def change(self, statement: str, /, *rows: Row) -> int:
        """Do it for each row of values; returns how many rows it changed."""
        cursor = self._connection.cursor()
        cursor.executemany(self._translated(statement), rows)
        return cursor.rowcount if rows else 0

    def select(self, table: str, condition: str, **values: Any) -> list[Row]:
        names = ", ".join(COLUMNS[table])
        return self.rows(f"SELECT {names} FROM {table} WHERE {condition}", **values)

    def insert(self, table: str, *rows: Row) -> None:
        """Add rows, with all columns. Raises KeyViolation."""
        self.change(insertion(table), *rows)

    def insert_missing(self, table: str, *rows: Row) -> None:
        """Add those rows whose key is not there yet."""
        self.change(f"{insertion(table)} ON CONFLICT DO NOTHING", *rows)

    def define(self, statement: str, /) -> None:
        """Make or change a table, an index or a view, in SQLite's words."""
        self._connection.execute(statement)

    @staticmethod
    def _translated(statement: str) -> Any:
        return statement


class Source(Closing):
    """A database that transactions are done in, by any number of threads.

    Each has a connection to itself; those that are done are used again.
    """

    where: str

    def __init__(self) -> None:
        self._idle: list[Any] = []

    @abstractmethod
    def transaction(self, writes: bool) -> AbstractContextManager[Connection]:
        """Committed and durable at its end, undone on an exception."""

    def _idle_connection(self) -> Any:
        with suppress(IndexError):
            return self._idle.pop()
        return None

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()


def scalar(rows: list[Row]) -> Any:
    """The only value of the first row; None without a row."""
    return next(iter(rows[0].values())) if rows else None
