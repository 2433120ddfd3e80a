"""The statements of the store that are longer than a line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Row, Select, insert, select

from ioplan.records.record import Verdict
from ioplan.store import tables


def all_sessions() -> Select[Any]:
    """Sessions with their host's facts, the newest first."""
    key = tables.session.c
    query = select(tables.session, tables.env.c.facts).join(tables.env)
    return query.order_by(key.started_at.desc(), key.id.desc())


def all_runs(session_id: str) -> Select[Any]:
    """The runs of a session with their hosts' facts, in order."""
    key = tables.run.c
    query = select(key.seq, key.record, tables.env.c.facts)
    query = query.join(tables.env, key.env == tables.env.c.digest)
    return (
        query.add_columns(key.session)
        .where(key.session == session_id)
        .order_by(key.seq)
    )


def verdicts_of(
    connection: Connection, rows: Iterable[Row[Any]]
) -> dict[int, list[str]]:
    """The verdicts of runs of one session as JSON, by seq, in order."""
    rows = list(rows)
    if not rows:
        return {}
    key = tables.verdict.c
    query = select(key.seq, key.verdict).order_by(key.seq, key.position)
    query = query.where(key.session == rows[0].session)
    query = query.where(key.seq.between(rows[0].seq, rows[-1].seq))
    found: dict[int, list[str]] = {}
    for seq, verdict in connection.execute(query):
        found.setdefault(seq, []).append(verdict)
    return found


def lock_run(connection: Connection, session_id: str, seq: int) -> bool:
    """Whether there is such a run; no one else then appends to it meanwhile.

    SQLite, whose writers wait for each other anyway, is not told FOR UPDATE.
    """
    key = tables.run.c
    query = select(key.seq).where(key.session == session_id, key.seq == seq)
    return connection.scalar(query.with_for_update()) is not None


def append_verdicts(
    connection: Connection, session_id: str, seq: int, verdicts: tuple[Verdict, ...]
) -> None:
    """Add the verdicts that a run has not yet behind those that it has."""
    if not verdicts:
        return
    key = tables.verdict.c
    query = select(key.verdict).where(key.session == session_id, key.seq == seq)
    known = list(connection.scalars(query))
    texts = dict.fromkeys(verdict.model_dump_json() for verdict in verdicts)
    rows = [
        {"session": session_id, "seq": seq, "position": position, "verdict": text}
        for position, text in enumerate(
            (text for text in texts if text not in known), start=len(known)
        )
    ]
    if rows:
        connection.execute(insert(tables.verdict), rows)
