"""Copies what is missing from a host's own store to one that a lab shares.

    for pushed in push(local, shared): ...

Every page of runs is one transaction there, and a run that is there is not sent
again. So a push that was cut off goes on, and two at a time do no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import (
    Connection,
    Select,
    Table,
    func,
    insert,
    select,
    union,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from ioplan.core.error_kinds import StoreFault
from ioplan.store import tables
from ioplan.store.errors import StoreError
from ioplan.store.store import Store

PAGE = 50
RUN_TABLES = (tables.run, tables.run_blob, tables.run_telemetry, tables.verdict)
CONSTANT_COLUMNS = ("started_at", "backend", "target", "env")
"""What a session never changes."""

Row = dict[str, Any]


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
        session = _rows(here, select(tables.session).where(tables.session.c.id == id))
        envs = _rows(here, _envs_of(id))
    with shared.writing() as there:
        _insert(there, tables.env, envs)
        _insert(there, tables.session, session)
        _check_same(there, session[0], shared.where)
    runs = _push_runs(local, shared, id)
    with local.reading() as here:
        verdicts = _of_session(here, tables.verdict, id)
        events = _of_session(here, tables.event, id)
    with shared.writing() as there:
        _insert(there, tables.verdict, verdicts)
        _insert(there, tables.event, events)
        there.execute(_status(session[0]))
    return runs


def _push_runs(local: Store, shared: Store, id: str) -> int:
    """Those that are missing there, page by page."""
    key = tables.run.c
    query = select(key.seq, key.run_id).where(key.session == id).order_by(key.seq)
    with local.reading() as here, shared.reading() as there:
        ours, theirs = (dict(map(tuple, one.execute(query))) for one in (here, there))
    if wrong := [seq for seq in theirs if ours.get(seq, theirs[seq]) != theirs[seq]]:
        raise _conflict(id, shared.where, f"its run {wrong[0]} is another one")
    missing = iter([seq for seq in ours if seq not in theirs])
    sent = 0
    while page := list(islice(missing, PAGE)):
        with local.reading() as here:
            found = [(table, _of_runs(here, table, id, page)) for table in RUN_TABLES]
        with shared.writing() as there:
            for table, rows in found:
                _insert(there, table, rows)
        sent += len(page)
    return sent


def _check_same(there: Connection, session: Row, where: str) -> None:
    key = tables.session.c
    query = select(*(key[name] for name in CONSTANT_COLUMNS)).where(
        key.id == session["id"]
    )
    found = there.execute(query).one()._mapping
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
    key = tables.session.c
    with store.reading() as connection:
        counts = [
            dict(map(tuple, connection.execute(_counts(table))))
            for table in (tables.run, tables.verdict, tables.event)
        ]
        rows = connection.execute(select(key.id, key.status, key.ended_at)).all()
    return {
        id: SessionExtent(status, ended_at, *(count.get(id, 0) for count in counts))
        for id, status, ended_at in rows
    }


def _counts(table: Table) -> Select[Any]:
    key = table.c.session
    return select(key, func.count()).group_by(key)


def _envs_of(id: str) -> Select[Any]:
    session, run = tables.session.c, tables.run.c
    used = union(
        select(session.env).where(session.id == id),
        select(run.env).where(run.session == id),
    )
    return select(tables.env).where(tables.env.c.digest.in_(used))


def _of_session(connection: Connection, table: Table, id: str) -> list[Row]:
    return _rows(connection, select(table).where(table.c.session == id))


def _of_runs(
    connection: Connection, table: Table, id: str, seqs: Sequence[int]
) -> list[Row]:
    key = table.c
    return _rows(connection, select(table).where(key.session == id, key.seq.in_(seqs)))


def _status(session: Row) -> Any:
    change = {name: session[name] for name in tables.session.c.keys()}  # noqa: SIM118
    for name in ("id", *CONSTANT_COLUMNS):
        change.pop(name)
    key = tables.session.c.id
    return update(tables.session).where(key == session["id"]).values(change)


def _rows(connection: Connection, query: Select[Any]) -> list[Row]:
    """Rows as plain values; PostgreSQL's text cannot hold a NUL."""
    return [
        {
            name: value.replace("\0", "\ufffd") if isinstance(value, str) else value
            for name, value in row._mapping.items()
        }
        for row in connection.execute(query)
    ]


def _insert(connection: Connection, table: Table, rows: list[Row]) -> None:
    """Those that are not there yet."""
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        pg = postgresql.insert(table).on_conflict_do_nothing()
        connection.execute(pg, rows)
    elif connection.dialect.name == "sqlite":
        lite = sqlite.insert(table).on_conflict_do_nothing()
        connection.execute(lite, rows)
    else:
        connection.execute(insert(table), rows)
