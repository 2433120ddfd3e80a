"""The views of a store, for other programs: their names and columns stay.

`docs/store.md` describes them. They are made of the tables in SQLite's words, which are
translated for PostgreSQL; what is listed by ioplan itself comes out of the same text.
"""

from __future__ import annotations

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
