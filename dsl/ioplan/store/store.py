"""The store: every session and run on this host, in one SQLite file.

    with Store.open(default_path()) as store:
        store.begin(session)
        store.add(record, detail)            # durable when it returns
        store.finish(session.id, "ok", now)

Any number of processes may read and write at the same time. The statements are
SQLAlchemy's and hold for PostgreSQL as well: `Store(engine, where)`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from sqlalchemy import (
    Connection,
    Engine,
    Select,
    and_,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from ioplan.core.context import Closing
from ioplan.core.text import did_you_mean
from ioplan.records.record import RunDetail, RunRecord, Verdict
from ioplan.records.session import (
    KnownState,
    Session,
    SessionEvent,
    SessionStatus,
    state_row,
)
from ioplan.store import tables
from ioplan.store.codec import (
    CodecError,
    decode_histograms,
    decode_series,
    decode_telemetry,
    encode_histograms,
    encode_series,
    encode_telemetry,
)
from ioplan.store.errors import ReserveUsedError, StoreError, database_errors
from ioplan.store.postgres import (
    is_address,
    lock_schema,
    postgres_engine,
    without_password,
)
from ioplan.store.queries import (
    all_runs,
    all_sessions,
    append_verdicts,
    lock_run,
    verdicts_of,
)
from ioplan.store.reserve import Reserve, with_reserve
from ioplan.store.rows import (
    env_row,
    event_of,
    record_of,
    run_row,
    same_run,
    session_of,
    session_row,
    state_of,
)
from ioplan.store.sqlite import WRITES, is_immutable, sqlite_engine
from ioplan.store.tables import create_missing, is_complete

PAGE = 200
BUSY_S = 30.0


def default_path() -> Path:
    """$IOPLAN_STORE, else ioplan/results.db in the user's data folder."""
    if named := os.environ.get("IOPLAN_STORE"):
        return Path(named).expanduser()
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(data).expanduser() / "ioplan" / "results.db"


def _check_is_file(path: str | os.PathLike[str]) -> None:
    """pathlib makes one slash of two."""
    if str(path).startswith(("postgresql:", "postgres:")):
        raise StoreError(
            "results are kept in a file on the host first, so that no run waits for a "
            "network: leave --store and IOPLAN_STORE, or name a file, and write "
            'results = "postgresql://…" into the lab file, or use `ioplan push`'
        )


