"""The tables of the store, the same in SQLite and in PostgreSQL.

Large things are kept apart in `run_blob`, so that a report which asks for plain
figures reads little. Primary keys are natural ones: adding twice changes nothing.
"""

from sqlalchemy import (
    Column,
    Connection,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    insert,
    inspect,
    select,
)

from ioplan.core.error_kinds import StoreFault
from ioplan.store.errors import OTHER_STORE_HINT, StoreError

LAYOUT = 1
"""Raised when the tables change; records carry their own `schema_version`."""

metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("name", String, primary_key=True),
    Column("value", String, nullable=False),
)

# what a host is hardly changes between runs, so it is kept once
env = Table(
    "env",
    metadata,
    Column("digest", String, primary_key=True),
    Column("facts", Text, nullable=False),
)

session = Table(
    "session",
    metadata,
    Column("id", String, primary_key=True),
    Column("plan", String, nullable=False),
    Column("plan_file", String, nullable=False),
    Column("plan_text", Text, nullable=False),
    Column("started_at", String, nullable=False),
    Column("ended_at", String),
    Column("status", String, nullable=False),
    Column("backend", String, nullable=False),
    Column("target", String, nullable=False),
    Column("args", Text, nullable=False),
    Column("env", ForeignKey("env.digest"), nullable=False),
    Column("ioplan", String, nullable=False),
)

# `record` is last: SQLite then finds the plain columns without reading it
run = Table(
    "run",
    metadata,
    Column("session", ForeignKey("session.id"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("run_id", String, nullable=False),
    Column("test", String, nullable=False),
    Column("status", String, nullable=False),
    Column("env", ForeignKey("env.digest"), nullable=False),
    Column("iops", Double, nullable=False),
    Column("bandwidth_bytes_per_s", Double, nullable=False),
    Column("mean_ns", Double),
    Column("record", Text, nullable=False),
    Index("run_by_run_id", "run_id"),
)

run_blob = Table(
    "run_blob",
    metadata,
    Column("session", String, primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("histograms", LargeBinary, nullable=False),
    Column("series", LargeBinary, nullable=False),
    ForeignKeyConstraint(["session", "seq"], ["run.session", "run.seq"]),
)

# added later: runs from before, and runs in virtual time, have none
run_telemetry = Table(
    "run_telemetry",
    metadata,
    Column("session", String, primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("points", LargeBinary, nullable=False),
    ForeignKeyConstraint(["session", "seq"], ["run.session", "run.seq"]),
)

verdict = Table(
    "verdict",
    metadata,
    Column("session", String, primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("verdict", Text, nullable=False),
    ForeignKeyConstraint(["session", "seq"], ["run.session", "run.seq"]),
)

# what happened to a session beside its runs
event = Table(
    "event",
    metadata,
    Column("session", ForeignKey("session.id"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("at", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("text", Text, nullable=False),
)

# the state that a target was last known to be in, and what proves it
target_state = Table(
    "target_state",
    metadata,
    Column("target", String, primary_key=True),
    Column("path", Text, nullable=False),
    Column("name", String, nullable=False),
    Column("evidence", Text, nullable=False),
    Column("session", String, nullable=False),
    Column("at", String, nullable=False),
)


ALL = set(metadata.tables)
ADDED = {target_state.name, run_telemetry.name}
"""Added to this layout later, so that a store may be without them."""


def is_complete(connection: Connection, where: str) -> bool:
    """Whether all tables are there; in an empty database none is.

    Raises StoreError for a database of something else, and a newer version's.
    """
    present = set(inspect(connection).get_table_names())
    if not present:
        return False
    layout = _layout(connection) if meta.name in present else None
    if layout is not None and layout > LAYOUT:
        raise StoreError(
            f"the store {where} was written by a newer ioplan (layout {layout}, and "
            f"this one knows {LAYOUT}): upgrade with "
            f"`pip install --upgrade ioplan`, or {OTHER_STORE_HINT}",
            StoreFault.STORE_VERSION,
        )
    if layout is None or ALL - ADDED - present:
        foreign = min(present - ALL, default=meta.name)
        raise StoreError(
            f"{where} is a database of something else (it has a table {foreign!r}, "
            f"and is no store of ioplan's): {OTHER_STORE_HINT}",
            StoreFault.STORE_FOREIGN,
        )
    return present >= ALL


def _layout(connection: Connection) -> int | None:
    """Its number; None where the table is somebody else's."""
    names = meta.c
    found = {one["name"] for one in inspect(connection).get_columns(meta.name)}
    if not found >= set(names.keys()):
        return None
    value = connection.scalar(select(names.value).where(names.name == "layout"))
    try:
        return int(str(value))
    except ValueError:
        return None


def create_missing(connection: Connection, where: str) -> None:
    """Make what is missing. Raises StoreError, and nothing is made."""
    if is_complete(connection, where):  # another process was first
        return
    is_new = not inspect(connection).has_table(meta.name)
    metadata.create_all(connection)
    if is_new:
        row = {"name": "layout", "value": str(LAYOUT)}
        connection.execute(insert(meta), row)
