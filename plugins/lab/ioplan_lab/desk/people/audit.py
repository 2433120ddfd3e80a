"""Who did what at the desk, and when; nothing is ever changed or removed."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

from msgspec import Struct

from ioplan.core import printable
from ioplan_lab.desk.database import DeskDatabase, stamp
from ioplan_lab.desk.queue.tables import insert
from ioplan_lab.desk.table import table

TABLES = table("desk_audit", "id at person address deed outcome", "id")
NEWEST = """
    SELECT at, person, address, deed, outcome FROM desk_audit
    ORDER BY id DESC LIMIT :limit"""
MOST_TEXT = 500


class Deed(Struct, frozen=True):
    """One thing that was done, or refused; `at` is UTC, ISO 8601.

    `address` is where the request came from.
    """

    at: str
    person: str
    address: str
    deed: str
    outcome: str


def _kept(text: str) -> str:
    """PostgreSQL keeps no NUL, and a log is one line for a deed."""
    return printable(text)[:MOST_TEXT]


class Audit:
    """The log. Every method may raise StoreError."""

    def __init__(self, database: DeskDatabase) -> None:
        self.database = database

    def add(self, person: str, address: str, deed: str, outcome: str) -> None:
        """What a person did now."""
        row = {
            "id": f"{datetime.now(UTC):%Y%m%d%H%M%S%f}-{secrets.token_hex(4)}",
            "at": stamp(),
            "person": _kept(person),
            "address": _kept(address),
            "deed": _kept(deed),
            "outcome": _kept(outcome),
        }
        with self.database.writing() as connection:
            insert(connection, "desk_audit", row)

    def newest(self, limit: int = 100) -> list[Deed]:
        """The newest first."""
        with self.database.reading() as connection:
            rows = connection.rows(NEWEST, limit=limit)
        return [Deed(**row) for row in rows]
