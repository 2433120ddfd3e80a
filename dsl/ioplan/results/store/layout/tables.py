"""The tables of the store, the same in SQLite and in PostgreSQL.

Large things are kept apart in `run_blob`, so that a report which asks for plain
figures reads little. Primary keys are natural ones: adding twice changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct
from msgspec.structs import fields

from ioplan.core.error_kinds import StoreFault
from ioplan.results.store.connection import Connection, Row
from ioplan.results.store.errors import OTHER_STORE_HINT, StoreError
from ioplan.results.store.figures import Stored
from ioplan.results.store.layout.views import VIEWS
from ioplan.results.store.runs import RunColumns

LAYOUT = 8
"""Raised when the tables or views change; records carry their own `schema_version`."""
OLDEST = 5
"""The oldest layout that is upgraded, by `upgrade.py`."""
META = "meta"
TYPES = {
    int: "BIGINT NOT NULL",
    float: "DOUBLE NOT NULL",
    int | None: "BIGINT",
    float | None: "DOUBLE",
    str | None: "TEXT",
}


def _columns(row: type[Struct]) -> Iterator[str]:
    """The columns that are read as these fields; other types are texts."""
    for field in fields(row):
        yield f"{field.encode_name} {TYPES.get(field.type, 'VARCHAR NOT NULL')}"


RUN_KEY = "PRIMARY KEY (session, seq)"
SESSION = "FOREIGN KEY (session) REFERENCES session (id)"
ENV = "FOREIGN KEY (env) REFERENCES env (digest)"
OF_RUN = (
    "session VARCHAR NOT NULL",
    "seq BIGINT NOT NULL",
    "FOREIGN KEY (session, seq) REFERENCES run (session, seq)",
)
DEFINITIONS: dict[str, tuple[str, ...]] = {
    META: ("name, value VARCHAR NOT NULL", "PRIMARY KEY (name)"),
    # what a host is hardly changes between runs, so it is kept once
    "env": (
        "digest VARCHAR NOT NULL",
        "facts TEXT NOT NULL",
        "PRIMARY KEY (digest)",
    ),
    # as a session found it: one that got other firmware has another row
    "drive": (
        "digest, serial, model, firmware, lab_name, wwid VARCHAR NOT NULL",
        "capacity_bytes BIGINT NOT NULL",
        "PRIMARY KEY (digest)",
    ),
    "session": (
        "id, plan, plan_file, plan_text VARCHAR NOT NULL",
        "plan_digest VARCHAR NOT NULL DEFAULT ''",
        "started_at VARCHAR NOT NULL",
        "ended_at VARCHAR",
        "status, backend, target, env, ioplan VARCHAR NOT NULL",
        "job VARCHAR",
        "person, host_name VARCHAR NOT NULL DEFAULT ''",
        "drive VARCHAR REFERENCES drive (digest)",
        "tags TEXT NOT NULL DEFAULT '[]'",
        "note TEXT NOT NULL DEFAULT ''",
        "request, resolved TEXT NOT NULL DEFAULT '{}'",
        "expected, unmet BIGINT NOT NULL DEFAULT 0",
        "PRIMARY KEY (id)",
        ENV,
    ),
    "run": (*_columns(RunColumns), RUN_KEY, SESSION, ENV),
    # empty texts are all targets, the whole run and all streams; direction `total` is
    # reads and writes together. A single stream has the rows of the whole run only
    "figure": (
        *OF_RUN,
        "target, phase, stream, direction VARCHAR NOT NULL",
        *_columns(Stored),
        "PRIMARY KEY (session, seq, target, phase, stream, direction)",
    ),
    "run_blob": (*OF_RUN, RUN_KEY, "histograms, series BLOB NOT NULL"),
    # runs in virtual time have none
    "run_telemetry": (*OF_RUN, RUN_KEY, "points BLOB NOT NULL"),
    # what each stream counted in each interval; of runs that tell none, nothing
    "run_intervals": (*OF_RUN, RUN_KEY, "packed BLOB NOT NULL"),
    # those of other digests than the session's are of the plan before it was edited;
    # the database computes `outcome`, so that it cannot differ from the verdict
    "verdict": (
        *OF_RUN,
        "plan_digest VARCHAR NOT NULL",
        "position BIGINT NOT NULL",
        "verdict TEXT NOT NULL",
        """outcome VARCHAR GENERATED ALWAYS AS (CASE
    WHEN instr(verdict, '"outcome":"held"') > 0 THEN 'held'
    WHEN instr(verdict, '"outcome":"failed"') > 0 THEN 'failed'
    WHEN instr(verdict, '"outcome":"undecided"') > 0 THEN 'undecided'
    ELSE 'no baseline' END) VIRTUAL""",
        "PRIMARY KEY (session, seq, plan_digest, position)",
    ),
    # what happened to a session beside its runs
    "event": (
        "session VARCHAR NOT NULL",
        "position BIGINT NOT NULL",
        "at, kind, text VARCHAR NOT NULL",
        "PRIMARY KEY (session, position)",
        SESSION,
    ),
    # the state that a target was last known to be in, and what proves it
    "target_state": (
        "target, path, name, evidence, session, at VARCHAR NOT NULL",
        "PRIMARY KEY (target)",
    ),
}
"""Columns of one type, and keys; a table is after those that it refers to."""
LINE = re.compile(r"([a-z][a-z0-9_, ]*) ([A-Z].*)", re.DOTALL)


def _statement(table: str, *parts: str) -> str:
    columns, keys = list[str](), list[str]()
    for part in parts:
        if line := LINE.fullmatch(part):
            columns += [f"  {name} {line[2]}" for name in line[1].split(", ")]
        else:
            keys.append(f"  {part}")
    end = "\n) WITHOUT ROWID" if table == "figure" else "\n)"
    return f"CREATE TABLE {table} (\n" + ",\n".join(columns + keys) + end


TABLES = {table: _statement(table, *parts) for table, parts in DEFINITIONS.items()}
INDEXES = {
    # with the session, so that those of many runs are found without reading the runs
    "run_by_run_id": "CREATE INDEX run_by_run_id ON run (run_id, session)",
    "session_by_start": "CREATE INDEX session_by_start ON session (started_at, id)",
    "verdict_by_outcome": """
