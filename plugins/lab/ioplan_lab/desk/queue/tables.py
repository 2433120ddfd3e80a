"""Tables of the queue: what is to run, and which drives it may not run on."""

from __future__ import annotations

from ioplan.store.connection import Connection, Row

TABLES = {
    # a row that who decides what is started has locked; see `deciding`
    "desk_lock": """
CREATE TABLE desk_lock (
  name VARCHAR NOT NULL,
  PRIMARY KEY (name)
)""",
    "desk_queue": """
CREATE TABLE desk_queue (
  number INTEGER NOT NULL,
  person VARCHAR NOT NULL,
  added_at VARCHAR NOT NULL,
  priority INTEGER NOT NULL,
  position INTEGER NOT NULL,
  not_before VARCHAR NOT NULL,
  plan VARCHAR NOT NULL,
  files TEXT NOT NULL,
  target VARCHAR NOT NULL,
  drives TEXT NOT NULL,
  request TEXT NOT NULL,
  consent TEXT NOT NULL,
  origin VARCHAR NOT NULL,
  state VARCHAR NOT NULL,
  desk VARCHAR NOT NULL,
  lease VARCHAR NOT NULL,
  job VARCHAR NOT NULL,
  started_at VARCHAR NOT NULL,
  ended_at VARCHAR NOT NULL,
  cancelled_by VARCHAR NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (number)
)""",
    "desk_reservation": """
CREATE TABLE desk_reservation (
  number INTEGER NOT NULL,
  drive VARCHAR NOT NULL,
  person VARCHAR NOT NULL,
  since VARCHAR NOT NULL,
  until VARCHAR NOT NULL,
  why TEXT NOT NULL,
  PRIMARY KEY (number)
)""",
    "desk_out_of_service": """
CREATE TABLE desk_out_of_service (
  drive VARCHAR NOT NULL,
  reason TEXT NOT NULL,
  person VARCHAR NOT NULL,
  at VARCHAR NOT NULL,
  PRIMARY KEY (drive)
)""",
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
