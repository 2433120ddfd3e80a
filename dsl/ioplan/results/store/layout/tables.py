"""The tables of the store, the same in SQLite and in PostgreSQL.

Large things are kept apart in `run_blob`, so that a report which asks for plain
figures reads little. Primary keys are natural ones: adding twice changes nothing.
"""

from __future__ import annotations

import re

from ioplan.core.error_kinds import StoreFault
from ioplan.records.record import PERCENTILES
from ioplan.results.store.connection import Connection, Row
from ioplan.results.store.errors import OTHER_STORE_HINT, StoreError
from ioplan.results.store.layout.views import VIEWS

LAYOUT = 8
"""Raised when the tables or views change; records carry their own `schema_version`."""
BY_RUN_ID = "CREATE INDEX run_by_run_id ON run (run_id, session)"
"""With the session, so that those of many runs are found without reading the runs."""
OLDEST = 5
"""The oldest layout that is upgraded, by `upgrade.py`."""
PERCENTILE_COLUMNS = tuple(
    f"p{percent:g}_ns".replace(".", "_") for percent in PERCENTILES
)
"""Such as `p99_9_ns`."""
PERCENTILE_LINES = "\n".join(f"  {name} DOUBLE," for name in PERCENTILE_COLUMNS)
META = "meta"
TABLES = {
    META: """
CREATE TABLE meta (
  name VARCHAR NOT NULL,
  value VARCHAR NOT NULL,
  PRIMARY KEY (name)
)""",
    # what a host is hardly changes between runs, so it is kept once
    "env": """
CREATE TABLE env (
  digest VARCHAR NOT NULL,
  facts TEXT NOT NULL,
  PRIMARY KEY (digest)
)""",
    # as a session found it: one that got other firmware has another row
    "drive": """
CREATE TABLE drive (
  digest VARCHAR NOT NULL,
  serial VARCHAR NOT NULL,
  model VARCHAR NOT NULL,
  firmware VARCHAR NOT NULL,
  lab_name VARCHAR NOT NULL,
  wwid VARCHAR NOT NULL,
  capacity_bytes BIGINT NOT NULL,
  PRIMARY KEY (digest)
)""",
    "session": """
CREATE TABLE session (
  id VARCHAR NOT NULL,
  plan VARCHAR NOT NULL,
  plan_file VARCHAR NOT NULL,
  plan_text TEXT NOT NULL,
  plan_digest VARCHAR NOT NULL DEFAULT '',
  started_at VARCHAR NOT NULL,
  ended_at VARCHAR,
  status VARCHAR NOT NULL,
  backend VARCHAR NOT NULL,
  target VARCHAR NOT NULL,
  env VARCHAR NOT NULL,
  ioplan VARCHAR NOT NULL,
  job VARCHAR,
  person VARCHAR NOT NULL DEFAULT '',
  host_name VARCHAR NOT NULL DEFAULT '',
  drive VARCHAR REFERENCES drive (digest),
  tags TEXT NOT NULL DEFAULT '[]',
  note TEXT NOT NULL DEFAULT '',
  request TEXT NOT NULL DEFAULT '{}',
  resolved TEXT NOT NULL DEFAULT '{}',
  expected INTEGER NOT NULL DEFAULT 0,
  unmet INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (id),
  FOREIGN KEY (env) REFERENCES env (digest)
)""",
    # JSON is what no query asks for: `asked` without its place in the plan, `extras`
    # without figures; `extras` is last, so that other columns are read without it
    "run": """
CREATE TABLE run (
  session VARCHAR NOT NULL,
  seq INTEGER NOT NULL,
  run_id VARCHAR NOT NULL,
  test VARCHAR NOT NULL,
  kind VARCHAR NOT NULL,
  step INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  round INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  cell TEXT NOT NULL,
  after_name VARCHAR NOT NULL,
  after_digest VARCHAR NOT NULL,
  removed INTEGER NOT NULL,
  status VARCHAR NOT NULL,
  cause VARCHAR NOT NULL,
  message TEXT NOT NULL,
  started_at VARCHAR NOT NULL,
  ended_at VARCHAR NOT NULL,
  run_s DOUBLE NOT NULL,
  cpu_percent DOUBLE,
  steady TEXT,
  decided TEXT,
  found TEXT,
  ioplan VARCHAR NOT NULL,
  env VARCHAR NOT NULL,
  asked TEXT NOT NULL,
  backend TEXT NOT NULL,
  target TEXT NOT NULL,
  extras TEXT NOT NULL,
  PRIMARY KEY (session, seq),
  FOREIGN KEY (session) REFERENCES session (id),
  FOREIGN KEY (env) REFERENCES env (digest)
)""",
    # `percentiles` are those of another program, which are others than ours;
    # empty texts are all targets, the whole run and all streams; direction `total` is
    # reads and writes together. A single stream has the rows of the whole run only
    "figure": f"""
CREATE TABLE figure (
  session VARCHAR NOT NULL,
  seq INTEGER NOT NULL,
  target VARCHAR NOT NULL,
  phase VARCHAR NOT NULL,
  stream VARCHAR NOT NULL,
  direction VARCHAR NOT NULL,
  ios BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  errors BIGINT NOT NULL,
  iops DOUBLE NOT NULL,
  bandwidth_bytes_per_s DOUBLE NOT NULL,
  mean_ns DOUBLE,
  min_ns BIGINT,
  max_ns BIGINT,
  stddev_ns DOUBLE,
{PERCENTILE_LINES}
  supported_percent DOUBLE,
  bound_percent DOUBLE,
  percentiles TEXT,
  PRIMARY KEY (session, seq, target, phase, stream, direction),
  FOREIGN KEY (session, seq) REFERENCES run (session, seq)
) WITHOUT ROWID""",
    "run_blob": """
CREATE TABLE run_blob (
  session VARCHAR NOT NULL,
  seq INTEGER NOT NULL,
  histograms BLOB NOT NULL,
  series BLOB NOT NULL,
  PRIMARY KEY (session, seq),
  FOREIGN KEY (session, seq) REFERENCES run (session, seq)
)""",
    # runs in virtual time have none
    "run_telemetry": """
CREATE TABLE run_telemetry (
  session VARCHAR NOT NULL,
  seq INTEGER NOT NULL,
  points BLOB NOT NULL,
  PRIMARY KEY (session, seq),
  FOREIGN KEY (session, seq) REFERENCES run (session, seq)
)""",
    # what each stream counted in each interval; of runs that tell none, nothing
    "run_intervals": """
CREATE TABLE run_intervals (
  session VARCHAR NOT NULL,
  seq INTEGER NOT NULL,
  packed BLOB NOT NULL,
  PRIMARY KEY (session, seq),
  FOREIGN KEY (session, seq) REFERENCES run (session, seq)
)""",
    # those of other digests than the session's are of the plan before it was edited;
    # the database computes `outcome`, so that it cannot differ from the verdict
    "verdict": """
CREATE TABLE verdict (
  session VARCHAR NOT NULL,
  seq INTEGER NOT NULL,
  plan_digest VARCHAR NOT NULL,
  position INTEGER NOT NULL,
  verdict TEXT NOT NULL,
  outcome VARCHAR GENERATED ALWAYS AS (CASE
    WHEN instr(verdict, '"outcome":"held"') > 0 THEN 'held'
    WHEN instr(verdict, '"outcome":"failed"') > 0 THEN 'failed'
    WHEN instr(verdict, '"outcome":"undecided"') > 0 THEN 'undecided'
    ELSE 'no baseline' END) VIRTUAL,
  PRIMARY KEY (session, seq, plan_digest, position),
  FOREIGN KEY (session, seq) REFERENCES run (session, seq)
)""",
    # what happened to a session beside its runs
    "event": """
CREATE TABLE event (
  session VARCHAR NOT NULL,
  position INTEGER NOT NULL,
  at VARCHAR NOT NULL,
  kind VARCHAR NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (session, position),
  FOREIGN KEY (session) REFERENCES session (id)
)""",
    # the state that a target was last known to be in, and what proves it
    "target_state": """
CREATE TABLE target_state (
  target VARCHAR NOT NULL,
  path TEXT NOT NULL,
  name VARCHAR NOT NULL,
  evidence TEXT NOT NULL,
  session VARCHAR NOT NULL,
  at VARCHAR NOT NULL,
  PRIMARY KEY (target)
)""",
}
"""Each after those that it refers to."""
INDEXES = {
    "run_by_run_id": BY_RUN_ID,
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


def _insertion(table: str) -> str:
    names = COLUMNS[table]
    values = ", ".join(f":{name}" for name in names)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values})"


def layout_of(connection: Connection, where: str) -> int | None:
    """The layout of a store's tables; None of an empty database.

    Raises StoreError for a database of something else, and for another layout.
    """
    present = connection.table_names()
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
    """Its number; None where the table is somebody else's."""
    rows = connection.rows("SELECT * FROM meta LIMIT 10")  # ours has one
    known = {row.get("name"): row.get("value") for row in rows}
    try:
        return int(str(known.get("layout")))
    except ValueError:
        return None


def create_all(connection: Connection) -> None:
    """Make all tables and views in an empty database."""
    for statement in TABLES.values():
        connection.define(statement)
    for statement in INDEXES.values():
        connection.define(statement)
    for statement in VIEWS.values():
        connection.define(statement)
    insert(connection, META, {"name": "layout", "value": str(LAYOUT)})
