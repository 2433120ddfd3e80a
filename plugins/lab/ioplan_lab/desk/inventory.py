"""What runs on the lab's drives, as the hosts say it, in the database of its results.

A row for each lane: its host writes it every two seconds, and reads there whether
somebody wants it ended. So each desk, shell and scrape gets the same answer, and so
does one that did not start the job. Ages are of the database's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from ioplan.backends import LabTarget
from ioplan.results.store import Connection, Row, scalar
from ioplan_lab.cluster.jobs.job import Job
from ioplan_lab.cluster.jobs.lane import SEVERAL, LaneCall, LaneState
from ioplan_lab.cluster.jobs.lane_folder import lane_folders
from ioplan_lab.desk.database import DeskDatabase
from ioplan_lab.desk.errors import Missing
from ioplan_lab.desk.running import JobNow
from ioplan_lab.desk.samples import add_samples, forget_samples
from ioplan_lab.desk.table import table

TABLES = table(
    "desk_lane",
    "session job plan place target host drive person state ended:INTEGER "
    "seen_s:DOUBLE cancelled_by",
    "session",
)
SILENT_S = 30.0
"""A host that has not written for so long is not heard; its drives stay busy."""
KEPT_S = 30 * 86400.0
MOST_ENDED = 300
COLUMNS = ("session", "job", "plan", "place", "target", "host", "drive", "person")
CLOCKS = {
    True: "SELECT extract(epoch FROM clock_timestamp())::float8 AS s",
    False: "SELECT (julianday('now') - 2440587.5) * 86400.0 AS s",
}
"""The clocks of PostgreSQL, and of SQLite."""
WRITE = f"""
    INSERT INTO desk_lane ({", ".join(COLUMNS)}, state, ended, seen_s, cancelled_by)
    VALUES ({", ".join(f":{one}" for one in COLUMNS)}, :state, :ended, :seen_s, '')
    ON CONFLICT (session) DO UPDATE SET
      state = excluded.state, ended = excluded.ended, seen_s = excluded.seen_s,
      cancelled_by = CASE WHEN desk_lane.ended > excluded.ended
        THEN '' ELSE desk_lane.cancelled_by END"""
"""A lane that goes on after its end has been cancelled by nobody."""


class ReportedLane(Struct, frozen=True):
    """A lane as its host has told of it; `state` says so where that is long ago."""

    plan: str
    where: str
    drive: str
    person: str
    state: LaneState

    @property
    def text(self) -> str:
        """What runs on the drive, in a line."""
        unsure = self.state.status == "unknown"
        more = f", not heard: {self.state.message}" if unsure else ""
        person = f" ({self.person})" if self.person else ""
        return f"{self.plan}{person}, job {self.state.job}{more}"


class Inventory:
    """Every method may raise StoreError."""

    def __init__(self, database: DeskDatabase) -> None:
        self.database = database

    # ---- what hosts do

    def report(self, found: Sequence[tuple[LaneCall, LaneState]]) -> dict[str, str]:
        """Write how lanes are. Returns who wants which of them ended, by session."""
        with self.database.writing() as connection:
            now_s = _clock(connection)
            connection.change(WRITE, *(_row(*one, now_s) for one in found))
            add_samples(connection, (state for _, state in found))
            rows = connection.rows(
                "SELECT session, cancelled_by FROM desk_lane WHERE cancelled_by <> '' "
                "AND ended = 0"
            )
        mine = {call.session for call, _ in found}
        wanted = {row["session"]: row["cancelled_by"] for row in rows}
        return {one: person for one, person in wanted.items() if one in mine}

    def forget_old(self) -> None:
        """Leave out what ended long ago."""
        with self.database.writing() as connection:
            now_s = _clock(connection)
            forget_samples(connection, now_s)
            before = {"before": now_s - KEPT_S}
            connection.change(
                "DELETE FROM desk_lane WHERE ended = 1 AND seen_s < :before", before
            )

    # ---- what people see and want

    def running(self) -> list[ReportedLane]:
        """The lanes that have not ended, or are not known to."""
        return self._lanes("ended = 0 ORDER BY session")

    def jobs(self) -> list[JobNow]:
        """What runs and what ended last, the newest first."""
        return _jobs(
            [
                *self.running(),
                *self._lanes("ended = 1 ORDER BY session DESC LIMIT :most"),
            ]
        )

    def job(self, id: str) -> list[ReportedLane]:
        """The lanes of a job; none where the database knows nothing of it."""
        return self._lanes("job = :job ORDER BY session", job=id)

    def job_now(self, id: str) -> JobNow | None:
        """A job as its hosts have told of it, however long ago it ended."""
        return next(iter(_jobs(self.job(id))), None)

    def _lanes(self, which: str, **named: object) -> list[ReportedLane]:
        query = f"SELECT * FROM desk_lane WHERE {which}"
        if ":most" in query:
            named["most"] = MOST_ENDED
        with self.database.reading() as connection:
            now_s = _clock(connection)
            return [_lane(row, now_s) for row in connection.rows(query, **named)]

    def cancel(self, job: str, person: str) -> None:
        """Have its hosts end its I/O. Raises Missing where it has ended."""
        with self.database.writing() as connection:
            done = connection.change(
                "UPDATE desk_lane SET cancelled_by = :person "
                "WHERE job = :job AND ended = 0",
                {"person": person, "job": job},
            )
        if not done:
            raise Missing(f"no job {job!r} runs in this lab")


def _clock(connection: Connection) -> float:
    return float(scalar(connection.rows(CLOCKS[bool(connection.for_update)])))


def _row(call: LaneCall, state: LaneState, now_s: float) -> Row:
    return {
        "session": call.session,
        "job": call.job,
        "plan": call.title,
        "place": call.where,
        "target": call.target,
        "host": call.host,
        "drive": call.drive,
        "person": call.request.person or "",
        "state": state.model_dump_json(),
        "ended": int(state.ended),
        "seen_s": now_s,
    }


def _lane(row: Row, now_s: float) -> ReportedLane:
    state, silent_s = LaneState.model_validate_json(row["state"]), now_s - row["seen_s"]
    if silent_s > SILENT_S:
        state = state.unheard(silent_s)
    return ReportedLane(row["plan"], row["place"], row["drive"], row["person"], state)


def _jobs(lanes: Iterable[ReportedLane]) -> list[JobNow]:
    by_job: dict[str, list[ReportedLane]] = {}
    for one in lanes:
        by_job.setdefault(one.state.job, []).append(one)
    found = sorted(by_job.items(), reverse=True)
    return [_job(id, sorted(them, key=_session)) for id, them in found]


def _session(one: ReportedLane) -> str:
    return one.state.session


def _job(id: str, lanes: Sequence[ReportedLane]) -> JobNow:
    first = lanes[0]
    job = Job(id=id, plan=first.plan, where=first.where, calls=())
    silent = {one.state.host: None for one in lanes if one.state.status == "unknown"}
    return JobNow(job, tuple(one.state for one in lanes), tuple(silent))


def lanes_of(job: Job, states: Iterable[LaneState]) -> list[ReportedLane]:
    """The lanes of a job that this host knows by itself, and that have not ended."""
    known = {
        call.session: (call.drive, call.request.person or "") for call in job.calls
    }
    return [
        ReportedLane(job.plan, job.where, *known.get(one.session, ("", "")), one)
        for one in states
        if not one.ended
    ]


def lanes_here(root: Path) -> list[ReportedLane]:
    """This host's lanes that have not ended, by their folders. Raises OSError."""
    found = []
    for folder in lane_folders(root):
        state = folder.state()
        if not state.ended:
            call = folder.call()
            job = Job(id=call.job, plan=call.title, where=call.where, calls=(call,))
            found += lanes_of(job, [state])
    return found


class Busy:
    """Which drives something runs on, by their names or by what identifies them."""

    def __init__(self, lanes: Iterable[ReportedLane]) -> None:
        self._by_name, self._by_drive = dict[tuple[str, str], str](), dict[str, str]()
        for one in lanes:  # several of each, where a run has them all at once
            for name in one.state.target.split(SEVERAL):
                self._by_name[one.state.host, name] = one.text
            for drive in filter(None, one.drive.split(SEVERAL)):
                self._by_drive[drive] = one.text

    def on(self, name: str, entry: LabTarget) -> str:
        """What runs on a target of the lab; empty for nothing."""
        hosts = (entry.host or "", *entry.hosts)
        named = (self._by_name.get((host, name)) for host in hosts)
        keys = (entry.serial, entry.wwid, entry.backing_file)
        known = (self._by_drive.get(key) for key in keys if key)
        return next((text for text in (*named, *known) if text), "")
