"""Copies what is missing from a host's own store to one that a lab shares.

    for pushed in push(local, shared): ...

Every page of runs is one transaction there, and a run that is there is not sent
again. So a push that was cut off goes on, and two at a time do no harm. Every statement
is about the sessions pushed, and is answered from the tables' keys, however many other
sessions there are.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from ioplan.core.error_kinds import StoreFault
from ioplan.results.store.connection import Connection, Row
from ioplan.results.store.errors import KeyViolation, StoreError
from ioplan.results.store.sessions import tags_text
from ioplan.results.store.store import SET_WORDS, UPDATE_PLACE, Store, listed
from ioplan.results.store.tables import (
    COLUMNS,
    RUN_TABLES,
    SESSION_TABLES,
    by_key,
    update,
)

PAGE = 50
SESSIONS = 200
"""How many sessions are compared at once."""
CONSTANT_COLUMNS = ("started_at", "backend", "target", "env")
"""What a session never changes."""
FIXED = ("id", *CONSTANT_COLUMNS, "tags", "note")
SET_SESSION = update("session", [n for n in COLUMNS["session"] if n not in FIXED])
"""Tags and a note may have been added there, too."""
BEGUN = {"status": "running", "ended_at": None}
"""A session there until all of its runs are, so that none looks complete before."""
IDENTITIES = """
    SELECT run.seq, run.run_id, run.status, run.env, f.iops
    FROM run LEFT JOIN figure AS f ON f.session = run.session AND f.seq = run.seq
      AND f.target = '' AND f.phase = '' AND f.stream = '' AND f.direction = 'total'
    WHERE run.session = :session ORDER BY run.seq"""
"""What each run of a session is, and its IOPS with every digit."""


class SessionExtent(NamedTuple):
    """How much there is of a session: `counts` are rows by table."""

    columns: tuple[str | None, ...]
    counts: Counter[str]

    @property
    def runs(self) -> int:
        return self.counts["run"]

    def covers(self, other: SessionExtent) -> bool:
        return self.columns == other.columns and not other.counts - self.counts


def compared(
    local: Store, shared: Store, ids: Iterable[str]
) -> Iterator[tuple[str, SessionExtent, SessionExtent | None]]:
    """How much there is here and there, of those sessions that are here."""
    ordered = sorted(ids)
    for first in range(0, len(ordered), SESSIONS):
        page = ordered[first : first + SESSIONS]
        with local.reading() as here, shared.reading() as there:
            ours, theirs = _extents(here, page), _extents(there, page)
        yield from ((id, ours[id], theirs.get(id)) for id in page if id in ours)


def _extents(connection: Connection, ids: Sequence[str]) -> dict[str, SessionExtent]:
    own, keys = listed("session", ids)
    queries = (
        f"SELECT session, '{table}' AS what, count(*) AS number FROM {table} "
        f"WHERE {own} GROUP BY session"
        for table in SESSION_TABLES
    )
    counts = {id: Counter[str]() for id in ids}
    for row in connection.rows(" UNION ALL ".join(queries), **keys):
        counts[row["session"]][row["what"]] = row["number"]
    names = ", ".join(("id", "status", "ended_at", *CONSTANT_COLUMNS))
    own, keys = listed("id", ids)
    query = f"SELECT {names} FROM session WHERE {own}"
    return {
        id: SessionExtent(tuple(columns), counts[id])
        for id, *columns in connection.tuples(query, **keys)
    }


def not_there(local: Store, shared: Store, ids: Iterable[str] = ()) -> Iterator[str]:
    """The sessions, of these or of all, that the shared store has not completely."""
    for id, ours, theirs in compared(local, shared, set(ids) or local.ids()):
        if not (theirs and theirs.covers(ours)):
            yield id


class Pushed(NamedTuple):
    """A session that is now in the shared store as it is here."""

    session: str
    runs: int


def push(local: Store, shared: Store, ids: Iterable[str] = ()) -> Iterator[Pushed]:
    """Send these sessions, or all; yields those that were not there as they are.

    Raises StoreError, also where the shared store has another session of that id.
    """
    for id in not_there(local, shared, ids):
        yield Pushed(id, push_session(local, shared, id))


def push_session(local: Store, shared: Store, id: str) -> int:
    """Send what is missing of a session; returns how many runs that was.

    When it returns, the shared store has all that was here when it was called.
    Raises StoreError.
    """
    with local.reading() as here:
        begun = _extents(here, [id]).get(id)
        if begun is None:
            text = f"the store {local.where} has no session {id!r}"
            raise StoreError(text, StoreFault.NO_SESSION)
        (session,) = _plain(here.select("session", "id = :id", id=id))
        env = _plain(here.select("env", "digest = :env", **session))
        drive = _plain(here.select("drive", "digest = :drive", **session))
        # before the runs are looked up: none is of a run that comes later
        verdicts = _of_session(here, "verdict", id)
        events = _of_session(here, "event", id)
        is_edited = any(event["kind"] == "edited" for event in events)
        edited = _of_session(here, "run", id) if is_edited else []
    try:
        with shared.writing() as there:
            there.insert_missing("env", *env)
            there.insert_missing("drive", *drive)
            there.insert_missing("session", session | BEGUN)
            _check_same(there, session, shared.where)
        runs = _push_runs(local, shared, id)
        with shared.writing() as there:
            there.insert_missing("event", *events)
            # what a resume judged again, or an edited plan no longer expects
            stored = _of_session(there, "verdict", id)
            valid = {tuple(row.values()) for row in verdicts}
            outdated = (row for row in stored if tuple(row.values()) not in valid)
            there.change(f"DELETE FROM verdict WHERE {by_key('verdict')}", *outdated)
            there.insert_missing("verdict", *verdicts)
            if edited:
                places = {row["seq"]: row for row in _of_session(there, "run", id)}
                changed = (row for row in edited if places.get(row["seq"]) != row)
                there.change(UPDATE_PLACE, *changed)
            there.change(SET_SESSION, session)
            _add_words(there, session)
    except KeyViolation as error:
        raise _incomplete(id, shared.where) from error
    with shared.reading() as there:
        if not _extents(there, [id])[id].covers(begun):
            raise _incomplete(id, shared.where)
    return runs


def _check_same(there: Connection, session: Row, where: str) -> None:
    rows = there.select("session", "id = :id", **session)
    if not rows:  # they are not shown to this role
        raise _conflict(session["id"], where, "it was added by somebody else")
    if wrong := [name for name in CONSTANT_COLUMNS if rows[0][name] != session[name]]:
        raise _conflict(session["id"], where, f"its {wrong[0]} is another one")


def _push_runs(local: Store, shared: Store, id: str) -> int:
    with local.reading() as here, shared.reading() as there:
        ours, theirs = (
            {run[0]: run for run in connection.tuples(IDENTITIES, session=id)}
            for connection in (here, there)
        )
    if wrong := [seq for seq in theirs if ours.get(seq, theirs[seq]) != theirs[seq]]:
        raise _conflict(id, shared.where, f"its run {wrong[0]} is another one")
    missing = [seq for seq in ours if seq not in theirs]
    for first in range(0, len(missing), PAGE):
        numbers = ", ".join(str(int(seq)) for seq in missing[first : first + PAGE])
        condition = f"session = :session AND seq IN ({numbers})"
        with local.reading() as here:
            rows = {t: here.select(t, condition, session=id) for t in RUN_TABLES}
            digests = {run["env"] for run in rows["run"]}
            envs = [here.select("env", "digest = :env", env=env) for env in digests]
        with shared.writing() as there:
            there.insert_missing("env", *_plain([*chain.from_iterable(envs)]))
            for table in RUN_TABLES:
                there.insert_missing(table, *_plain(rows[table]))
    return len(missing)


def _add_words(there: Connection, session: Row) -> None:
    """Tags join those that are there; a note replaces another."""
    (stored,) = there.select("session", "id = :id", **session)
    tags = json.loads(stored["tags"]) + json.loads(session["tags"])
    words = {"tags": tags_text(tags), "note": session["note"] or stored["note"]}
    there.change(SET_WORDS, {"id": session["id"], **words})


def _conflict(id: str, where: str, why: str) -> StoreError:
    return StoreError(
        f"{where} has a session {id} already that is not this one: {why}; push to "
        f"another database, or leave this session out",
        StoreFault.SESSION_CONFLICT,
    )


def _incomplete(id: str, where: str) -> StoreError:
    text = f"{where} has not all of the session {id} yet: push it again"
    return StoreError(text, StoreFault.STORE_DATABASE)


def _of_session(connection: Connection, table: str, id: str) -> list[Row]:
    return _plain(connection.select(table, "session = :session", session=id))


def _plain(rows: list[Row]) -> list[Row]:
    """PostgreSQL's text cannot hold a NUL."""
    return [
        {
            name: value.replace("\0", "\ufffd") if isinstance(value, str) else value
            for name, value in row.items()
        }
        for row in rows
    ]
