"""The tables and views of the store, the same in SQLite and in PostgreSQL.

Large things are kept apart in `run_blob`, so that a report which asks for plain
figures reads little. Primary keys are natural ones: adding twice changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Literal

from msgspec import Struct
from msgspec.structs import fields

from ioplan.records.record import Status


class RunColumns(Struct, frozen=True, array_like=True):
    """A row of `run` as msgspec checks it, as SQLite takes any value in any column.

    JSON is what no query asks for: `asked` without its place in the plan, `extras`
    without figures. Instead of `env`, a digest, the facts of the host are read.
    """

    session: str
    seq: int
    run_id: str
    test: str
    kind: Literal["run", "prepare", "probe"]
    step: int
    name: str
    round: int
    iteration: int
    cell: str
    after_name: str
    after_digest: str
    removed: int
    status: Status
    cause: str
    message: str
    started_at: str
    ended_at: str
    run_s: float
    cpu_percent: float | None
    steady: str | None
    decided: str | None
    found: str | None
    ioplan: str
    env: str
    asked: str
    backend: str
    target: str
    extras: str  # last, so that the others are read without it


class FigureColumns(
    Struct, frozen=True, array_like=True, rename={"foreign": "percentiles"}
):
    """The figures of a row of `figure`, as msgspec checks them.

    `foreign` is JSON of all percentiles of another program that has others than ours.
    """

    ios: int
    bytes: int
    errors: int
    iops: float
    bandwidth_bytes_per_s: float
    mean_ns: float | None
    min_ns: int | None
    max_ns: int | None
    stddev_ns: float | None
    p50_ns: float | None
    p90_ns: float | None
    p95_ns: float | None
    p99_ns: float | None
    p99_9_ns: float | None
    p99_99_ns: float | None
    p99_999_ns: float | None
    supported_percent: float | None
    bound_percent: float | None
    foreign: str | None


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
    "meta": ("name, value VARCHAR NOT NULL", "PRIMARY KEY (name)"),
    # what a host is hardly changes between runs, so it is kept once
    "env": ("digest VARCHAR NOT NULL", "facts TEXT NOT NULL", "PRIMARY KEY (digest)"),
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
        *_columns(FigureColumns),
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


KEYS = {
    table: re.findall(r"PRIMARY KEY \((.+)\)", text)[0].split(", ")
    for table, text in TABLES.items()
}


@cache
def insertion(table: str) -> str:
    """The statement that adds a row with all columns."""
    values = ", ".join(f":{name}" for name in COLUMNS[table])
    return f"INSERT INTO {table} ({', '.join(COLUMNS[table])}) VALUES ({values})"


def update(table: str, names: Iterable[str]) -> str:
    """The statement that changes these columns of a row."""
    settings = ", ".join(f"{name} = :{name}" for name in names)
    return f"UPDATE {table} SET {settings} WHERE {by_key(table)}"


def by_key(table: str) -> str:
    return " AND ".join(f"{name} = :{name}" for name in KEYS[table])


# The views are for other programs: their names and columns stay, and `docs/store.md`
# describes them. What ioplan itself lists of sessions comes out of the same text.

OF_PLAN = "v.session = session.id AND v.plan_digest = session.plan_digest"
HELD = f"""(SELECT count(*) FROM verdict AS v
    WHERE {OF_PLAN} AND v.outcome = 'held')"""
VERDICT = f"""CASE
    WHEN EXISTS (SELECT 1 FROM verdict AS v
      WHERE {OF_PLAN} AND v.outcome = 'failed') THEN 'failed'
    WHEN EXISTS (SELECT 1 FROM verdict AS v
      WHERE {OF_PLAN} AND v.outcome = 'undecided') THEN 'undecided'
    WHEN session.unmet > 0 THEN 'undecided'
    WHEN session.status <> 'ok' AND {HELD} < session.expected THEN 'not measured'
    WHEN EXISTS (SELECT 1 FROM verdict AS v
      WHERE {OF_PLAN} AND v.outcome = 'no baseline') THEN 'no baseline'
    WHEN {HELD} > 0 AND session.status <> 'ok' THEN 'undecided'
    WHEN {HELD} > 0 THEN 'held'
    ELSE 'none' END"""
"""The gravest of a session: it has held if all has that could be judged.

