"""The store: every session and run on this host, in one SQLite file.

    with Store.open(default_path()) as store:
        store.begin(session)
        store.add(record, detail)            # durable when it returns
        store.finish(session.id, "ok", now)

Any number of processes may read and write at the same time. The statements hold for
PostgreSQL as well: `Store.at("postgresql://…")`.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ioplan.core.error_kinds import StoreFault
from ioplan.core.state_folder import at_home
from ioplan.core.text import did_you_mean
from ioplan.records.drive import Drive
from ioplan.records.record import RunDetail, RunRecord, Verdict
from ioplan.records.session import (
    EventKind,
    KnownState,
    Session,
    SessionEvent,
    SessionStatus,
)
from ioplan.results.store import codec
from ioplan.results.store.connection import Connection, Row, scalar
from ioplan.results.store.database import Database, with_reserve
from ioplan.results.store.errors import KeyViolation, ReserveUsedError, StoreError
from ioplan.results.store.figures import figure_rows
from ioplan.results.store.runs import (
    OF_RUN,
    WHERE,
    Fields,
    place_row,
    read_runs,
    run_row,
)
from ioplan.results.store.session_folder import is_locked, session_folder
from ioplan.results.store.sessions import (
    ALL,
    SessionFilter,
    SessionOverview,
    SessionVerdict,
    drive_row,
    env_row,
    event_of,
    read_overviews,
    session_of,
    session_row,
    state_of,
    state_row,
    tags_text,
)
from ioplan.results.store.tables import COLUMNS, update

STATUS = ("status", "ended_at", "unmet")
PLAN = ("plan", "plan_text", "plan_digest", "resolved", "expected")
SET_WORDS = update("session", ("tags", "note"))
UPDATE_PLACE = update("run", WHERE)
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
PAGE = 200
DETAIL = """
    SELECT {}blob.series, telemetry.points AS telemetry
    FROM run_blob AS blob LEFT JOIN run_telemetry AS telemetry
      ON telemetry.session = blob.session AND telemetry.seq = blob.seq
    WHERE blob.session = :session AND blob.seq = :seq"""
RUN_VERDICTS = """
    SELECT session.plan_digest, v.verdict
    FROM session LEFT JOIN verdict AS v ON v.session = session.id AND v.seq = :seq
      AND v.plan_digest = session.plan_digest
    WHERE session.id = :session ORDER BY v.position"""


def listed(column: str, values: Sequence[str]) -> tuple[str, dict[str, str]]:
    """A condition that a column has one of these values; its parameters."""
    name = column.rpartition(".")[2]
    parameters = {f"{name}{number}": value for number, value in enumerate(values)}
    names = ", ".join(f":{name}" for name in parameters)
    return f"{column} IN ({names})", parameters


def default_path() -> Path:
    """$IOPLAN_STORE, else ioplan/results.db in the user's data folder."""
    if path := os.environ.get("IOPLAN_STORE"):
        return at_home(path)
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return at_home(data) / "ioplan" / "results.db"


