"""The sessions of a store: how each began, what happened to it, how it ended."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from ioplan.core.error_kinds import StoreFault
from ioplan.core.text import did_you_mean
from ioplan.records.drive import Drive
from ioplan.records.record import RunRecord
from ioplan.records.session import EventKind, Session, SessionEvent, SessionStatus
from ioplan.results.store.connection import scalar
from ioplan.results.store.database import Database, with_reserve
from ioplan.results.store.errors import KeyViolation, ReserveUsedError, StoreError
from ioplan.results.store.overview import (
    ALL,
    SessionFilter,
    SessionOverview,
    SessionVerdict,
    read_overviews,
)
from ioplan.results.store.rows import (
    drive_row,
    env_row,
    event_of,
    session_of,
    session_row,
    tags_text,
)
from ioplan.results.store.runs import OF_RUN, WHERE, place_row
from ioplan.results.store.tables import COLUMNS

SET_STATUS = """
    UPDATE session SET status = :status, ended_at = :at, unmet = :unmet
    WHERE id = :id"""
SET_WORDS = "UPDATE session SET tags = :tags, note = :note WHERE id = :id"
UPDATE_PLAN = """
    UPDATE session SET plan = :plan, plan_text = :plan_text,
    plan_digest = :plan_digest, resolved = :resolved, expected = :expected,
    unmet = 0, status = :status, ended_at = :ended_at
    WHERE id = :id"""
UPDATE_PLACE = f"""
    UPDATE run SET {", ".join(f"{name} = :{name}" for name in WHERE)} WHERE {OF_RUN}"""
EVENTS = "SELECT session, at, kind, text FROM event"
OUTDATED = "DELETE FROM verdict WHERE session = :id AND plan_digest = :plan_digest"


def _sessions(condition: str) -> str:
    """Sessions with their host's facts and their drive, the newest first."""
    columns = [f"session.{name}" for name in COLUMNS["session"]]
    columns += ["env.facts", *(f"drive.{name}" for name in Drive.model_fields)]
    return f"""
        SELECT {", ".join(columns)}
        FROM session LEFT JOIN env ON session.env = env.digest
        LEFT JOIN drive ON session.drive = drive.digest
        WHERE {condition} ORDER BY session.id DESC"""


ALL_SESSIONS, OF_ID = _sessions("TRUE"), _sessions("session.id = :id")


