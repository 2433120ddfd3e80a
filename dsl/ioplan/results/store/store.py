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
from pathlib import Path
from typing import Any

from ioplan.core.error_kinds import StoreFault
from ioplan.core.state_folder import at_home
from ioplan.records.record import RunDetail, RunRecord, Verdict
from ioplan.records.session import KnownState, Session, SessionStatus
from ioplan.results.store import codec
from ioplan.results.store.connection import Connection, Row, scalar
from ioplan.results.store.database import with_reserve
from ioplan.results.store.errors import KeyViolation, StoreError
from ioplan.results.store.figures import figure_rows
from ioplan.results.store.rows import env_row, state_of, state_row
from ioplan.results.store.runs import OF_RUN, Fields, read_runs, run_row
from ioplan.results.store.session_folder import is_locked, session_folder
from ioplan.results.store.sessions import SessionStore
from ioplan.results.store.tables import COLUMNS

PAGE = 200
DETAIL = """
    SELECT blob.histograms, blob.series, telemetry.points AS telemetry
    FROM run_blob AS blob LEFT JOIN run_telemetry AS telemetry
      ON telemetry.session = blob.session AND telemetry.seq = blob.seq
    WHERE blob.session = :session AND blob.seq = :seq"""
STATE = f"""
    SELECT {", ".join(COLUMNS["target_state"])} FROM target_state
    WHERE target = :target"""
RUN_VERDICTS = """
    SELECT session.plan_digest, v.verdict
    FROM session LEFT JOIN verdict AS v ON v.session = session.id AND v.seq = :seq
      AND v.plan_digest = session.plan_digest
    WHERE session.id = :session ORDER BY v.position"""


def listed(column: str, values: Sequence[str]) -> tuple[str, dict[str, str]]:
    """A condition that a column of `run` has one of these values; its parameters."""
    parameters = {f"{column}{number}": value for number, value in enumerate(values)}
    names = ", ".join(f":{name}" for name in parameters)
    return f"run.{column} IN ({names})", parameters


def default_path() -> Path:
    """$IOPLAN_STORE, else ioplan/results.db in the user's data folder."""
    if path := os.environ.get("IOPLAN_STORE"):
        return at_home(path)
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return at_home(data) / "ioplan" / "results.db"


class Store(SessionStore):
    """An open store. Every method may raise StoreError."""

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
        """Add verdicts to a run; of one expectation the new one stays."""
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
        """The runs of a session, or of one of its tests, in order; with verdicts if
        all of them is read.

        They are read in pages, so that no transaction stays open meanwhile.
        """
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
        """What each stream counted in each interval of a run, packed; maybe empty.

        It is kept apart, as it is large: `measure.interval_counts` reads it.
        """
        query = f"SELECT packed FROM run_intervals WHERE {OF_RUN}"
        return bytes(scalar(self.rows(query, session=session_id, seq=seq)) or b"")

    def whole_detail(self, session_id: str, seq: int) -> RunDetail:
        """All that is kept of a run beside its record, with the intervals' counts."""
        packed = {"intervals": self.intervals(session_id, seq)}
        return self.detail(session_id, seq).model_copy(update=packed)

    def detail(self, session_id: str, seq: int) -> RunDetail:
        """The histograms, the series and the telemetry of a run."""
        rows = self.rows(DETAIL, session=session_id, seq=seq)
        if not rows:
            raise self._no_run(session_id, seq)
        try:
            return codec.decode_detail(rows[0])
        except codec.CodecError as error:
            where = f"run {seq} of session {session_id} in {self.where}"
            raise StoreError(f"{where}: {error}", StoreFault.RECORD_DAMAGED) from error

    def _no_run(self, session_id: str, seq: int) -> StoreError:
        return StoreError(
            f"the session {session_id!r} in {self.where} has no run {seq}; it has "
            f"{self.count(session_id)} runs",
            StoreFault.NO_RUN,
        )

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
            condition, values = listed("run_id", runs[first : first + PAGE])
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
        rows = self.rows(STATE, target=target)
        return state_of(rows[0]) if rows else None


def _rows(record: RunRecord) -> tuple[Row, Row, list[Row]]:
    """The facts of its host, its columns and its figures."""
    env = env_row(record.host)
    return env, run_row(record, env["digest"]), list(figure_rows(record))


def _put_verdicts(
    connection: Connection, key: Row, verdicts: Sequence[Verdict]
) -> None:
    """Add verdicts behind those of a run; of one expectation the new one stays."""
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
