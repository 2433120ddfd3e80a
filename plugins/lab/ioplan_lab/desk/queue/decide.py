"""What may be started now, and for what the rest waits: pure, of rows and a moment.

Order: priority, then what was moved to the front, then whoever of the people was
served longest ago, then age. An entry whose drives are busy holds them against those
behind it, so that a group of many drives gets its turn; one whose drives are reserved
or out of service, or whose person has used up a quota, does not, as that may take days.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from ioplan.core import counted
from ioplan.results.store import Connection
from ioplan_lab.desk.database import DeskDatabase, stamp, time_in_words
from ioplan_lab.desk.errors import DeskError
from ioplan_lab.desk.queue.drives import DriveStates
from ioplan_lab.desk.queue.entry import Entry, entry_of
from ioplan_lab.desk.queue.permissions import PROJECT, PROJECTS, Words, projects_of
from ioplan_lab.desk.queue.tables import insert
from ioplan_lab.desk.table import table

# How much a person or a project may use: drives at once, drive-hours in seven days.
#
# Of what the queue starts, as reservations are. `*` is whoever has no quota of their
# own, `@NAME` a project, which has what its people have.

TABLES = table("desk_quota", "person drives:INTEGER? hours:DOUBLE?", "person")
EVERYONE = "*"
DAYS = 7
STARTED = """
    SELECT * FROM desk_queue
    WHERE started_at <> '' AND (ended_at = '' OR ended_at > :since)"""


class Quota(Struct, frozen=True):
    """None is no limit."""

    drives: int | None = None
    hours: float | None = None

    @property
    def text(self) -> str:
        """In a few words."""
        drives = f"{counted(self.drives, 'drive')} at once" if self.drives else ""
        hours = f"{self.hours:g} drive-hours in {DAYS} days" if self.hours else ""
        return ", ".join(filter(None, (drives, hours)))


class Use(Struct, frozen=True):
    """What people may use, and do use; `hours` are drive-hours by person,
    `projects` have people."""

    quotas: Mapping[str, Quota] = {}
    hours: Mapping[str, float] = {}
    projects: Words = {}

    def over(self, entry: Entry, entries: Sequence[Entry]) -> str:
        """Why this one would be too much now, beside what runs; empty if it is not."""
        found = (
            self._over(name, quota, people, entry, entries)
            for name, quota, people in self._limits(entry.person)
        )
        return next(filter(None, found), "")

    def _limits(self, person: str) -> Iterator[tuple[str, Quota, tuple[str, ...]]]:
        """The person's own, and those of the projects, with whose use counts."""
        own = self.quotas.get(person) or self.quotas.get(EVERYONE) or Quota()
        yield person, own, (person,)
        for project in projects_of(self.projects, person):
            name = f"{PROJECT}{project}"
            yield name, self.quotas.get(name, Quota()), self.projects[project]

    def _over(
        self,
        name: str,
        quota: Quota,
        people: tuple[str, ...],
        entry: Entry,
        entries: Sequence[Entry],
    ) -> str:
        if quota.drives is not None:
            own = [one for one in entries if one.holds and one.person in people]
            used = len({drive for one in own for drive in one.drives})
            if used + len(entry.drives) > quota.drives:
                wants = counted(len(entry.drives), "drive")
                return f"{name} may use {quota.text}: {used} in use, {wants} more"
        used_h = sum(self.hours.get(one, 0.0) for one in people)
        if quota.hours is not None and used_h >= quota.hours:
            return f"{name} may use {quota.text}: {used_h:.1f} used"
        return ""


