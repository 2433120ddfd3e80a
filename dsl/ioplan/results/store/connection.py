"""What a store asks of a database: transactions of plain SQL.

The statements hold for SQLite and PostgreSQL alike; parameters are `:name`.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager, suppress
from typing import Any, Protocol

from ioplan.core.context import Closing

Row = dict[str, Any]
"""Values by the names of their columns."""


class Connection(Protocol):
    """A transaction. Every method may raise StoreError, and KeyViolation."""

    for_update: str
    """Ends a query whose rows nobody else may change meanwhile."""
    tables: str
    """The query of the names of all tables."""
    lock: str
    """The query by which one at a time makes tables, until its transaction ends."""

    def rows(self, query: str, /, **values: Any) -> list[Row]:
        """The rows of a query."""

    def tuples(self, query: str, /, **values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query, their values as the database has them, unchecked."""

    def change(self, statement: str, /, *rows: Row) -> int:
        """Do it for each row of values; returns how many rows it changed."""

    def define(self, statement: str, /) -> None:
        """Make or change a table, an index or a view, in SQLite's words."""


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
