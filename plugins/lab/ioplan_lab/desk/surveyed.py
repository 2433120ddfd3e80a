"""The drives of a lab as its hosts reported them last: what they are, and since when
one is gone.

Written by who asks the hosts: a desk at work, `ioplan lab adopt`, and `ioplan lab
consent drives`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ioplan.core import TargetFault
from ioplan.results.store import Connection, Row
from ioplan.runner.guard import Surveyed
from ioplan_lab.desk.database import DeskDatabase, stamp
from ioplan_lab.desk.drives import health_of
from ioplan_lab.desk.queue.tables import insert
from ioplan_lab.desk.table import table

TABLES = table(
    "desk_host_drive",
    "host name id serial model firmware size_bytes:BIGINT health verdict reason "
    "seen_at gone_since",
    "host name",
)
LASTING = ("id", "serial", "model", "firmware", "size_bytes", "health", "seen_at")
"""What is still known of a drive that is gone; `seen_at` is when it was there last."""


def keep_surveys(
    database: DeskDatabase, found: Mapping[str, Iterable[Surveyed]]
) -> None:
    """In place of what was known of these hosts. Raises StoreError."""
    with database.writing() as connection:
        for host, rows in found.items():
            before = _found_on(connection, host)
            delete = "DELETE FROM desk_host_drive WHERE host = :host"
            connection.change(delete, {"host": host})
            for one in named(rows):
                row = _row(one, before.get(one.name))
                insert(connection, "desk_host_drive", {"host": host, **row})


def _row(one: Surveyed, before: Row | None) -> Row:
    """Of a drive that is not there, what was known of it is kept."""
    row = {
        "name": one.name,
        "id": one.id,
        "serial": one.identity.serial if one.identity else "",
        "model": one.identity.model if one.identity else "",
        "firmware": one.firmware,
        "size_bytes": one.size_bytes,
        "health": health_of(one.smart).text,
        "verdict": one.verdict,
        "reason": one.reason,
        "seen_at": stamp(),
        "gone_since": "",
    }
    if one.kind != TargetFault.NOT_FOUND:
        return row
    gone = {"gone_since": (before or {}).get("gone_since") or stamp()}
    return {**row, "seen_at": "", **{k: before[k] for k in LASTING if before}, **gone}


def named(rows: Iterable[Surveyed]) -> list[Surveyed]:
    """The rows that the lab names, each once."""
    return list({one.name: one for one in rows if one.name}.values())


def reported(database: DeskDatabase) -> dict[tuple[str, str], Row]:
    """What hosts said of their drives, by host and name. Raises StoreError."""
    with database.reading() as connection:
        rows = connection.rows("SELECT * FROM desk_host_drive")
    return {(row["host"], row["name"]): row for row in rows}


def sizes(database: DeskDatabase) -> dict[tuple[str, str], int]:
    """In bytes, by host and name, of drives that were found. Raises StoreError."""
    rows = reported(database).items()
    return {key: int(row["size_bytes"]) for key, row in rows if row["size_bytes"]}


def found_on(database: DeskDatabase, host: str) -> dict[str, Row]:
    """What a host said of its drives, by name. Raises StoreError."""
    with database.reading() as connection:
        return _found_on(connection, host)


def _found_on(connection: Connection, host: str) -> dict[str, Row]:
    query = "SELECT * FROM desk_host_drive WHERE host = :host ORDER BY name"
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
