"""Copies what is missing from a host's own store to one that a lab shares.

    for pushed in push(local, shared): ...

Every page of runs is one transaction there, and a run that is there is not sent
again. So a push that was cut off goes on, and two at a time do no harm. What is asked
of either store is about the sessions pushed, however many others there are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

from ioplan.core.error_kinds import StoreFault
from ioplan.results.store.connection import Connection, Row
from ioplan.results.store.errors import KeyViolation, StoreError
from ioplan.results.store.layout.tables import COLUMNS, RUN_TABLES, insert_missing
from ioplan.results.store.overview import CONSTANT_COLUMNS, extents, run_identities
from ioplan.results.store.pages import (
    OF_VERDICT,
    SET_WORDS,
    UPDATE_PLACE,
    UPDATE_VERDICT,
)
from ioplan.results.store.rows import tags_text
from ioplan.results.store.store import Store

PAGE = 50
SESSIONS = 200
"""How many sessions are compared at once."""
SHARED_COLUMNS = ("tags", "note")
"""What people may have added there, too."""
CHANGES = [
    name
    for name in COLUMNS["session"]
    if name not in ("id", *CONSTANT_COLUMNS, *SHARED_COLUMNS)
]
BEGUN = {"status": "running", "ended_at": None}
"""A session there until all of its runs are, so that none looks complete before."""
VERDICT_KEY = itemgetter("seq", "plan_digest", "position")
UPDATE = f"""
    UPDATE session SET {", ".join(f"{name} = :{name}" for name in CHANGES)}
    WHERE id = :id"""


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


def not_there(local: Store, shared: Store, ids: Iterable[str] = ()) -> Iterator[str]:
    """The sessions, of these or of all, that the shared store has not completely."""
    wanted = iter(sorted(set(ids) or local.ids()))
    while page := list(islice(wanted, SESSIONS)):
        with local.reading() as here, shared.reading() as there:
            ours, theirs = extents(here, page), extents(there, page)
        yield from (
            id
            for id in page
            if id in ours and not (id in theirs and theirs[id].covers(ours[id]))
        )


def push_session(local: Store, shared: Store, id: str) -> int:
    """Send what is missing of a session; returns how many runs that was.

    When it returns, the shared store has all that was here when it was called.
    Raises StoreError.
    """
    with local.reading() as here:
        begun = extents(here, [id]).get(id)
        session = _rows(here, "session", "id = :id", id=id)
        envs = [_rows(here, "env", "digest = :env", env=one["env"]) for one in session]
        drives = [
            _rows(here, "drive", "digest = :drive", drive=one["drive"])
            for one in session
        ]
        # before the runs are looked up: none is of a run that comes later
        said = [(name, _of_session(here, name, id)) for name in ("verdict", "event")]
        is_edited = any(event["kind"] == "edited" for event in said[1][1])
        edited = _of_session(here, "run", id) if is_edited else []
    if begun is None:
        text = f"the store {local.where} has no session {id!r}"
        raise StoreError(text, StoreFault.NO_SESSION)
    try:
        with shared.writing() as there:
            insert_missing(there, "env", *envs[0])
            insert_missing(there, "drive", *drives[0])
            insert_missing(there, "session", *(one | BEGUN for one in session))
            _check_same(there, session[0], shared.where)
        runs = _push_runs(local, shared, id)
        with shared.writing() as there:
            for table, rows in said:
                insert_missing(there, table, *rows)
            _replace_verdicts(there, id, said[0][1])
            if edited:
                _replace_places(there, id, edited)
            there.change(UPDATE, *session)
            _add_words(there, session[0])
    except KeyViolation as error:
        raise _incomplete(id, shared.where) from error
    with shared.reading() as there:
        if not extents(there, [id])[id].covers(begun):
            raise _incomplete(id, shared.where)
    return runs


def _replace_verdicts(there: Connection, id: str, rows: Sequence[Row]) -> None:
    """What was judged again after a resume is known there as it was before; and what
    an edited plan no longer expects."""
    known = _of_session(there, "verdict", id)
    there.change(UPDATE_VERDICT, *(row for row in rows if row not in known))
    current = set(map(VERDICT_KEY, rows))
    gone = (row for row in known if VERDICT_KEY(row) not in current)
    there.change(f"DELETE FROM verdict WHERE {OF_VERDICT}", *gone)


def _replace_places(there: Connection, id: str, rows: Sequence[Row]) -> None:
    """The runs of an edited plan may have other places in it."""
    known = {row["seq"]: row for row in _of_session(there, "run", id)}
    there.change(UPDATE_PLACE, *(r for r in rows if known.get(r["seq"], r) != r))


def _add_words(there: Connection, session: Row) -> None:
    """Tags join those that are there; a note replaces another."""
    (known,) = _rows(there, "session", "id = :id", id=session["id"])
    tags = json.loads(known["tags"]) + json.loads(session["tags"])
    words = {"tags": tags_text(tags), "note": session["note"] or known["note"]}
    there.change(SET_WORDS, {"id": session["id"], **words})


def _push_runs(local: Store, shared: Store, id: str) -> int:
    """Send the runs that are missing there, page by page."""
    with local.reading() as here, shared.reading() as there:
        ours, theirs = run_identities(here, id), run_identities(there, id)
    if wrong := [seq for seq in theirs if ours.get(seq, theirs[seq]) != theirs[seq]]:
        raise _conflict(id, shared.where, f"its run {wrong[0]} is another one")
    missing = iter([seq for seq in ours if seq not in theirs])
    sent = 0
    while page := list(islice(missing, PAGE)):
        with local.reading() as here:
            found = [(table, _of_runs(here, table, id, page)) for table in RUN_TABLES]
            envs = [
                _rows(here, "env", "digest = :env", env=env) for env in _envs(found)
            ]
        with shared.writing() as there:
            for rows in envs:
                insert_missing(there, "env", *rows)
            for table, rows in found:
                insert_missing(there, table, *rows)
        sent += len(page)
    return sent


def _envs(found: list[tuple[str, list[Row]]]) -> list[str]:
    return list(dict.fromkeys(row["env"] for row in found[0][1]))


def _check_same(there: Connection, session: Row, where: str) -> None:
    found = next(iter(_rows(there, "session", "id = :id", id=session["id"])), None)
    if found is None:  # its rows are not shown to this role
        raise _conflict(session["id"], where, "it was added by somebody else")
    if wrong := [name for name in CONSTANT_COLUMNS if found[name] != session[name]]:
        raise _conflict(session["id"], where, f"its {wrong[0]} is another one")


def _conflict(id: str, where: str, why: str) -> StoreError:
    return StoreError(
        f"{where} has a session {id} already that is not this one: {why}; push to "
        f"another database, or leave this session out",
        StoreFault.SESSION_CONFLICT,
    )


def _incomplete(id: str, where: str) -> StoreError:
    return StoreError(
        f"{where} has not all of the session {id} yet: push it again",
        StoreFault.STORE_DATABASE,
    )


# ---- statements


def _of_session(connection: Connection, table: str, id: str) -> list[Row]:
    return _rows(connection, table, "session = :session", session=id)


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