What a session that ended early did not measure has not held, and not all of its plan
has run where all that it measured held. The exit code of a session is that of its
verdict.
"""
DRIVE = """COALESCE(NULLIF(drive.serial, ''), NULLIF(drive.wwid, ''),
    NULLIF(drive.lab_name, ''), NULLIF(drive.model, ''), session.target)"""
"""What identifies a drive for as long as it lives; of a file, its path."""
SESSIONS = f"""
  SELECT session.id AS session, session.plan, session.plan_file, session.status,
    {VERDICT} AS verdict,
    session.started_at, session.ended_at,
    (SELECT count(*) FROM run WHERE run.session = session.id) AS runs,
    session.backend, session.target, session.host_name AS host, session.person,
    session.job, {DRIVE} AS drive, COALESCE(drive.serial, '') AS serial,
    COALESCE(drive.model, '') AS model, COALESCE(drive.firmware, '') AS firmware,
    COALESCE(drive.lab_name, '') AS lab_name, COALESCE(drive.wwid, '') AS wwid,
    COALESCE(drive.capacity_bytes, 0) AS capacity_bytes,
    session.tags, session.note, session.ioplan,
    {HELD} AS held, session.expected
  FROM session LEFT JOIN drive ON drive.digest = session.drive"""
"""A row a session, without what is large."""


VIEWS = {
    "v_session": f"""
CREATE VIEW v_session AS
  SELECT s.*, CASE WHEN julianday(s.ended_at) >= julianday(s.started_at)
    THEN CAST((julianday(s.ended_at) - julianday(s.started_at)) * 86400 AS DOUBLE)
    END AS duration_s
  FROM ({SESSIONS}) AS s""",
    "v_run": """
CREATE VIEW v_run AS
  SELECT run.session, run.seq, run.run_id, run.test, run.kind, run.name AS step,
    run.cell, run.status, run.cause, run.started_at, run.ended_at, run.run_s,
    f.iops, f.bandwidth_bytes_per_s, f.mean_ns, f.p50_ns, f.p99_ns, f.p99_9_ns,
    f.max_ns, f.ios, f.errors
  FROM run JOIN figure AS f ON f.session = run.session AND f.seq = run.seq
    AND f.target = '' AND f.phase = '' AND f.stream = '' AND f.direction = 'total'""",
    "v_figure": "CREATE VIEW v_figure AS SELECT * FROM figure",
    "v_verdict": """
CREATE VIEW v_verdict AS
  SELECT v.session, v.seq, v.outcome,
    json_extract(v.verdict, '$.expectation') AS expectation,
    CAST(json_extract(v.verdict, '$.actual') AS DOUBLE) AS actual,
    CAST(json_extract(v.verdict, '$.limit') AS DOUBLE) AS limit_value,
    json_extract(v.verdict, '$.unit') AS unit
  FROM verdict AS v JOIN session ON session.id = v.session
    AND session.plan_digest = v.plan_digest""",
    "v_drive": """
CREATE VIEW v_drive AS
  SELECT known.drive, last.serial, last.model, last.firmware, last.lab_name,
    last.wwid, last.capacity_bytes, last.host, known.sessions, known.first_at,
    last.started_at AS last_at, last.session AS last_session, last.plan AS last_plan,
    last.status AS last_status
  FROM (
    SELECT drive, count(*) AS sessions, min(started_at) AS first_at,
      max(session) AS newest
    FROM v_session WHERE serial <> '' OR wwid <> '' OR lab_name <> '' OR model <> ''
    GROUP BY drive
  ) AS known JOIN v_session AS last ON last.session = known.newest""",
    "v_tag": """
CREATE VIEW v_tag AS
  SELECT session.id AS session, tag.value AS tag
  FROM session, json_each(session.tags) AS tag""",
    "v_job": """
CREATE VIEW v_job AS
  SELECT job, min(plan) AS plan, min(person) AS person, count(*) AS lanes,
    sum(CASE WHEN status = 'ok' THEN 1 ELSE 0 END) AS lanes_ok,
    sum(CASE WHEN status = 'running' THEN 1 ELSE 0 END) AS lanes_running,
    min(started_at) AS started_at, max(ended_at) AS ended_at
  FROM session WHERE job IS NOT NULL GROUP BY job""",
}
"""Each after those that it is made of."""