CREATE INDEX verdict_by_outcome ON verdict (outcome, session, plan_digest)""",
}
COLUMNS = {
    table: tuple(re.findall(r"^  ([a-z_0-9]+) (?!.* GENERATED )", text, re.MULTILINE))
    for table, text in TABLES.items()
}
SESSION_TABLES = tuple(
    table for table, names in COLUMNS.items() if names[0] == "session"
)
"""What a session has beside its row, each after those that it refers to."""
RUN_TABLES = tuple(table for table in SESSION_TABLES if "seq" in COLUMNS[table])
TEXTS = {
    name
    for text in TABLES.values()
    for name in re.findall(r"^  ([a-z_]+) (?:VARCHAR|TEXT)", text, re.MULTILINE)
}
"""Columns that have texts, in whichever table they are."""
ALL, NEW = TABLES.keys(), {"figure"}
"""All tables, and those that older layouts lack."""


def insert(connection: Connection, table: str, *rows: Row) -> None:
    """Add rows, with all columns. Raises KeyViolation."""
    connection.change(_insertion(table), *rows)


def insert_missing(connection: Connection, table: str, *rows: Row) -> None:
    """Add those rows whose key is not there yet."""
    connection.change(f"{_insertion(table)} ON CONFLICT DO NOTHING", *rows)


@cache
def _insertion(table: str) -> str:
    names = COLUMNS[table]
    values = ", ".join(f":{name}" for name in names)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values})"


def layout_of(connection: Connection, where: str) -> int | None:
    """The layout of a store's tables; None of an empty database.

    Raises StoreError for a database of something else, and for another layout.
    """
    present = {row["name"] for row in connection.rows(connection.tables)}
    if not present:
        return None
    layout = _layout(connection) if META in present else None
    if layout not in (None, *range(OLDEST, LAYOUT + 1)):
        raise other_layout(where, layout)
    needed = ALL if layout == LAYOUT else ALL - NEW
    if layout is None or needed - present:
        foreign = min(present - ALL, default=META)
        raise StoreError(
            f"{where} is a database of something else (it has a table {foreign!r}, "
            f"and is no store of ioplan's): {OTHER_STORE_HINT}",
            StoreFault.STORE_FOREIGN,
        )
    return layout


def other_layout(where: str, layout: int | None) -> StoreError:
    """Of a store that cannot be used as it is."""
    text = f"the store {where} has layout {layout}, and this ioplan reads and writes"
    hint = f"use the ioplan that wrote it, or {OTHER_STORE_HINT}"
    if layout in range(OLDEST, LAYOUT):
        hint = "open it once where it may be written, which upgrades it, or " + hint
    return StoreError(f"{text} layout {LAYOUT} only: {hint}", StoreFault.STORE_VERSION)


def _layout(connection: Connection) -> int | None:
    rows = connection.rows("SELECT * FROM meta LIMIT 10")  # ours has one
    values = {row.get("name"): row.get("value") for row in rows}
    try:
        return int(str(values.get("layout")))
    except ValueError:
        return None


def create_all(connection: Connection) -> None:
    for statement in (*TABLES.values(), *INDEXES.values(), *VIEWS.values()):
        connection.define(statement)
    insert(connection, META, {"name": "layout", "value": str(LAYOUT)})
