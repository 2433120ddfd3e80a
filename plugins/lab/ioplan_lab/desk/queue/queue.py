"""The queue in the desk's tables: people add to it, desks take from it.

Several desks may share a database. Who decides what is started holds one lock for
that moment, and what it takes is `starting` under its name before anything is
started, with the id of its job. So an entry is started once, or is `unknown` when the
desk that was starting it is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from ioplan.records import new_session_id
from ioplan.results.store import Connection
from ioplan_lab.desk.database import DeskDatabase, stamp
from ioplan_lab.desk.errors import DeskError, Missing, Refused
from ioplan_lab.desk.queue.decide import Decision, decisions, use_of
from ioplan_lab.desk.queue.drives import Drives, DriveStates
from ioplan_lab.desk.queue.entry import (
    HOLDING,
    OPEN,
    Entry,
    Priority,
    QueueEntry,
    State,
    entry_of,
    row_of,
)
from ioplan_lab.desk.queue.tables import insert, locked, next_number

LEASE = timedelta(minutes=2)
"""How long a desk may say nothing before it is taken for lost."""
SERVED = """
    SELECT person, MAX(job) AS job FROM desk_queue
    WHERE job <> '' GROUP BY person"""

Announce = Callable[[Connection, Entry, str], None]


def nobody(connection: Connection, entry: Entry, message: str) -> None:
    """Nobody is told."""


def _words(states: Sequence[str]) -> str:
    return ", ".join(f"'{one}'" for one in states)


class Queue:
    """Every method may raise StoreError."""

    def __init__(self, database: DeskDatabase, announce: Announce = nobody) -> None:
        """`announce` has a part in the transaction that ends an entry."""
        self.database, self.announce = database, announce

    # ---- what people do

    def add(self, wanted: QueueEntry) -> int:
        """Add an entry; returns its number."""
        with self.database.writing() as connection:
            return add_to(connection, wanted)

    def entry(self, number: int) -> Entry:
        """An entry. Raises Missing."""
        with self.database.reading() as connection:
            return _entry(connection, number)

    def waiting(self) -> list[Decision]:
        """What waits, in the order in which it is started, and for what."""
        drives = Drives(self.database).states()
        with self.database.reading() as connection:
            return _decided(connection, drives)

    def held(self) -> list[Entry]:
        """What was started and has not ended, the oldest first."""
        with self.database.reading() as connection:
            return _entries(connection, HOLDING)

    def ended(self, limit: int = 20) -> list[Entry]:
        """What ended last, the last first."""
        with self.database.reading() as connection:
            rows = connection.rows(
                f"""SELECT * FROM desk_queue WHERE state NOT IN ({_words(OPEN)})
                    ORDER BY ended_at DESC, number DESC LIMIT :limit""",
                limit=limit,
            )
        return [entry_of(row) for row in rows]

    def cancel(self, number: int, person: str) -> State:
        """Cancel what waits; what runs is ended by its desk. Returns the new state.

        What is unknown is closed: the person has looked. Raises DeskError, Missing.
        """
        with self.database.writing() as connection:
            locked(connection, "queue", waits=True)
            entry = _entry(connection, number)
            if entry.state == "starting":
                raise DeskError(f"#{number} is being started; try again in a moment")
            if entry.state not in OPEN:
                raise DeskError(f"#{number} is {entry.state} already")
            if entry.state == "running":
                _set(connection, number, cancelled_by=person)
                return "running"
            ended = {"state": "cancelled", "ended_at": stamp(), "cancelled_by": person}
            _set(connection, number, **ended)
        return "cancelled"

    def move(self, number: int, priority: Priority | None, first: bool) -> None:
        """Give what waits another priority, or make it the first of its priority.

        Raises DeskError, Missing.
        """
        with self.database.writing() as connection:
            locked(connection, "queue", waits=True)
            entry = _entry(connection, number)
            if entry.state != "waiting":
                raise DeskError(f"#{number} is {entry.state}, and no longer waiting")
            found = connection.rows("SELECT MIN(position) AS front FROM desk_queue")
            front = int(found[0]["front"] or 0) - 1 if first else 0
            chosen = entry.priority if priority is None else priority
            _set(connection, number, priority=int(chosen), position=front)

    # ---- what desks do

    def take(self, desk: str) -> Entry | None:
        """The next entry, now `starting` under this desk's name and with a job's id.

        None if nothing may be started, or another desk decides at this moment.
        """
        drives = Drives(self.database).states()
        with self.database.writing() as connection:
            if not locked(connection, "queue", waits=False):
                return None
            found = (one for one in _decided(connection, drives) if not one.waits)
            chosen = next(found, None)
            if chosen is None:
                return None
            number = chosen.entry.number
            begun = {"state": "starting", "desk": desk, "job": new_session_id()}
            _set(connection, number, **begun, lease=stamp(LEASE), started_at=stamp())
            return _entry(connection, number)

    def started(self, entry: Entry) -> None:
        """Its job is there."""
        self._turn(entry, "running", "")

    def end(self, entry: Entry, message: str) -> None:
        """It has ended; the message says how."""
        state: State = "cancelled" if entry.cancelled_by else "ended"
        self._turn(entry, state, message)

    def _turn(self, entry: Entry, state: State, message: str) -> None:
        ended = {} if state == "running" else {"ended_at": stamp()}
        values = {"state": state, "message": message, "lease": stamp(LEASE), **ended}
        with self.database.writing() as connection:
            if not _entry(connection, entry.number).holds:  # a person has closed it
                return
            _set(connection, entry.number, **values)
            if state != "running":
                self.announce(connection, entry, message)

    def of(self, desk: str) -> list[Entry]:
        """What this desk started, and has not seen end; they stay its own."""
        with self.database.writing() as connection:
            connection.change(
                f"""UPDATE desk_queue SET lease = :lease
                    WHERE desk = :desk AND state IN ({_words(HOLDING)})""",
                {"lease": stamp(LEASE), "desk": desk},
            )
            return [one for one in _entries(connection, HOLDING) if one.desk == desk]

    def give_up_lost(self) -> None:
        """What a desk has that says nothing any more is unknown.

        The desk takes it up again when it is back.
        """
        with self.database.writing() as connection:
            for entry in _entries(connection, ("starting", "running")):
                if entry.lease < stamp():
                    _set(
                        connection, entry.number, state="unknown", message=_lost(entry)
                    )


def _lost(entry: Entry) -> str:
    was = (
        "was lost while it was starting this"
        if entry.state == "starting"
        else "is lost"
    )
    return (
        f"the desk {entry.desk} {was}; look there: ioplan status {entry.job}, or start "
        f"the desk again"
    )


def add_to(connection: Connection, wanted: QueueEntry) -> int:
    """Add an entry as a part of something else; returns its number."""
    locked(connection, "queue", waits=True)
    number = next_number(connection, "desk_queue")
    insert(connection, "desk_queue", row_of(wanted, number, stamp()))
    return number


def _decided(connection: Connection, drives: DriveStates) -> list[Decision]:
    served = {row["person"]: row["job"] for row in connection.rows(SERVED)}
    entries = _entries(connection, OPEN)
    return decisions(entries, drives, served, stamp(), use_of(connection))


def _entries(connection: Connection, states: Sequence[str]) -> list[Entry]:
    rows = connection.rows(
        f"SELECT * FROM desk_queue WHERE state IN ({_words(states)}) ORDER BY number"
    )
    return [entry_of(row) for row in rows]


def _entry(connection: Connection, number: int) -> Entry:
    found = connection.rows("SELECT * FROM desk_queue WHERE number = :n", n=number)
    if not found:
        raise Missing(f"the queue has no #{number}")
    return entry_of(found[0])


def _set(connection: Connection, number: int, **values: object) -> None:
    assigned = ", ".join(f"{name} = :{name}" for name in values)
    statement = f"UPDATE desk_queue SET {assigned} WHERE number = :number"
    if not connection.change(statement, {**values, "number": number}):
        raise Refused(f"the database lets nobody but its project change #{number}")