class Quotas:
    """Every method may raise StoreError."""

    def __init__(self, database: DeskDatabase) -> None:
        self.database = database

    def all(self) -> dict[str, Quota]:
        """By person."""
        with self.database.reading() as connection:
            return quotas_of(connection)

    def set(self, person: str, quota: Quota) -> None:
        """In place of another; one without limits is none. Raises DeskError."""
        if any(one is not None and one <= 0 for one in (quota.drives, quota.hours)):
            raise DeskError("a quota is more than 0; without any, nothing is limited")
        with self.database.writing() as connection:
            row = {"person": person, "drives": quota.drives, "hours": quota.hours}
            connection.change("DELETE FROM desk_quota WHERE person = :person", row)
            if quota != Quota():
                insert(connection, "desk_quota", row)


def quotas_of(connection: Connection) -> dict[str, Quota]:
    """By person."""
    rows = connection.rows("SELECT * FROM desk_quota ORDER BY person")
    return {row["person"]: Quota(row["drives"], row["hours"]) for row in rows}


def use_of(connection: Connection) -> Use:
    """What people may use, and have used in the last days."""
    if not (quotas := quotas_of(connection)):
        return Use()
    since, now = stamp(-timedelta(days=DAYS)), stamp()
    hours: dict[str, float] = {}
    for entry in map(entry_of, connection.rows(STARTED, since=since)):
        last = _time(entry.ended_at or now)
        took = last - max(_time(entry.started_at), _time(since))
        took_h = max(0.0, took.total_seconds() / 3600) * len(entry.drives)
        hours[entry.person] = hours.get(entry.person, 0.0) + took_h
    return Use(quotas, hours, PROJECTS.all(connection))


def _time(at: str) -> datetime:
    return datetime.fromisoformat(at)


MOST_SHOWN = 3
NO_LIMITS = Use()


class Decision(Struct, frozen=True):
    """An entry that waits, and for what; it may be started if for nothing."""

    entry: Entry
    waits: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """For what it waits, in a line."""
        more = len(self.waits) - MOST_SHOWN
        tail = [f"and {more} more"] if more > 0 else []
        return "; ".join([*self.waits[:MOST_SHOWN], *tail])


class _Held(Struct, frozen=True):
    """Drives that are taken, by whom."""

    by: dict[str, str] = {}

    def take(self, entry: Entry, how: str) -> None:
        for drive in entry.drives:
            self.by.setdefault(drive, f"#{entry.number} {how}")


def decisions(
    entries: Sequence[Entry],
    drives: DriveStates,
    served: dict[str, str],
    now: str,
    use: Use = NO_LIMITS,
) -> list[Decision]:
    """Each entry that waits, in the order in which they are started.

    `served` has the last job of each person; ids of jobs sort by time.
    """
    held = _Held()
    for entry in entries:
        if entry.holds:
            how = "may run on it" if entry.state == "unknown" else "runs on it"
            held.take(entry, how)
    waiting = [one for one in entries if one.state == "waiting"]
    return [
        _decision(one, held, drives, now, use.over(one, entries))
        for one in in_order(waiting, served)
    ]


def in_order(waiting: Iterable[Entry], served: dict[str, str]) -> list[Entry]:
    """In turns: an entry that is before others of its person makes that one served."""
    left, last, found = list(waiting), dict(served), []
    while left:
        first = min(left, key=lambda one: _rank(one, last))
        left.remove(first)
        found.append(first)
        last[first.person] = f"~{len(found):09}"  # later than any id
    return found


def _rank(one: Entry, served: dict[str, str]) -> tuple[int, int, str, int]:
    return (-one.priority, one.position, served.get(one.person, ""), one.number)


def _decision(
    entry: Entry, held: _Held, drives: DriveStates, now: str, over: str
) -> Decision:
    if entry.not_before > now:
        return Decision(entry, (f"its time, {time_in_words(entry.not_before)}",))
    closed = tuple(
        f"{drive} is {why}"
        for drive in entry.drives
        if (why := drives.closed_to(drive, entry.person, now))
    )
    busy = tuple(f"{d}: {held.by[d]}" for d in entry.drives if d in held.by)
    if not closed and not over:
        held.take(entry, "is before it")
    return Decision(entry, (*filter(None, (over,)), *closed, *busy))
