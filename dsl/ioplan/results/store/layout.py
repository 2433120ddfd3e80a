"""The layout of a store's tables: it is made in an empty database, and what older ones
have is brought into it, in one transaction."""

from __future__ import annotations

import json
import re

from ioplan.core.error_kinds import StoreFault
from ioplan.records.record import RunRecord
from ioplan.results.store.connection import Connection, Source
from ioplan.results.store.errors import OTHER_STORE_HINT, StoreError, validated
from ioplan.results.store.figures import figure_rows
from ioplan.results.store.runs import run_row
from ioplan.results.store.sessions import plan_digest
from ioplan.results.store.tables import COLUMNS, INDEXES, TABLES, VIEWS, update

LAYOUT = 8
"""Raised when the tables or views change; records carry their own `schema_version`."""
OLDEST = 5
"""The oldest layout that is upgraded."""
NEW = {"figure"}
"""Tables that older layouts lack."""


def prepare(source: Source) -> None:
    """Make or upgrade the tables, unless they are as they should be. Raises StoreError.

    Nothing is written before the database is known to be a store.
    """
    with source.transaction(writes=False) as connection:
        layout = _layout_of(connection, source.where)
    if layout == LAYOUT:
        return
    try:
        with source.transaction(writes=True) as connection:
            connection.rows(connection.lock)
            current = _layout_of(connection, source.where)  # others may have made them
            if current is None:
                _create(connection)
            elif current != LAYOUT:
                _upgrade(connection, current)
    except StoreError as error:
        raise (_other_layout(source.where, layout) if layout else error) from error


def _layout_of(connection: Connection, where: str) -> int | None:
    """The layout of a store's tables; None of an empty database.

    Raises StoreError for a database of something else, and for another layout.
    """
    present = {row["name"] for row in connection.rows(connection.tables)}
    if not present:
        return None
    layout = _stated_layout(connection) if "meta" in present else None
    if layout not in (None, *range(OLDEST, LAYOUT + 1)):
        raise _other_layout(where, layout)
    needed = TABLES.keys() if layout == LAYOUT else TABLES.keys() - NEW
    if layout is None or needed - present:
        foreign = min(present - TABLES.keys(), default="meta")
        raise StoreError(
            f"{where} is a database of something else (it has a table {foreign!r}, "
            f"and is no store of ioplan's): {OTHER_STORE_HINT}",
            StoreFault.STORE_FOREIGN,
        )
    return layout


def _stated_layout(connection: Connection) -> int | None:
    rows = connection.rows("SELECT * FROM meta LIMIT 10")  # ours has one
    values = {row.get("name"): row.get("value") for row in rows}
    try:
        return int(str(values.get("layout")))
    except ValueError:
        return None


def _other_layout(where: str, layout: int | None) -> StoreError:
    """Of a store that cannot be used as it is."""
    text = f"the store {where} has layout {layout}, and this ioplan reads and writes"
    hint = f"use the ioplan that wrote it, or {OTHER_STORE_HINT}"
    if layout in range(OLDEST, LAYOUT):
        hint = "open it once where it may be written, which upgrades it, or " + hint
    return StoreError(f"{text} layout {LAYOUT} only: {hint}", StoreFault.STORE_VERSION)


def _create(connection: Connection) -> None:
    for statement in (*TABLES.values(), *INDEXES.values(), *VIEWS.values()):
        connection.define(statement)
    connection.insert("meta", {"name": "layout", "value": str(LAYOUT)})


# Older layouts.

STEPS = {
    5: (
        "ALTER TABLE run ADD COLUMN place TEXT",
        "ALTER TABLE run ADD COLUMN figures TEXT",
        "DROP INDEX run_by_run_id",
        INDEXES["run_by_run_id"],
    ),
    6: ("ALTER TABLE session ADD COLUMN unmet INTEGER NOT NULL DEFAULT 0",),
    7: (
        "ALTER TABLE session ADD COLUMN plan_digest VARCHAR NOT NULL DEFAULT ''",
        "DROP INDEX verdict_by_outcome",
        "ALTER TABLE verdict RENAME TO verdict_7",
        TABLES["verdict"],
        INDEXES["verdict_by_outcome"],
        TABLES["figure"],
    ),
}
"""Statements by the layout that they are for."""
SAME = ("session", "seq", "run_id", "test", "status", "env")
OLD = ("place", "figures", "record", "iops", "bandwidth_bytes_per_s", "mean_ns")
"""Columns of a run of layout 7; its figures were in the JSON of its record."""
MOVE_VERDICTS = """
    INSERT INTO verdict (session, seq, plan_digest, position, verdict)
    SELECT v.session, v.seq, session.plan_digest, v.position, v.verdict
    FROM verdict_7 AS v JOIN session ON session.id = v.session"""
RUNS = """
    SELECT session, seq, env, record FROM run
    WHERE session = :session AND seq > :after ORDER BY seq LIMIT 200"""


def _upgrade(connection: Connection, layout: int) -> None:
    """Raises StoreError for a run that cannot be read."""
    for name in reversed(VIEWS):
        connection.define(f"DROP VIEW IF EXISTS {name}")
    for step in range(layout, LAYOUT):
        for statement in STEPS[step]:
            connection.define(statement)
    _make_columns(connection)
    for statement in VIEWS.values():
        connection.define(statement)
    row = {"name": "layout", "value": str(LAYOUT)}
    connection.change(update("meta", ("value",)), row)


def _make_columns(connection: Connection) -> None:
    """The figures of runs, and what judged them, out of the JSON of layout 7."""
    names = [name for name in COLUMNS["run"] if name not in SAME]
    types = dict(re.findall(r"^  (\w+) (\w+)", TABLES["run"], re.MULTILINE))
    for name in names:
        connection.define(f"ALTER TABLE run ADD COLUMN {name} {types[name]}")
    for session in connection.rows("SELECT * FROM session"):
        id, after = session["id"], 0
        with validated(f"session {id!r}"):
            digest = {"id": id, "plan_digest": plan_digest(session)}
        connection.change(update("session", ("plan_digest",)), digest)
        while page := connection.rows(RUNS, session=id, after=after):
            for row in page:
                after = row["seq"]
                with validated(f"run {after} of session {id!r}"):
                    fields = json.loads(row["record"]) | {"host": {}}
                    record = RunRecord.model_validate(fields)
                own = run_row(record, row["env"])
                connection.change(update("run", names), own)
                connection.insert("figure", *figure_rows(record))
    connection.define(MOVE_VERDICTS)
    connection.define("DROP TABLE verdict_7")
    for name in OLD:
        connection.define(f"ALTER TABLE run DROP COLUMN {name}")
