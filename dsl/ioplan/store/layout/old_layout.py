"""Reads a store of layout 1 that may not be changed, as if it were of today's.

What its tables do not have is empty: drives, hosts, jobs, persons, tags and notes.
"""

from __future__ import annotations

from typing import Any

from ioplan.store.connection import Connection, Row
from ioplan.store.layout.tables import COLUMNS, TABLES

NUMBERS = ("seq", "capacity_bytes")
SESSION = """session AS (SELECT id, plan, plan_file, plan_text, started_at, ended_at,
    status, backend, target, env, ioplan, NULL AS job, '' AS person, '' AS host_name,
    NULL AS drive, '[]' AS tags, '' AS note, '{}' AS request, '{}' AS resolved
    FROM {own}session AS old)"""
VERDICT = """verdict AS (SELECT old.*, CASE
    WHEN old.verdict LIKE '%"outcome":"held"%' THEN 'held'
    WHEN old.verdict LIKE '%"outcome":"failed"%' THEN 'failed'
    WHEN old.verdict LIKE '%"outcome":"undecided"%' THEN 'undecided'
    ELSE 'no baseline' END AS outcome FROM {own}verdict AS old)"""


def tables_of_today(connection: Connection) -> str:
    """Stands before a query: WITH the tables as they are now."""
    missing = TABLES.keys() - connection.table_names()
    made = [SESSION, VERDICT, *map(_empty, sorted(missing))]
    return f"WITH {', '.join(made)} ".replace("{own}", connection.own)


def _empty(table: str) -> str:
    columns = ", ".join(
        f"CAST(NULL AS {'INTEGER' if name in NUMBERS else 'VARCHAR'}) AS {name}"
        for name in COLUMNS[table]
    )
    return f"{table} AS (SELECT {columns} WHERE FALSE)"


class AsToday:
    """A transaction that reads; see `connection.Connection`."""

    def __init__(self, connection: Connection, tables: str) -> None:
        self._connection, self._tables = connection, tables

    def rows(self, query: str, /, **values: Any) -> list[Row]:
        return self._connection.rows(self._tables + query, **values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)
