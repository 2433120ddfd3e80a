"""The sessions of a store: how each began, what happened to it, how it ended."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from sqlalchemy import Engine, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from ioplan.core.error_kinds import StoreFault
from ioplan.core.text import did_you_mean
from ioplan.records.session import Session, SessionEvent, SessionStatus
from ioplan.store import tables
from ioplan.store.database import Database
from ioplan.store.errors import ReserveUsedError, StoreError
from ioplan.store.queries import all_sessions
from ioplan.store.reserve import with_reserve
from ioplan.store.rows import env_row, event_of, session_of, session_row


class SessionStore(Database):
    """Sessions by their ids. Every method may raise StoreError."""

    def __init__(self, engine: Engine, where: str) -> None:
        """Use an engine, and make the tables when its database is empty."""
        super().__init__(engine, where)
        self._envs: set[str] = set()

    def begin(self, session: Session) -> None:
        """Store a session. One that is there already takes this status.

        So an interrupted session is resumed, and a session copied twice. From now
        on there is room for one more run, however full the disk becomes.
        """
        if self.reserve:
            self.reserve.acquire()
        self._add_env(session.host)
        row = session_row(session)
        try:
            with self.writing() as connection:
                connection.execute(insert(tables.session), row)
        except IntegrityError:
            if self.session(session.id).plan_text != session.plan_text:
                raise StoreError(
                    f"the session {session.id} in {self.where} is of another plan: "
                    "give the new session another id",
                    StoreFault.SESSION_CONFLICT,
                ) from None
            self._set_status(session.id, session.status, session.ended_at)

    def update_plan(self, session_id: str, plan: str, plan_text: str) -> None:
        """A session goes on with an edited plan."""
        change = update(tables.session).where(tables.session.c.id == session_id)
        with self.writing() as connection:
            connection.execute(change.values(plan=plan, plan_text=plan_text))

    def finish(self, session_id: str, status: SessionStatus, ended_at: str) -> None:
        """Store how a session ended; `ended_at` is UTC, ISO 8601."""
        with suppress(ReserveUsedError):  # there is nothing to come
            self._set_status(session_id, status, ended_at)

    @with_reserve
    def _set_status(
        self, session_id: str, status: SessionStatus, ended_at: str | None
    ) -> None:
        change = update(tables.session).where(tables.session.c.id == session_id)
        with self.writing() as connection:
            done = connection.execute(change.values(status=status, ended_at=ended_at))
            if not done.rowcount:
                raise self._no_session(session_id)

    def sessions(self) -> list[Session]:
        """All sessions, the newest first."""
        with self.reading() as connection:
            return [session_of(row) for row in connection.execute(all_sessions())]

    def session(self, key: str) -> Session:
        """The session of an id, of the start of one, or "last" for the newest."""
        query = all_sessions()
        if key != "last":
            query = query.where(tables.session.c.id == self._id(key))
        with self.reading() as connection:
            row = connection.execute(query.limit(1)).first()
        if row is None:
            raise StoreError(
                f"the store {self.where} has no session yet: run a plan",
                StoreFault.NO_SESSION,
            )
        return session_of(row)

    def _id(self, key: str) -> str:
        ids = self._ids()
        found = [key] if key in ids else [i for i in ids if key and i.startswith(key)]
        if len(found) > 1:
            raise StoreError(
                f"{len(found)} sessions begin with {key!r}, such as {found[0]} and "
                f"{found[1]}: give more of the id",
                StoreFault.AMBIGUOUS_SESSION,
            )
        if not found:
            raise self._no_session(key)
        return found[0]

    def _ids(self) -> list[str]:
        with self.reading() as connection:
            return list(connection.scalars(select(tables.session.c.id)))

    def _no_session(self, key: str) -> StoreError:
        return StoreError(
            f"the store {self.where} has no session {key!r}"
            f"{did_you_mean(key, self._ids())}",
            StoreFault.NO_SESSION,
        )

    @with_reserve
    def add_event(self, session_id: str, event: SessionEvent) -> None:
        """Store what happened to a session."""
        key = tables.event.c
        last = select(func.max(key.position)).where(key.session == session_id)
        with self.writing() as connection:
            position = (connection.scalar(last) or 0) + 1
            row = {"session": session_id, "position": position, **event.model_dump()}
            connection.execute(insert(tables.event), row)

    def events(self, session_id: str) -> list[SessionEvent]:
        """What happened to a session, in order."""
        key = tables.event.c
        query = select(key.at, key.kind, key.text).order_by(key.position)
        with self.reading() as connection:
            rows = connection.execute(query.where(key.session == session_id))
            return [event_of(row, session_id) for row in rows]

    def _add_env(self, host: dict[str, Any]) -> str:
        """Keep a host's facts once; returns their digest.

        Its own transaction: another process may add the same facts meanwhile.
        """
        row = env_row(host)
        digest = row["digest"]
        if digest in self._envs:
            return digest
        try:
            with self.writing() as connection:
                connection.execute(insert(tables.env), row)
        except IntegrityError:
            pass  # there already, which is as good
        self._envs.add(digest)
        return digest
