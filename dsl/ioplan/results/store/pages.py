"""The runs of some ids in many sessions, a page of sessions for each query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ioplan.records.drive import Drive
from ioplan.records.record import Verdict
from ioplan.results.store.connection import Connection, Row, scalar
from ioplan.results.store.database import Database
from ioplan.results.store.layout.tables import COLUMNS, insert

# The statements of the store that are longer than a line.

PAGE = 200
OF_RUN = "session = :session AND seq = :seq"


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


def page_of_runs(*conditions: str) -> str:
    """The first runs of `:session` with their hosts' facts, in order."""
    return f"""
        SELECT run.session, run.seq, run.record, env.facts
        FROM run JOIN env ON run.env = env.digest
        WHERE {" AND ".join(("run.session = :session", *conditions))}
        ORDER BY run.seq LIMIT {PAGE}"""


def sessions_of_runs(count: int) -> str:
    """The ids of sessions that did any of so many runs, `:run0` and so on."""
    names = ", ".join(f":run{at}" for at in range(count))
    return f"SELECT DISTINCT session FROM run WHERE run_id IN ({names})"


def first_of_sessions(count: int) -> str:
    """The first runs of so many sessions, `:session0` and so on."""
    names = ", ".join(f":session{at}" for at in range(count))
    return f"""
        SELECT run.session, run.seq, run.record, env.facts
        FROM run JOIN env ON run.env = env.digest
        WHERE run.seq = 1 AND run.session IN ({names})"""


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
    UPDATE session SET plan = :plan, plan_text = :plan_text, resolved = :resolved,
    expected = :expected, unmet = 0, status = :status, ended_at = :ended_at
    WHERE id = :id"""
UPDATE_PLACE = f"""
    UPDATE run SET test = :test, place = :place, record = :record WHERE {OF_RUN}"""
VERDICTS = """
    SELECT seq, verdict FROM verdict
    WHERE session = :session AND seq BETWEEN :first AND :last
    ORDER BY seq, position"""


def verdicts_of(connection: Connection, runs: Sequence[Row]) -> dict[int, list[str]]:
    """The verdicts of runs of one session as JSON, by seq, in order."""
    if not runs:
        return {}
    first, last = runs[0], runs[-1]
    rows = connection.rows(
        VERDICTS, session=first["session"], first=first["seq"], last=last["seq"]
    )
    found: dict[int, list[str]] = {}
    for row in rows:
        found.setdefault(row["seq"], []).append(row["verdict"])
    return found


def lock_run(connection: Connection, session_id: str, seq: int) -> bool:
    """Whether there is such a run; no one else then appends to it meanwhile."""
    query = f"SELECT seq FROM run WHERE {OF_RUN}{connection.for_update}"
    return scalar(connection.rows(query, session=session_id, seq=seq)) is not None


def put_verdicts(
    connection: Connection, session_id: str, seq: int, verdicts: tuple[Verdict, ...]
) -> None:
    """Add verdicts behind those of a run; of one expectation the new one stays."""
    if not verdicts:
        return
    key = {"session": session_id, "seq": seq}
    query = f"SELECT position, verdict FROM verdict WHERE {OF_RUN}"
    known = {
        Verdict.model_validate_json(row["verdict"]).expectation: row
        for row in connection.rows(query, **key)
    }
    texts = {one.expectation: one.model_dump_json() for one in verdicts}
    new = [text for expectation, text in texts.items() if expectation not in known]
    rows = [
        {**key, "position": position, "verdict": text}
        for position, text in enumerate(new, start=len(known))
    ]
    insert(connection, "verdict", *rows)
    replace_verdicts(
        connection,
        *(
            {**key, "position": row["position"], "verdict": texts[expectation]}
            for expectation, row in known.items()
            if texts.get(expectation, row["verdict"]) != row["verdict"]
        ),
    )


def replace_verdicts(connection: Connection, *rows: Row) -> None:
    """Put these in place of those that have their key."""
    where = f"{OF_RUN} AND position = :position"
    connection.change(f"UPDATE verdict SET verdict = :verdict WHERE {where}", *rows)


PAGE_RUNS = 2000
"""So many runs, by the number of ids, are read at once."""


def sessions_that_did(store: Database, run_ids: Sequence[str]) -> list[str]:
    """The ids of the sessions, which sort by time. Raises StoreError."""
    query = sessions_of_runs(len(run_ids))
    with store.reading() as connection:
        rows = connection.rows(query, **_named("run", run_ids))
    return sorted(row["session"] for row in rows)


def pages_of_runs(
    store: Database, sessions: Sequence[str], run_ids: Sequence[str], whole: bool
) -> Iterator[list[Row]]:
    """These runs, in order: session, seq, run id, status, place and figures, and the
    record and the host's facts, of all or of those without a place. Raises StoreError.
    """
    size = max(1, PAGE_RUNS // max(1, len(run_ids)))
    for first in range(0, len(sessions), size):
        page = sessions[first : first + size]
        with store.reading() as connection:
            yield connection.rows(
                _page(len(page), len(run_ids), whole),
                **_named("session", page),
                **_named("run", run_ids),
            )


def whole_runs(store: Database, keys: Sequence[tuple[str, int]]) -> Iterator[Row]:
    """Session, seq, record and host of these runs, by session and seq, in their order.
    Raises StoreError."""
    if not keys:
        return
    sessions = list(dict.fromkeys(session for session, _ in keys))
    places = ", ".join(sorted({str(int(seq)) for _, seq in keys}))
    query = f"""
        SELECT run.session, run.seq, run.record, env.facts
        FROM run JOIN env ON run.env = env.digest
        WHERE run.session IN ({_marks("session", len(sessions))})
        AND run.seq IN ({places})"""
    with store.reading() as connection:
        rows = connection.rows(query, **_named("session", sessions))
    found = {(row["session"], row["seq"]): row for row in rows}
    yield from (found[key] for key in keys)


def _page(sessions: int, runs: int, whole: bool) -> str:
    own = "TRUE" if whole else "run.place IS NULL"
    return f"""
        SELECT run.session, run.seq, run.run_id, run.status, run.place, run.figures,
          CASE WHEN {own} THEN run.record END AS record,
          CASE WHEN {own} THEN env.facts END AS facts
        FROM run JOIN env ON run.env = env.digest
        WHERE run.session IN ({_marks("session", sessions)})
        AND run.run_id IN ({_marks("run", runs)})
        ORDER BY run.session, run.seq"""


def _marks(name: str, count: int) -> str:
    return ", ".join(f":{name}{at}" for at in range(count))


def _named(name: str, values: Sequence[str]) -> dict[str, str]:
    return {f"{name}{at}": value for at, value in enumerate(values)}
