"""The statements of the store that are longer than a line."""

from __future__ import annotations

from collections.abc import Sequence

from ioplan.records.drive import Drive
from ioplan.records.record import Verdict
from ioplan.results.store.connection import Connection, scalar
from ioplan.results.store.layout.tables import COLUMNS, insert
from ioplan.results.store.runs import WHERE

PAGE = 200
OF_RUN = "session = :session AND seq = :seq"
OF_VERDICT = f"{OF_RUN} AND plan_digest = :plan_digest AND position = :position"


def all_sessions(condition: str = "TRUE") -> str:
    """Sessions with their host's facts and their drive, the newest first."""
    columns = ", ".join(f"session.{name}" for name in COLUMNS["session"])
    drive = ", ".join(f"drive.{name}" for name in Drive.model_fields)
    return f"""
        SELECT {columns}, env.facts, {drive}
        FROM session JOIN env ON session.env = env.digest
        LEFT JOIN drive ON session.drive = drive.digest
        WHERE {condition}
        ORDER BY session.id DESC"""


DETAIL = """
    SELECT blob.histograms, blob.series, telemetry.points
    FROM run_blob AS blob LEFT JOIN run_telemetry AS telemetry
    ON telemetry.session = blob.session AND telemetry.seq = blob.seq
    WHERE blob.session = :session AND blob.seq = :seq"""
INTERVALS = f"SELECT packed FROM run_intervals WHERE {OF_RUN}"
STATE = f"""
    SELECT {", ".join(COLUMNS["target_state"])} FROM target_state
    WHERE target = :target"""
SET_WORDS = "UPDATE session SET tags = :tags, note = :note WHERE id = :id"
UPDATE_PLAN = """
    UPDATE session SET plan = :plan, plan_text = :plan_text,
    plan_digest = :plan_digest, resolved = :resolved, expected = :expected,
    unmet = 0, status = :status, ended_at = :ended_at
    WHERE id = :id"""
OUTDATED = "DELETE FROM verdict WHERE session = :id AND plan_digest = :plan_digest"
UPDATE_PLACE = f"""
    UPDATE run SET {", ".join(f"{name} = :{name}" for name in WHERE)} WHERE {OF_RUN}"""
UPDATE_VERDICT = f"""
    UPDATE verdict SET verdict = :verdict
    WHERE {OF_VERDICT}"""


def lock_run(connection: Connection, session_id: str, seq: int) -> bool:
    """Whether there is such a run; no one else then appends to it meanwhile."""
    query = f"SELECT seq FROM run WHERE {OF_RUN}{connection.for_update}"
    return scalar(connection.rows(query, session=session_id, seq=seq)) is not None


def put_verdicts(
    connection: Connection, session_id: str, seq: int, verdicts: Sequence[Verdict]
) -> None:
    """Add verdicts behind those of a run; of one expectation the new one stays."""
    if not verdicts:
        return
    rows = connection.rows(KNOWN_VERDICTS, session=session_id, seq=seq)
    key = {name: rows[0][name] for name in ("session", "seq", "plan_digest")}
    known = {
        Verdict.model_validate_json(row["verdict"]).expectation: row
        for row in rows
        if row["verdict"]
    }
    texts = {one.expectation: one.model_dump_json() for one in verdicts}
    new = [text for expectation, text in texts.items() if expectation not in known]
    places = enumerate(new, start=len(known))
    insert(
        connection,
        "verdict",
        *({**key, "position": place, "verdict": text} for place, text in places),
    )
    changed = (
        {**key, "position": row["position"], "verdict": texts[expectation]}
        for expectation, row in known.items()
        if texts.get(expectation, row["verdict"]) != row["verdict"]
    )
    connection.change(UPDATE_VERDICT, *changed)


KNOWN_VERDICTS = """
    SELECT run.session, run.seq, session.plan_digest, v.verdict, v.position
    FROM run JOIN session ON run.session = session.id
    LEFT JOIN verdict AS v ON v.session = run.session AND v.seq = run.seq
      AND v.plan_digest = session.plan_digest
    WHERE run.session = :session AND run.seq = :seq"""
