"""Drives that the lab names: reserved for a person, or out of service."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from ioplan_lab.desk.database import DeskDatabase, stamp, time_in_words
from ioplan_lab.desk.errors import DeskError, Missing, Refused
from ioplan_lab.desk.queue.permissions import PERMISSIONS, PROJECTS, Permissions
from ioplan_lab.desk.queue.tables import insert, locked, next_number
from ioplan_lab.desk.tags import TAGS

GONE = "SELECT name, gone_since FROM desk_host_drive WHERE gone_since <> ''"
DriveState = Literal["free", "busy", "reserved", "out of service"]


class Reservation(Struct, frozen=True):
    """A drive for one person, for a time; times are UTC, ISO 8601."""

    number: int
    drive: str
    person: str
    since: str
    until: str
    why: str

    def holds(self, now: str) -> bool:
        """Whether it is now."""
        return self.since <= now < self.until

    @property
    def text(self) -> str:
        """In a few words."""
        why = f": {self.why}" if self.why else ""
        return f"reserved by {self.person} until {time_in_words(self.until)}{why}"


class OutOfService(Struct, frozen=True):
    """A drive that nothing is started on."""

    drive: str
    reason: str
    person: str
    at: str

    @property
    def text(self) -> str:
        """In a few words."""
        return f"out of service: {self.reason} ({self.person}, {self.at[:10]})"


class DriveStates(Struct, frozen=True):
    """All that closes drives."""

    reservations: tuple[Reservation, ...] = ()
    out: dict[str, OutOfService] = {}
    gone: dict[str, str] = {}
    """Since when, of drives that their hosts do not find; they are not closed."""
    permissions: Permissions = Permissions()

    def closed_to(self, drive: str, person: str, now: str) -> str:
        """Why nothing of this person is started on it; empty if it may be."""
        if found := self.out.get(drive):
            return found.text
        if refused := self.permissions.refused(drive, person):
            return refused
        held = self.reservation(drive, now)
        return held.text if held and held.person != person else ""

    def reservation(self, drive: str, now: str) -> Reservation | None:
        """Whose it is now."""
        held = (r for r in self.reservations if r.drive == drive and r.holds(now))
        return next(held, None)

    def state(self, drive: str, busy: Iterable[str], now: str) -> DriveState:
        """The drive's state; `busy` are those that something runs on."""
        if drive in self.out:
            return "out of service"
        if drive in busy:
            return "busy"
        return "reserved" if self.reservation(drive, now) else "free"


class Drives:
    """The drives' states in the desk's tables. Every method may raise StoreError."""

    def __init__(self, database: DeskDatabase) -> None:
        self.database = database

    def states(self) -> DriveStates:
        """What closes drives now or later."""
        with self.database.reading() as connection:
            held = connection.rows(
                "SELECT * FROM desk_reservation WHERE until > :now ORDER BY since",
                now=stamp(),
            )
            out = connection.rows("SELECT * FROM desk_out_of_service ORDER BY drive")
            gone = connection.rows(GONE)
            pairs = (TAGS, PERMISSIONS, PROJECTS)
            permissions = Permissions(*(one.all(connection) for one in pairs))
        return DriveStates(
            tuple(Reservation(**row) for row in held),
            {row["drive"]: OutOfService(**row) for row in out},
            {row["name"]: row["gone_since"] for row in gone},
            permissions,
        )

    def reserve(
        self, drives: Sequence[str], person: str, since: str, until: str, why: str
    ) -> None:
        """Reserve all or none. Raises DeskError where another person has one."""
        if until <= max(since, stamp()):
            raise DeskError(f"the reservation ends at {until}, before it begins")
        permissions = self.states().permissions
        for drive in drives:
            if refused := permissions.refused(drive, person):
                raise Refused(f"{drive} is {refused}")
        with self.database.writing() as connection:
            locked(connection, "drives", waits=True)
            for drive in drives:
                query = """
                    SELECT * FROM desk_reservation WHERE drive = :drive
                    AND until > :since AND since < :until AND person <> :person"""
                spans = {"since": since, "until": until}
                taken = connection.rows(query, drive=drive, person=person, **spans)
                if taken:
                    raise DeskError(f"{drive} is {Reservation(**taken[0]).text}")
                number = next_number(connection, "desk_reservation")
                row = {"number": number, "drive": drive, "person": person, **spans}
                insert(connection, "desk_reservation", {**row, "why": why})

    def release(self, drives: Sequence[str], person: str, any_persons: bool) -> int:
        """End reservations; returns how many. Those of others only if so asked."""
        whose = "" if any_persons else " AND person = :person"
        statement = f"DELETE FROM desk_reservation WHERE drive = :drive{whose}"
        named = {} if any_persons else {"person": person}
        with self.database.writing() as connection:
            return sum(
                connection.change(statement, {"drive": drive, **named})
                for drive in drives
            )

    def take_out(self, drives: Sequence[str], person: str, reason: str) -> None:
        """Nothing is started on them any more; what runs there goes on."""
        if not reason.strip():
            raise DeskError("give the reason why the drive is out of service")
        with self.database.writing() as connection:
            for drive in drives:
                connection.change(
                    "DELETE FROM desk_out_of_service WHERE drive = :drive",
                    {"drive": drive},
                )
                row = {"drive": drive, "reason": reason.strip(), "person": person}
                insert(connection, "desk_out_of_service", {**row, "at": stamp()})

    def put_back(self, drives: Sequence[str]) -> None:
        """Put them back into service. Raises Missing for one that is in service."""
        with self.database.writing() as connection:
            for drive in drives:
                done = connection.change(
                    "DELETE FROM desk_out_of_service WHERE drive = :drive",
                    {"drive": drive},
                )
                if not done:
                    raise Missing(f"{drive} is not out of service")
