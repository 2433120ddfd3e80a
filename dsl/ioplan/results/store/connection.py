"""What a store asks of a database: transactions of plain SQL.

The statements hold for SQLite and PostgreSQL alike; parameters are `:name`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

Row = dict[str, Any]
"""Values by the names of their columns."""


class Connection(Protocol):
    """A transaction. Every method may raise StoreError, and KeyViolation."""

    for_update: str
    """Ends a query whose rows nobody else may change meanwhile."""
    own: str
    """Stands before a table that is meant itself, within a WITH of its name."""

    def rows(self, query: str, /, **values: Any) -> list[Row]:
        """The rows of a query."""

    def tuples(self, query: str, /, **values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query, their values as the database has them, unchecked."""

    def change(self, statement: str, /, *rows: Row) -> int:
        """Do it for each row of values; returns how many rows it changed."""

    def define(self, statement: str, /) -> None:
        """Make or change a table, an index or a view, in SQLite's words."""

    def table_names(self) -> set[str]:
        """All tables of the database."""

    def lock_schema(self) -> None:
        """One at a time makes tables; the lock ends with the transaction."""


class Source(Protocol):
    """A database that transactions are done in, by any number of threads."""

    where: str

    def transaction(self, writes: bool) -> AbstractContextManager[Connection]:
        """Committed and durable at its end, undone on an exception."""

    def close(self) -> None:
        """Close the connections."""


def scalar(rows: list[Row]) -> Any:
    """The only value of the first row; None without a row."""
    return next(iter(rows[0].values())) if rows else None