class SessionStore(Database):
    """Sessions by their ids. Every method may raise StoreError."""

    def begin(self, session: Session) -> None:
        """Store a session. One that is there already takes this status.

        So an interrupted session is resumed, and a session copied twice. From now
        on there is room for one more run, however full the disk becomes.
        """
        if self.reserve:
            self.reserve.acquire()
        try:
            with self.writing() as connection:
                connection.insert_missing("env", env_row(session.host))
                if session.drive:
                    connection.insert_missing("drive", drive_row(session.drive))
                connection.insert("session", session_row(session))
        except KeyViolation:
            if self.session(session.id).plan_text != session.plan_text:
                raise StoreError(
                    f"the session {session.id} in {self.where} is of another plan: "
                    "give the new session another id",
                    StoreFault.SESSION_CONFLICT,
                ) from None
            self._set_status(session.id, session.status, session.ended_at)

    def update_plan(self, session: Session, records: Iterable[RunRecord]) -> None:
        """A session goes on with an edited plan, or with edited files of it.

        Its `records` take their places in that plan; verdicts of the plan before stay,
        and count no longer. Nor do those of this plan, if it was like this once.
        """
        row = session_row(session)
        with self.writing() as connection:
            connection.change(UPDATE_PLAN, row)
            connection.change(OUTDATED, row)
            connection.change(UPDATE_PLACE, *map(place_row, records))

    def change_words(
        self,
        session_id: str,
        added: Iterable[str],
        removed: Iterable[str] = (),
        note: str | None = None,
    ) -> tuple[Session, Session]:
        """Add tags, take some away, set the note; the session before and after.

        Others may do the same at this moment, and nothing of theirs is lost.
        """
        with self.writing() as connection:
            query = f"SELECT id FROM session WHERE id = :id{connection.for_update}"
            if not connection.rows(query, id=session_id):
                raise self._no_session(session_id)
            before = session_of(connection.rows(OF_ID, id=session_id)[0])
            words = {
                "tags": tuple(sorted({*before.tags, *added} - {*removed})),
                "note": before.note if note is None else note,
            }
            after = before.model_copy(update=words)
            row = {"id": session_id, "tags": tags_text(after.tags), "note": after.note}
            connection.change(SET_WORDS, row)
        return before, after

    def finish(
        self, session_id: str, status: SessionStatus, ended_at: str, unmet: int = 0
    ) -> None:
        """Store how a session ended; `ended_at` is UTC, ISO 8601, and `unmet` counts
        the steady states and values of seeks that were not reached."""
        with suppress(ReserveUsedError):  # there is nothing to come
            self._set_status(session_id, status, ended_at, unmet)

    @with_reserve
    def _set_status(
        self, id: str, status: SessionStatus, ended_at: str | None, unmet: int = 0
    ) -> None:
        row = {"id": id, "status": status, "at": ended_at, "unmet": unmet}
        with self.writing() as connection:
            if not connection.change(SET_STATUS, row):
                raise self._no_session(id)

    def sessions(self) -> list[Session]:
        return list(map(session_of, self.rows(ALL_SESSIONS)))

    def overview(self, which: SessionFilter = ALL) -> list[SessionOverview]:
        """Some sessions or all, the newest first, with verdict, runs and drive."""
        with self.reading() as connection:
            return read_overviews(connection, which)

    def verdict(self, session_id: str) -> SessionVerdict:
        """The gravest verdict on a session; `ioplan ls` shows the same."""
        for overview in self.overview(SessionFilter(id=session_id)):
            return overview.verdict
        raise self._no_session(session_id)

    def session(self, key: str) -> Session:
        """The session of an id, of the start of one, or "last" for the newest."""
        is_last = key == "last"
        rows = self.rows(f"{ALL_SESSIONS} LIMIT 1" if is_last else OF_ID, id=key)
        if rows:
            return session_of(rows[0])
        if is_last:
            text = f"the store {self.where} has no session yet: run a plan"
            raise StoreError(text, StoreFault.NO_SESSION)
        ids = [*self._starting_with(key)] if key else []
        if len(ids) > 1:
            raise StoreError(
                f"{len(ids)} sessions begin with {key!r}, such as {ids[0]} and "
                f"{ids[1]}: give more of the id",
                StoreFault.AMBIGUOUS_SESSION,
            )
        if not ids:
            raise self._no_session(key)
        return self.session(ids[0])

    def ids(self) -> list[str]:
        """The ids of all sessions, in no order."""
        return [row["id"] for row in self.rows("SELECT id FROM session")]

    def ids_of(self, key: str) -> list[str]:
        """The sessions of a key: one, as of `session`, or the lanes of a job.

        A job is named by its id, or the beginning of it.
        """
        lanes = {} if key == "last" else self._starting_with(key)
        job, *others = {*lanes.values()} or {None}
        is_job = job and not others and job.startswith(key) and len(lanes) > 1
        return [*lanes] if is_job and key not in lanes else [self.session(key).id]

    def _starting_with(self, key: str) -> dict[str, str | None]:
        """The jobs of these sessions by their ids, in order."""
        same = f"substr(id, 1, {len(key)}) = :key"
        query = f"SELECT id, job FROM session WHERE {same} ORDER BY id"
        return {row["id"]: row["job"] for row in self.rows(query, key=key)}

    def _no_session(self, key: str) -> StoreError:
        return StoreError(
            f"the store {self.where} has no session {key!r}"
            f"{did_you_mean(key, self.ids())}",
            StoreFault.NO_SESSION,
        )

    def add_event(self, session_id: str, event: SessionEvent) -> None:
        self.add_events([(session_id, event)])

    @with_reserve
    def add_events(self, events: Iterable[tuple[str, SessionEvent]]) -> None:
        """Store what happened to sessions, all or nothing."""
        last = "SELECT max(position) FROM event WHERE session = :session"
        with self.writing() as connection:
            for id, event in events:
                position = (scalar(connection.rows(last, session=id)) or 0) + 1
                row = {"session": id, "position": position}
                connection.insert("event", row | event.model_dump(mode="json"))

    def events_of_kind(self, kind: EventKind) -> list[SessionEvent]:
        """The events of all sessions, in the order in which they were stored."""
        query = f"{EVENTS} WHERE kind = :kind ORDER BY at, session, position"
        return [event_of(row) for row in self.rows(query, kind=kind)]

    def events(self, session_id: str) -> list[SessionEvent]:
        query = f"{EVENTS} WHERE session = :session ORDER BY position"
        return [event_of(row) for row in self.rows(query, session=session_id)]
