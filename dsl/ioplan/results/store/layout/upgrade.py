"""Makes today's layout of an older one, in one transaction."""

from __future__ import annotations

import json
import re

from ioplan.records.record import RunRecord
from ioplan.results.store.connection import Connection, Row
from ioplan.results.store.errors import validated
from ioplan.results.store.figures import figure_rows
from ioplan.results.store.layout.tables import (
    COLUMNS,
    INDEXES,
    LAYOUT,
    TABLES,
    insert,
)
from ioplan.results.store.layout.views import VIEWS
from ioplan.results.store.rows import plan_digest
from ioplan.results.store.runs import run_row

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
OLD_COLUMNS = (
    *("place", "figures", "record", "iops", "bandwidth_bytes_per_s", "mean_ns"),
)
"""Of a run of layout 7; its figures were in the JSON of its record."""
KEPT = ("session", "seq", "run_id", "test", "status", "env")
MOVE_VERDICTS = """
    INSERT INTO verdict (session, seq, plan_digest, position, verdict)
    SELECT v.session, v.seq, session.plan_digest, v.position, v.verdict
    FROM verdict_7 AS v JOIN session ON session.id = v.session"""
DIGEST = "UPDATE session SET plan_digest = :digest WHERE id = :id"
RUNS = """
    SELECT session, seq, env, record FROM run
    WHERE session = :session AND seq > :after ORDER BY seq LIMIT 200"""


def upgrade(connection: Connection, layout: int) -> None:
    """Make today's layout. Raises StoreError for a run that cannot be read."""
    for name in reversed(VIEWS):
        connection.define(f"DROP VIEW IF EXISTS {name}")
    for step in range(layout, LAYOUT):
        for statement in STEPS[step]:
            connection.define(statement)
    _make_columns(connection)
    for statement in VIEWS.values():
        connection.define(statement)
    row = {"name": "layout", "value": str(LAYOUT)}
    connection.change("UPDATE meta SET value = :value WHERE name = :name", row)


def _make_columns(connection: Connection) -> None:
    """The figures of runs, and what judged them, out of the JSON of layout 7."""
    names = [name for name in COLUMNS["run"] if name not in KEPT]
    types = dict(re.findall(r"^  (\w+) (\w+)", TABLES["run"], re.MULTILINE))
    for name in names:
        connection.define(f"ALTER TABLE run ADD COLUMN {name} {types[name]}")
    settings = ", ".join(f"{name} = :{name}" for name in names)
    change = f"UPDATE run SET {settings} WHERE session = :session AND seq = :seq"
    for session in connection.rows("SELECT * FROM session"):
        with validated(f"session {session['id']!r}"):
            digest = {"id": session["id"], "digest": plan_digest(session)}
        connection.change(DIGEST, digest)
        after = 0
        while page := connection.rows(RUNS, session=session["id"], after=after):
            for row in page:
                _make_run(connection, change, row)
            after = page[-1]["seq"]
    connection.define(MOVE_VERDICTS)
    connection.define("DROP TABLE verdict_7")
    for name in OLD_COLUMNS:
        connection.define(f"ALTER TABLE run DROP COLUMN {name}")


def _make_run(connection: Connection, change: str, row: Row) -> None:
    with validated(f"run {row['seq']} of session {row['session']!r}"):
        record = RunRecord.model_validate({**json.loads(row["record"]), "host": {}})
    connection.change(change, run_row(record, row["env"]))
    insert(connection, "figure", *figure_rows(record))