class Store(Closing):
    """An open store. Every method may raise StoreError."""

    def __init__(self, engine: Engine, where: str) -> None:
        """Use a database, and make the tables when it is empty."""
        self.where = where
        self.reserve: Reserve | None = None
        self._engine = engine
        self._writer = engine.execution_options(**WRITES)
        self._envs: set[str] = set()
        try:
            self._prepare()
        except BaseException:
            engine.dispose()
            raise

    @classmethod
    def open(cls, path: str | os.PathLike[str], busy_s: float = BUSY_S) -> Self:
        """Open a file, or make it and its folder.

        `busy_s` is how long to wait for another process that is writing.
        """
        _check_is_file(path)
        path = Path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"the folder of the store {path} cannot be made: {error.strerror}; "
                "set IOPLAN_STORE to another file"
            ) from error
        made = cls(sqlite_engine(path, busy_s), str(path))
        made.reserve = Reserve(path)
        return made

    @classmethod
    def at(cls, place: str | os.PathLike[str]) -> Self:
        """Open a file, or a database that is shared: `postgresql://…`."""
        address = str(place)
        if is_address(address):
            return cls(postgres_engine(address), without_password(address))
        return cls.open(place)

    @classmethod
    def to_read(cls, place: str | os.PathLike[str]) -> Self:
        """As `at`, and also a file where nothing can be written."""
        try:
            return cls.at(place)
        except StoreError:
            if is_address(str(place)) or not is_immutable(Path(place)):
                raise
        return cls(sqlite_engine(Path(place), immutable=True), str(place))

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    # ---- sessions

    def begin(self, session: Session) -> None:
        """Write a session down. One that is there already takes the status given.

        So an interrupted session is resumed, and a session copied twice. From now
        on there is room for one more run, however full the disk becomes.
        """
        if self.reserve:
            self.reserve.acquire()
        self._add_env(session.host)
        row = session_row(session)
        try:
            with self._write() as connection:
                connection.execute(insert(tables.session), row)
        except IntegrityError:
            if self.session(session.id).plan_text != session.plan_text:
                raise StoreError(
                    f"the session {session.id} in {self.where} is of another plan: "
                    "give the new session another id"
                ) from None
            self._set_status(session.id, session.status, session.ended_at)

    def update_plan(self, session_id: str, plan: str, plan_text: str) -> None:
        """A session goes on with an edited plan."""
        change = update(tables.session).where(tables.session.c.id == session_id)
        with self._write() as connection:
            connection.execute(change.values(plan=plan, plan_text=plan_text))

    def finish(self, session_id: str, status: SessionStatus, ended_at: str) -> None:
        """Write down how a session ended; `ended_at` is UTC, ISO 8601."""
        with suppress(ReserveUsedError):  # there is nothing to come
            self._set_status(session_id, status, ended_at)

    @with_reserve
    def _set_status(
        self, session_id: str, status: SessionStatus, ended_at: str | None
    ) -> None:
        change = update(tables.session).where(tables.session.c.id == session_id)
        with self._write() as connection:
            done = connection.execute(change.values(status=status, ended_at=ended_at))
            if not done.rowcount:
                raise self._no_session(session_id)

    def sessions(self) -> list[Session]:
        """All sessions, the newest first."""
        with self._read() as connection:
            return [session_of(row) for row in connection.execute(all_sessions())]

    def session(self, key: str) -> Session:
        """The session of an id, of the start of one, or "last" for the newest."""
        query = all_sessions()
        if key != "last":
            query = query.where(tables.session.c.id == self._id(key))
        with self._read() as connection:
            row = connection.execute(query.limit(1)).first()
        if row is None:
            raise StoreError(f"the store {self.where} has no session yet: run a plan")
        return session_of(row)

    def _id(self, key: str) -> str:
        ids = self._ids()
        found = [key] if key in ids else [i for i in ids if key and i.startswith(key)]
        if len(found) > 1:
            raise StoreError(
                f"{len(found)} sessions begin with {key!r}, such as {found[0]} and "
                f"{found[1]}: give more of the id"
            )
        if not found:
            raise self._no_session(key)
        return found[0]

    def _ids(self) -> list[str]:
        with self._read() as connection:
            return list(connection.scalars(select(tables.session.c.id)))

    def _no_session(self, key: str) -> StoreError:
        return StoreError(
            f"the store {self.where} has no session {key!r}"
            f"{did_you_mean(key, self._ids())}"
        )

    # ---- runs

    @with_reserve
    def add(self, record: RunRecord, detail: RunDetail) -> bool:
        """Store a run in one transaction; it is durable when this returns.

        Adding the same run again changes nothing, and returns False. Another run
        of the same session and seq is an error.
        """
        env = self._add_env(record.host)
        row = run_row(record, env)
        blob = {
            "session": record.session,
            "seq": record.seq,
            "histograms": encode_histograms(detail.histograms),
            "series": encode_series(detail.series),
        }
        try:
            with self._write() as connection:
                connection.execute(insert(tables.run), row)
                connection.execute(insert(tables.run_blob), blob)
                if detail.telemetry:
                    points = {"points": encode_telemetry(detail.telemetry)}
                    key = {"session": record.session, "seq": record.seq}
                    connection.execute(insert(tables.run_telemetry), key | points)
                append_verdicts(connection, record.session, record.seq, record.verdicts)
        except IntegrityError:
            self._expect_same(record)
            return False
        return True

    def _expect_same(self, record: RunRecord) -> None:
        known = self._page(
            all_runs(record.session).where(tables.run.c.seq == record.seq)
        )
        if not known:
            raise self._no_session(record.session)
        if not same_run(known[0], record):
            raise StoreError(
                f"the session {record.session} in {self.where} has another run "
                f"{record.seq} already: number the new one after the last"
            )
        self.add_verdicts(record.session, record.seq, record.verdicts)

    @with_reserve
    def add_verdicts(
        self, session_id: str, seq: int, verdicts: Iterable[Verdict]
    ) -> None:
        """Append verdicts to a run; one that it has already is not added again."""
        with self._write() as connection:
            if not lock_run(connection, session_id, seq):
                raise self._no_run(session_id, seq)
            append_verdicts(connection, session_id, seq, tuple(verdicts))

    def records(self, session_id: str, test: str | None = None) -> Iterator[RunRecord]:
        """The runs of a session, or of one of its tests, in order, with verdicts.

        They are read in pages, so that no transaction stays open meanwhile.
        """
        query = all_runs(session_id).limit(PAGE)
        if test is not None:
            query = query.where(tables.run.c.test == test)
        page = self._page(query)
        if not page and session_id not in self._ids():
            raise self._no_session(session_id)
        while page:
            yield from page
            page = self._page(query.where(tables.run.c.seq > page[-1].seq))

    def _page(self, query: Select[Any]) -> list[RunRecord]:
        with self._read() as connection:
            rows = connection.execute(query).all()
            verdicts = verdicts_of(connection, rows)
        return [record_of(row, verdicts.get(row.seq, [])) for row in rows]

    def detail(self, session_id: str, seq: int) -> RunDetail:
        """The histograms, the series and the telemetry of a run."""
        key, beside = tables.run_blob.c, tables.run_telemetry.c
        same = and_(beside.session == key.session, beside.seq == key.seq)
        query = select(key.histograms, key.series, beside.points)
        query = query.outerjoin_from(tables.run_blob, tables.run_telemetry, same)
        query = query.where(key.session == session_id, key.seq == seq)
        with self._read() as connection:
            row = connection.execute(query).first()
        if row is None:
            raise self._no_run(session_id, seq)
        try:
            return RunDetail(
                histograms=decode_histograms(row.histograms),
                series=decode_series(row.series),
                telemetry=decode_telemetry(row.points) if row.points else (),
            )
        except CodecError as error:
            where = f"run {seq} of session {session_id} in {self.where}"
            raise StoreError(f"{where}: {error}") from error

    def _no_run(self, session_id: str, seq: int) -> StoreError:
        return StoreError(
            f"the session {session_id!r} in {self.where} has no run {seq}; it has "
            f"{self.count(session_id)} runs"
        )

    def count(self, session_id: str) -> int:
        """How many runs a session has."""
        query = select(func.count()).where(tables.run.c.session == session_id)
        with self._read() as connection:
            return connection.scalar(query) or 0

    def last_seq(self, session_id: str) -> int:
        """The number of a session's last run; 0 without any."""
        query = select(func.max(tables.run.c.seq))
        with self._read() as connection:
            return (
                connection.scalar(query.where(tables.run.c.session == session_id)) or 0
            )

    # ---- what lies between runs

    @with_reserve
    def add_event(self, session_id: str, event: SessionEvent) -> None:
        """Write down what happened to a session."""
        key = tables.event.c
        last = select(func.max(key.position)).where(key.session == session_id)
        with self._write() as connection:
            position = (connection.scalar(last) or 0) + 1
            row = {"session": session_id, "position": position, **event.model_dump()}
            connection.execute(insert(tables.event), row)

    def events(self, session_id: str) -> list[SessionEvent]:
        """What happened to a session, in order."""
        key = tables.event.c
        query = select(key.at, key.kind, key.text).order_by(key.position)
        with self._read() as connection:
            rows = connection.execute(query.where(key.session == session_id))
            return [event_of(row, session_id) for row in rows]

    @with_reserve
    def save_state(self, state: KnownState) -> None:
        """Write down which state a target is in; durable when it returns."""
        known = tables.target_state
        with self._write() as connection:
            connection.execute(delete(known).where(known.c.target == state.target))
            connection.execute(insert(known), state_row(state))

    def state(self, target: str) -> KnownState | None:
        """The state that a target was last known to be in."""
        known = tables.target_state
        query = select(known).where(known.c.target == target)
        with self._read() as connection:
            row = connection.execute(query).first()
        return state_of(row) if row else None

    # ---- the database

    def reading(self) -> AbstractContextManager[Connection]:
        """A transaction that reads rows as they are."""
        return self._read()

    def writing(self) -> AbstractContextManager[Connection]:
        """A transaction that writes rows as they are; durable when it ends."""
        return self._write()

    def _add_env(self, host: dict[str, Any]) -> str:
        """Keep a host's facts once; returns their digest.

        Its own transaction: another process may add the same facts meanwhile.
        """
        row = env_row(host)
        digest = row["digest"]
        if digest in self._envs:
            return digest
        try:
            with self._write() as connection:
                connection.execute(insert(tables.env), row)
        except IntegrityError:
            pass  # there already, which is as good
        self._envs.add(digest)
        return digest

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with database_errors(self.where), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with database_errors(self.where), self._writer.begin() as connection:
            yield connection

    def _prepare(self) -> None:
        """Make the tables; nothing is written before it is known to be a store."""
        with self._read() as connection:
            ready = is_complete(connection, self.where)
        if not ready:
            with self._write() as connection:
                lock_schema(connection)
                create_missing(connection, self.where)
