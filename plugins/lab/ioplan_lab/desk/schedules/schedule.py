"""Schedules: plans that are added to the queue again and again.

The times that pass while no desk is at work are missed. They are made good for by one
run, or skipped, as the schedule says, and either is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.structs import asdict

from ioplan.core import needed
from ioplan.records import RunRequest
from ioplan.results.store import Connection, Row
from ioplan_lab.desk.database import DeskDatabase, stamp
from ioplan_lab.desk.errors import DeskError, Missing, usage_error
from ioplan_lab.desk.people.people import NAME
from ioplan_lab.desk.queue.entry import OPEN, Priority, QueueEntry
from ioplan_lab.desk.queue.queue import add_to
from ioplan_lab.desk.queue.tables import insert, locked
from ioplan_lab.desk.table import table

# When a schedule is due: cron expressions in a time zone that is always named.
#
# cronsim reads them as Debian's cron does, also where clocks change: a time that is
# skipped is due at the jump, and one that comes twice is due once.

MOST_COUNTED = 1000
FORM = "%Y-%m-%dT%H:%M:%SZ"


def next_time(cron: str, zone: str, after: str) -> str:
    """The first time after one, both UTC. Raises DeskError."""
    return next(_times(cron, zone, after))


def count_due(cron: str, zone: str, since: str, now: str) -> int:
    """How often it was due after `since`, up to now; at most 1000."""
    count = 0
    for at in _times(cron, zone, since):
        if at > now or count == MOST_COUNTED:
            break
        count += 1
    return count


def _times(cron: str, zone: str, after: str) -> Iterator[str]:
    with needed("schedules need", "serve", usage_error):
        from cronsim import CronSim, CronSimError  # noqa: PLC0415  an extra
    start = datetime.strptime(after, FORM).replace(tzinfo=UTC)
    try:
        for at in CronSim(cron, start.astimezone(_zone(zone))):
            yield f"{at.astimezone(UTC):{FORM}}"
    except CronSimError as error:
        raise DeskError(
            f"{cron!r} is not a valid cron expression: {error}; write for example '0 "
            "2 * * *' for each night at 2:00"
        ) from error
    raise DeskError(f"{cron!r} never occurs")


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise DeskError(
            f"there is no time zone {name!r}; write for example Europe/Berlin or UTC"
        ) from None


TABLES = table(
    "desk_schedule", "name cron zone missed wanted next_at last_at last_text", "name"
)
ON_TIME = timedelta(minutes=2)
"""What is due longer ago was missed; a desk looks every few seconds."""
Missed = Literal["once", "skip"]


class Schedule(Struct, frozen=True):
    """`missed` says what becomes of times that passed while no desk was at work.

    `last_text` says what was done at `last_at`; times are UTC, ISO 8601.
    """

    name: str
    cron: str
    zone: str
    missed: Missed
    wanted: QueueEntry
    next_at: str
    last_at: str = ""
    last_text: str = ""


class Schedules:
    """Every method may raise StoreError."""

    def __init__(self, database: DeskDatabase) -> None:
        self.database = database

    def all(self) -> list[Schedule]:
        """By name."""
        with self.database.reading() as connection:
            rows = connection.rows("SELECT * FROM desk_schedule ORDER BY name")
        return [_schedule(row) for row in rows]

    def add(
        self, name: str, cron: str, zone: str, missed: Missed, wanted: QueueEntry
    ) -> Schedule:
        """Raises DeskError for a wrong time, or a name that is taken."""
        if not NAME.fullmatch(name):
            raise DeskError("a schedule's name has letters, digits, and . _ - only")
        if missed not in ("once", "skip"):
            raise DeskError(f"missed runs are 'once' or 'skip', not {missed!r}")
        due = next_time(cron, zone, stamp())
        made = Schedule(name, cron, zone, missed, wanted, due)
        with self.database.writing() as connection:
            locked(connection, "schedules", waits=True)
            query = "SELECT name FROM desk_schedule WHERE name = :name"
            if connection.rows(query, name=name):
                raise DeskError(f"there is a schedule {name!r} already")
            insert(connection, "desk_schedule", _row(made))
        return made

    def remove(self, name: str) -> None:
        """What it has added stays in the queue. Raises Missing."""
        with self.database.writing() as connection:
            statement = "DELETE FROM desk_schedule WHERE name = :name"
            if not connection.change(statement, {"name": name}):
                raise Missing(f"there is no schedule {name!r}")

    def turn(self) -> None:
        """Add to the queue what is due; of several desks one does."""
        now = stamp()
        with self.database.writing() as connection:
            if not locked(connection, "schedules", waits=False):
                return
            query = "SELECT * FROM desk_schedule WHERE next_at <= :now"
            for row in connection.rows(query, now=now):
                _done(connection, _schedule(row), now)


def _done(connection: Connection, due: Schedule, now: str) -> None:
    """In one transaction: it is in the queue, and due the next time."""
    connection.change(
        """UPDATE desk_schedule SET next_at = :next, last_at = :now, last_text = :text
           WHERE name = :name""",
        {
            "next": next_time(due.cron, due.zone, now),
            "now": now,
            "text": _run(connection, due, now),
            "name": due.name,
        },
    )


def _run(connection: Connection, due: Schedule, now: str) -> str:
    late = due.next_at < stamp(-ON_TIME)
    count = 1 + count_due(due.cron, due.zone, due.next_at, now) if late else 1
    missed = f"{count} missed while no desk was running"
    if late and due.missed == "skip":
        return f"skipped: {missed}"
    if before := _still_open(connection, due):
        return f"skipped: #{before}, the previous one, has not ended"
    number = add_to(connection, due.wanted)
    return f"#{number} added" + (f" once for {missed}" if late else "")


def _still_open(connection: Connection, due: Schedule) -> int | None:
    states = ", ".join(f"'{one}'" for one in OPEN)
    found = connection.rows(
        f"""SELECT number FROM desk_queue WHERE origin = :origin
            AND state IN ({states})""",
        origin=due.wanted.origin,
    )
    return found[0]["number"] if found else None


def origin_of(name: str) -> str:
    """What an entry of the queue says of where it is from."""
    return f"schedule {name}"


def _row(one: Schedule) -> Row:
    values = asdict(one)
    wanted = asdict(one.wanted)
    wanted |= {"origin": origin_of(one.name)}
    wanted |= {"request": one.wanted.request.model_dump(mode="json")}
    return {**values, "wanted": json.dumps(wanted)}


def _schedule(row: Row) -> Schedule:
    wanted: dict[str, Any] = json.loads(row["wanted"])
    read = {
        "request": RunRequest.model_validate(wanted["request"]),
        "priority": Priority(wanted["priority"]),
        "drives": tuple(wanted["drives"]),
    }
    return Schedule(**{**row, "wanted": QueueEntry(**{**wanted, **read})})
