"""How much a person or a project may use: drives at once, drive-hours in seven days.

Of what the queue starts, as reservations are. `*` is whoever has no quota of their own,
`@NAME` a project, which has what its people have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from ioplan.core.text import counted
from ioplan.results.store.connection import Connection
from ioplan_lab.desk.clock import stamp
from ioplan_lab.desk.database import DeskDatabase
from ioplan_lab.desk.errors import DeskError
from ioplan_lab.desk.queue.entry import Entry, entry_of
from ioplan_lab.desk.queue.permissions import PROJECT, PROJECTS, Words, projects_of
from ioplan_lab.desk.queue.tables import insert
from ioplan_lab.desk.table import table

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
