"""Tables of the queue: what is to run, and which drives it may not run on."""

from __future__ import annotations

from ioplan.results.store import Connection, Row
from ioplan_lab.desk.table import table

TABLES = {
    # a row that who decides what is started has locked; see `deciding`
    **table("desk_lock", "name", "name"),
    **table(
        "desk_queue",
        "number:INTEGER person added_at priority:INTEGER position:INTEGER "
        "not_before plan files target drives request consent origin state "
        "desk lease job started_at ended_at cancelled_by message",
        "number",
    ),
    **table(
        "desk_reservation", "number:INTEGER drive person since until why", "number"
    ),
    **table("desk_out_of_service", "drive reason person at", "drive"),
}
LOCK = "INSERT INTO desk_lock (name) VALUES (:name) ON CONFLICT DO NOTHING"


def locked(connection: Connection, name: str, waits: bool) -> bool:
    """Whether this transaction has the lock; others get it when it ends.

    On SQLite who writes has locked all. Who does not wait leaves it to the one that
    has it now, in PostgreSQL by SKIP LOCKED.
    """
    query = "SELECT name FROM desk_lock WHERE name = :name"
    if not connection.rows(query, name=name):
        connection.change(LOCK, {"name": name})
    skip = " SKIP LOCKED" if connection.for_update and not waits else ""
    return bool(connection.rows(f"{query}{connection.for_update}{skip}", name=name))


def next_number(connection: Connection, table: str) -> int:
    """One more than the largest; the lock is held."""
    found = connection.rows(f"SELECT MAX(number) AS largest FROM {table}")
    return int(found[0]["largest"] or 0) + 1


def insert(connection: Connection, table: str, row: Row) -> None:
    """Add a row."""
    values = ", ".join(f":{name}" for name in row)
    connection.change(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})", row)