class Store(Database):
    """An open store. Every method may raise StoreError."""

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
        row = session_row(session) | {"unmet": 0}
        with self.writing() as connection:
            connection.change(update("session", (*PLAN, *STATUS)), row)
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
        row = {"id": id, "status": status, "ended_at": ended_at, "unmet": unmet}
        with self.writing() as connection:
            if not connection.change(update("session", STATUS), row):
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
        near = did_you_mean(key, self.ids())
        text = f"the store {self.where} has no session {key!r}{near}"
        return StoreError(text, StoreFault.NO_SESSION)

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

    # Runs.

    @with_reserve
    def add(self, record: RunRecord, detail: RunDetail) -> bool:
        """Store a run in one transaction; it is durable when this returns.

        Adding the same run again changes nothing, and returns False. Another run
        of the same session and seq is an error.
        """
        env, run, figures = _rows(record)
        key: Row = {"session": record.session, "seq": record.seq}
        parts = codec.encode_detail(detail)
        try:
            with self.writing() as connection:
                connection.insert_missing("env", env)
                connection.insert("run", run)
                connection.insert("figure", *figures)
                connection.insert("run_blob", key | parts)
                if points := parts.get("telemetry"):
                    connection.insert("run_telemetry", key | {"points": points})
                if packed := parts.get("intervals"):
                    connection.insert("run_intervals", key | {"packed": packed})
                _put_verdicts(connection, key, record.verdicts)
        except KeyViolation:
            self._expect_same(record)
            return False
        return True

    def _expect_same(self, record: RunRecord) -> None:
        stored = self.runs(Fields.ALL, OF_RUN, session=record.session, seq=record.seq)
        if not stored:
            raise self._no_session(record.session)
        if _rows(stored[0]) != _rows(record):
            raise StoreError(
                f"the session {record.session} in {self.where} has another run "
                f"{record.seq} already: number the new one after the last",
                StoreFault.RUN_CONFLICT,
            )
        self.add_verdicts(record.session, record.seq, record.verdicts)

    @with_reserve
    def add_verdicts(
        self, session_id: str, seq: int, verdicts: Iterable[Verdict]
    ) -> None:
        """Add verdicts behind those of a run; of one expectation the new one stays."""
        key = {"session": session_id, "seq": seq}
        with self.writing() as connection:
            # no one else then appends to it meanwhile
            query = f"SELECT seq FROM run WHERE {OF_RUN}{connection.for_update}"
            if not connection.rows(query, **key):
                raise self._no_run(session_id, seq)
            _put_verdicts(connection, key, tuple(verdicts))

    def records(
        self, session_id: str, test: str | None = None, fields: Fields = Fields.ALL
    ) -> Iterator[RunRecord]:
        """The runs of a session, or of one of its tests, in order: in pages, so that no
        transaction stays open meanwhile. Verdicts are among all fields only."""
        runs = "run.session = :session"
        runs += " AND run.test = :test" if test is not None else ""
        key = {"session": session_id, "test": test}
        query = f"SELECT run.seq FROM run WHERE {runs} ORDER BY run.seq"
        with self.reading() as connection:
            numbers = [seq for (seq,) in connection.tuples(query, **key)]
        if not numbers and session_id not in self.ids():
            raise self._no_session(session_id)
        for first in range(0, len(numbers), PAGE):
            page = numbers[first : first + PAGE]
            of_page = f"{runs} AND run.seq BETWEEN :first AND :last"
            yield from self.runs(fields, of_page, **key, first=page[0], last=page[-1])

    def runs(self, fields: Fields, condition: str, **values: Any) -> list[RunRecord]:
        with self.reading() as connection:
            return read_runs(connection, fields, condition, **values)

    def intervals(self, session_id: str, seq: int) -> bytes:
        """What each stream counted in each interval of a run, for
        `measure.interval_counts`; maybe empty. It is large, and read by itself."""
        query = f"SELECT packed FROM run_intervals WHERE {OF_RUN}"
        return bytes(scalar(self.rows(query, session=session_id, seq=seq)) or b"")

    def whole_detail(self, session_id: str, seq: int) -> RunDetail:
        """All that is kept of a run beside its record, with the intervals' counts."""
        packed = {"intervals": self.intervals(session_id, seq)}
        return self.detail(session_id, seq).model_copy(update=packed)

    def detail(
        self, session_id: str, seq: int, with_histograms: bool = True
    ) -> RunDetail:
        """The series and the telemetry of a run; its histograms take longer to read."""
        query = DETAIL.format("blob.histograms, " if with_histograms else "")
        rows = self.rows(query, session=session_id, seq=seq)
        if not rows:
            raise self._no_run(session_id, seq)
        try:
            return codec.decode_detail(rows[0])
        except codec.CodecError as error:
            where = f"run {seq} of session {session_id} in {self.where}"
            raise StoreError(f"{where}: {error}", StoreFault.RECORD_DAMAGED) from error

    def _no_run(self, session_id: str, seq: int) -> StoreError:
        text = f"the session {session_id!r} in {self.where} has no run {seq}"
        count = self.count(session_id)
        return StoreError(f"{text}; it has {count} runs", StoreFault.NO_RUN)

    def count(self, session_id: str) -> int:
        query = "SELECT count(*) FROM run WHERE session = :session"
        return int(scalar(self.rows(query, session=session_id)))

    def last_seq(self, session_id: str) -> int:
        """The number of a session's last run; 0 without any."""
        query = "SELECT max(seq) FROM run WHERE session = :session"
        return scalar(self.rows(query, session=session_id)) or 0

    def that_did(self, run_ids: Iterable[str]) -> list[Session]:
        """The sessions that have runs of any of these ids, the newest first."""
        ids = set(self.ids_that_did(run_ids))
        return [session for session in self.sessions() if session.id in ids]

    def ids_that_did(self, run_ids: Iterable[str]) -> list[str]:
        """The ids of the sessions that have runs of any of these, oldest first."""
        runs, ids = list(dict.fromkeys(run_ids)), set[str]()
        for first in range(0, len(runs), PAGE):
            condition, values = listed("run.run_id", runs[first : first + PAGE])
            query = f"SELECT DISTINCT session FROM run WHERE {condition}"
            ids.update(row["session"] for row in self.rows(query, **values))
        return sorted(ids)

    @with_reserve
    def save_state(self, state: KnownState) -> None:
        row = state_row(state)
        with self.writing() as connection:
            connection.change("DELETE FROM target_state WHERE target = :target", row)
            connection.insert("target_state", row)

    def state(self, target: str) -> KnownState | None:
        with self.reading() as connection:
            rows = connection.select("target_state", "target = :target", target=target)
        return state_of(rows[0]) if rows else None


def _rows(record: RunRecord) -> tuple[Row, Row, list[Row]]:
    """The facts of its host, its columns and its figures."""
    env = env_row(record.host)
    return env, run_row(record, env["digest"]), list(figure_rows(record))


def _put_verdicts(
    connection: Connection, key: Row, verdicts: Sequence[Verdict]
) -> None:
    if not verdicts:
        return
    rows = connection.rows(RUN_VERDICTS, **key)
    key = key | {"plan_digest": rows[0]["plan_digest"]}
    stored = {
        Verdict.model_validate_json(row["verdict"]).expectation: row["verdict"]
        for row in rows
        if row["verdict"]
    }
    texts = stored | {v.expectation: v.model_dump_json() for v in verdicts}
    if stored:
        of_plan = f"{OF_RUN} AND plan_digest = :plan_digest"
        connection.change(f"DELETE FROM verdict WHERE {of_plan}", key)
    numbered = enumerate(texts.values())
    rows = [key | {"position": number, "verdict": text} for number, text in numbered]
    connection.insert("verdict", *rows)


# The status that a session has now: of one that was killed the store knows no end.


def session_now(store: Store, key: str) -> Session:
    """As `Store.session`, with the status that it has now. Raises StoreError."""
    session = store.session(key)
    path = Path(store.where)
    status = status_now(session.status, session.host_name, session.id, path)
    return session.model_copy(update={"status": status})


def status_now(
    status: SessionStatus, host_name: str, session: str, store: Path
) -> SessionStatus:
    """`interrupted` where a session of this host was left behind by its process."""
    if status != "running" or host_name != platform.node():
        return status
    folder = session_folder(store, session)
    is_left = folder.exists() and is_locked(folder) is False
    return "interrupted" if is_left else status
