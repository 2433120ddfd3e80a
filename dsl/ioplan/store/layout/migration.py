"""Brings the tables of an older ioplan up to today's layout, in one transaction.

Who opens a store for writing does it. What is new is filled from what the old rows
hold, and nothing is taken away: whoever is killed meanwhile has changed nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from ioplan.records.drive import drive_of
from ioplan.store.connection import Connection, Row
from ioplan.store.layout.tables import (
    INDEXES,
    LAYOUT,
    TABLES,
    create_all,
    create_missing,
    insert_missing,
    layout_of,
)
from ioplan.store.layout.views import VIEWS
from ioplan.store.rows import drive_row

PAGE = 200
REQUESTED = ("request", "resolved")
LANE = re.compile(r"(\d{8}-\d{6}-[0-9a-z]{4})-\d{3,}")
"""A lane's session: its job's id, and its number."""
PATH_SIGNS = set("/:.")
"""What no name of a lab's target has, and most paths."""
SESSIONS = f"""
    SELECT session.id, session.args, session.target, env.facts, (
      SELECT run.record FROM run WHERE run.session = session.id
      ORDER BY run.seq LIMIT 1) AS record
    FROM session JOIN env ON env.digest = session.env
    WHERE session.id > :after ORDER BY session.id LIMIT {PAGE}"""
FILL = """
    UPDATE session SET job = :job, host_name = :host_name, drive = :drive
    WHERE id = :id"""


def bring_up(connection: Connection, where: str) -> None:
    """Make what is missing of today's tables. Raises StoreError, and none is made."""
    layout = layout_of(connection, where)
    if layout is None:
        create_all(connection)
        return
    create_missing(connection)
    for old in range(layout, LAYOUT):
        STEPS[old](connection)
        row = {"value": str(old + 1)}
        connection.change("UPDATE meta SET value = :value WHERE name = 'layout'", row)


def _to_2(connection: Connection) -> None:
    """Drives, and who ran what where and why."""
    for name in ("job", "person", "host_name", "drive", "tags", "note", *REQUESTED):
        _add_column(connection, "session", name)
    _add_column(connection, "verdict", "outcome")
    for name in ("session_by_start", "verdict_by_outcome"):
        connection.define(INDEXES[name])
    for statement in VIEWS.values():
        connection.define(statement)
    _fill_sessions(connection)
    connection.define("ALTER TABLE session DROP COLUMN args")


STEPS: dict[int, Callable[[Connection], None]] = {1: _to_2}
"""By the layout that they begin with."""


def _add_column(connection: Connection, table: str, name: str) -> None:
    """As it stands in the table's definition."""
    found = re.search(rf"^  ({name} .*?),$\n  [A-Za-z]", TABLES[table], re.M | re.S)
    assert found, name
    connection.define(f"ALTER TABLE {table} ADD COLUMN {found[1]}")


def _fill_sessions(connection: Connection) -> None:
    after = ""
    while page := connection.rows(SESSIONS, after=after):
        after = page[-1]["id"]
        found = [known_of(row) for row in page]
        drives = [row for row, _ in found if row]
        insert_missing(connection, "drive", *drives)
        connection.change(FILL, *(values for _, values in found))


def known_of(row: Row) -> tuple[Row | None, Row]:
    """What an old session tells: the row of its drive, and its new columns.

    `row` has `id`, `target`, `args`, its host's `facts` and its first run's `record`.
    """
    lane = LANE.fullmatch(row["id"])
    target = _mapping(_loaded(row["record"]).get("target"))
    drive = drive_of(target, _lab_name(row))
    found = drive_row(drive) if drive else None
    return found, {
        "id": row["id"],
        "job": lane[1] if lane else None,
        "host_name": str(_loaded(row["facts"]).get("hostname") or ""),
        "drive": found["digest"] if found else None,
    }


def _lab_name(row: Row) -> str:
    """The word after `--target`, where a lab was named and it can be no path."""
    args = _loaded(row["args"])
    word = args.get("target")
    if not args.get("lab") or not isinstance(word, str) or PATH_SIGNS & set(word):
        return ""
    return word


def _loaded(text: str | None) -> dict[str, Any]:
    """Empty where it is damaged, which who reads that session is told."""
    try:
        return _mapping(json.loads(text or "{}"))
    except (ValueError, RecursionError):
        return {}


def _mapping(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}
