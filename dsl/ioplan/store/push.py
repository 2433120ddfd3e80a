"""Copies what is missing from a host's own store to one that a lab shares.

    for pushed in push(local, shared): ...

Every page of runs is one transaction there, and a run that is there is not sent
again. So a push that was cut off goes on, and two at a time do no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from ioplan.core.error_kinds import StoreFault
from ioplan.store.connection import Connection, Row
from ioplan.store.errors import StoreError
from ioplan.store.store import Store
from ioplan.store.tables import COLUMNS, insert_missing

PAGE = 50
RUN_TABLES = ("run", "run_blob", "run_telemetry", "verdict")
CONSTANT_COLUMNS = ("started_at", "backend", "target", "env")
"""What a session never changes."""
CHANGES = [name for name in COLUMNS["session"] if name not in ("id", *CONSTANT_COLUMNS)]
UPDATE = f"""
    UPDATE session SET {", ".join(f"{name} = :{name}" for name in CHANGES)}
    WHERE id = :id"""
ENVS = """digest IN (
    SELECT env FROM session WHERE id = :session
    UNION SELECT env FROM run WHERE session = :session)"""


class Pushed(NamedTuple):
    """A session that is now in the shared store as it is here."""

    session: str
    runs: int


class SessionExtent(NamedTuple):
    """How much there is of a session, by counts."""

    status: str
    ended_at: str | None
    runs: int
    verdicts: int
    events: int


def push(local: Store, shared: Store, ids: Iterable[str] = ()) -> Iterator[Pushed]:
    """Send these sessions, or all; yields those that were not there as they are.

    Raises StoreError, also where the shared store has another session of that id.
    """
    ours, theirs = _extents(local), _extents(shared)
    wanted = set(ids)
    for id in sorted(ours):
        if (not wanted or id in wanted) and ours[id] != theirs.get(id):
            yield Pushed(id, _push_one(local, shared, id))


def _push_one(local: Store, shared: Store, id: str) -> int:
    with local.reading() as here:
        (session,) = _rows(here, "session", "id = :session", session=id)
        envs = _rows(here, "env", ENVS, session=id)
    with shared.writing() as there:
        insert_missing(there, "env", *envs)
        insert_missing(there, "session", session)
        _check_same(there, session, shared.where)
    runs = _push_runs(local, shared, id)
    with local.reading() as here:
        verdicts = _rows(here, "verdict", "session = :session", session=id)
        events = _rows(here, "event", "session = :session", session=id)
    with shared.writing() as there:
        insert_missing(there, "verdict", *verdicts)
        insert_missing(there, "event", *events)
        there.change(UPDATE, session)
    return runs


def _push_runs(local: Store, shared: Store, id: str) -> int:
    """Those that are missing there, page by page."""
    with local.reading() as here, shared.reading() as there:
        ours, theirs = _run_ids(here, id), _run_ids(there, id)
    if wrong := [seq for seq in theirs if ours.get(seq, theirs[seq]) != theirs[seq]]:
        raise _conflict(id, shared.where, f"its run {wrong[0]} is another one")
    missing = iter([seq for seq in ours if seq not in theirs])
    sent = 0
    while page := list(islice(missing, PAGE)):
        with local.reading() as here:
            found = [(table, _of_runs(here, table, id, page)) for table in RUN_TABLES]
        with shared.writing() as there:
            for table, rows in found:
                insert_missing(there, table, *rows)
        sent += len(page)
    return sent


def _check_same(there: Connection, session: Row, where: str) -> None:
    (found,) = _rows(there, "session", "id = :session", session=session["id"])
    if wrong := [name for name in CONSTANT_COLUMNS if found[name] != session[name]]:
        raise _conflict(session["id"], where, f"its {wrong[0]} is another one")


def _conflict(id: str, where: str, why: str) -> StoreError:
    return StoreError(
        f"{where} has a session {id} already that is not this one: {why}; push to "
        f"another database, or leave this session out",
        StoreFault.SESSION_CONFLICT,
    )


# ---- statements


def _extents(store: Store) -> dict[str, SessionExtent]:
    with store.reading() as connection:
        counts = [_counts(connection, table) for table in ("run", "verdict", "event")]
        rows = connection.rows("SELECT id, status, ended_at FROM session")
    return {
        row["id"]: SessionExtent(
            row["status"], row["ended_at"], *(one.get(row["id"], 0) for one in counts)
        )
        for row in rows
    }


def _counts(connection: Connection, table: str) -> dict[str, int]:
    query = f"SELECT session, count(*) AS number FROM {table} GROUP BY session"
    return {row["session"]: row["number"] for row in connection.rows(query)}


def _run_ids(connection: Connection, id: str) -> dict[int, str]:
    query = "SELECT seq, run_id FROM run WHERE session = :session ORDER BY seq"
    return {row["seq"]: row["run_id"] for row in connection.rows(query, session=id)}


def _of_runs(
    connection: Connection, table: str, id: str, seqs: Sequence[int]
) -> list[Row]:
    listed = ", ".join(str(int(seq)) for seq in seqs)
    condition = f"session = :session AND seq IN ({listed})"
    return _rows(connection, table, condition, session=id)


def _rows(
    connection: Connection, table: str, condition: str, **values: Any
) -> list[Row]:
    """Rows as plain values; PostgreSQL's text cannot hold a NUL."""
    query = f"SELECT {', '.join(COLUMNS[table])} FROM {table} WHERE {condition}"
    return [
        {
            name: value.replace("\0", "\ufffd") if isinstance(value, str) else value
            for name, value in row.items()
        }
        for row in connection.rows(query, **values)
    ]
