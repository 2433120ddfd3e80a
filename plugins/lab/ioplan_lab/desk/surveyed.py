"""The drives of a lab as they were found last: what they are, and how large.

Written by who asks the hosts: `ioplan lab adopt`, and `ioplan lab consent drives`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ioplan.results.store.connection import Row
from ioplan.runner.guard.survey import Surveyed
from ioplan_lab.desk.clock import stamp
from ioplan_lab.desk.database import DeskDatabase
from ioplan_lab.desk.queue.tables import insert
from ioplan_lab.desk.table import table

TABLES = table(
    "desk_drive",
    "host name id model size_bytes:BIGINT verdict reason seen_at",
    "host name",
)


def keep_surveys(
    database: DeskDatabase, found: Mapping[str, Iterable[Surveyed]]
) -> None:
    """In place of what was known of these hosts. Raises StoreError."""
    with database.writing() as connection:
        for host, rows in found.items():
            connection.change("DELETE FROM desk_drive WHERE host = :h", {"h": host})
            for one in named(rows):
                row = {
                    "host": host,
                    "name": one.name,
                    "id": one.id,
                    "model": one.identity.model if one.identity else "",
                    "size_bytes": one.size_bytes,
                    "verdict": one.verdict,
                    "reason": one.reason,
                    "seen_at": stamp(),
                }
                insert(connection, "desk_drive", row)


def named(rows: Iterable[Surveyed]) -> list[Surveyed]:
    """The rows that the lab names, each once."""
    return list({one.name: one for one in rows if one.name}.values())


def sizes(database: DeskDatabase) -> dict[tuple[str, str], int]:
    """In bytes, by host and name, of drives that were found. Raises StoreError."""
    with database.reading() as connection:
        rows = connection.rows(
            "SELECT host, name, size_bytes FROM desk_drive WHERE size_bytes > 0"
        )
    return {(row["host"], row["name"]): int(row["size_bytes"]) for row in rows}


def found_on(database: DeskDatabase, host: str) -> dict[str, Row]:
    """What the guard said of the drives of a host, by name. Raises StoreError."""
    query = "SELECT * FROM desk_drive WHERE host = :host ORDER BY name"
    with database.reading() as connection:
        return {row["name"]: row for row in connection.rows(query, host=host)}


def chosen(
    found: Mapping[str, Sequence[Surveyed]], names: Iterable[str]
) -> tuple[list[Surveyed], dict[str, str]]:
    """The rows of these targets that may be written, and why the others may not."""
    rows = {one.name: one for them in found.values() for one in named(them)}
    writable, refused = [], {}
    for name in names:
        one = rows.get(name)
        if one and one.verdict == "writable":
            writable.append(one)
        else:
            refused[name] = (one.reason if one else "") or "it was not found"
    return writable, refused
