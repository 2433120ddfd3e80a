"""Web hooks: who is told when a job of the queue has ended, and what is on its way.

A delivery is made in the transaction that ends the job, so none is lost, and is tried
until it is taken or a day has passed. One may come twice: its number stays the same.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from msgspec import Struct

from ioplan.results.store.connection import Connection, Row
from ioplan_lab.desk.clock import stamp
from ioplan_lab.desk.database import DeskDatabase
from ioplan_lab.desk.errors import DeskError, Missing
from ioplan_lab.desk.hooks.address import checked_address, parts_of
from ioplan_lab.desk.queue.entry import Entry
from ioplan_lab.desk.queue.tables import insert, locked, next_number

Event = Literal["ended", "failed", "unmet"]
EVENTS: dict[str, str] = {
    "ended": "a job has ended, for any reason",
    "failed": "a job was refused, or a lane of it failed or died",
    "unmet": "an expectation was not met or not judged",
}
FAILED = ("failed", "died", "refused")
KEPT = timedelta(days=30)
"""What was delivered, or given up, is kept so long to look at."""
FIRST_S, LONGEST_S, TRIES = 10, 3600, 30
"""Each wait is twice the one before, up to an hour: 30 tries take a day."""


class Hook(Struct, frozen=True):
    """Who is told of what. `secret` signs; `inside` lets it go where only the desk can.

    Times are UTC, ISO 8601.
    """

    number: int
    url: str
    events: tuple[str, ...]
    secret: str
    inside: bool
    person: str
    at: str


class Delivery(Struct, frozen=True):
    """A body on its way: `waiting`, `delivered`, or `given up`."""

    number: int
    hook: int
    event: str
    body: str
    made_at: str
    attempts: int
    next_at: str
    state: str
    answer: str


class Hooks:
    """Every method may raise StoreError."""

    def __init__(self, database: DeskDatabase) -> None:
        self.database = database

    def all(self) -> list[Hook]:
        """By number."""
        with self.database.reading() as connection:
            rows = connection.rows("SELECT * FROM desk_hook ORDER BY number")
        return [_hook(row) for row in rows]

    def add(self, url: str, events: Sequence[str], inside: bool, person: str) -> Hook:
        """The hook with its secret. Raises DeskError for where it may not go."""
        unknown = [one for one in events if one not in EVENTS]
        if unknown or not events:
            raise DeskError(f"events of a hook: {', '.join(EVENTS)}")
        try:
            checked_address(parts_of(url), inside)
        except OSError as error:
            raise DeskError(f"the host of {url} is not found: {error}") from error
        with self.database.writing() as connection:
            locked(connection, "hooks", waits=True)
            row = {
                "number": next_number(connection, "desk_hook"),
                "url": url,
                "events": ",".join(events),
                "secret": secrets.token_hex(32),
                "inside": int(inside),
                "person": person,
                "at": stamp(),
            }
            insert(connection, "desk_hook", row)
        return _hook(row)

    def remove(self, number: int) -> None:
        """With what it has yet to deliver. Raises Missing."""
        with self.database.writing() as connection:
            locked(connection, "hooks", waits=True)  # nobody adds deliveries meanwhile
            values = {"number": number}
            statement = "DELETE FROM desk_hook WHERE number = :number"
            if not connection.change(statement, values):
                raise Missing(f"there is no hook {number}")
            connection.change("DELETE FROM desk_delivery WHERE hook = :number", values)

    def deliveries(self, limit: int = 50) -> list[Delivery]:
        """The newest first."""
        query = "SELECT * FROM desk_delivery ORDER BY number DESC LIMIT :limit"
        with self.database.reading() as connection:
            return [Delivery(**row) for row in connection.rows(query, limit=limit)]

    def states(self) -> dict[str, int]:
        """How many deliveries are in each state."""
        query = "SELECT state, count(*) AS many FROM desk_delivery GROUP BY state"
        with self.database.reading() as connection:
            return {row["state"]: row["many"] for row in connection.rows(query)}

    def take(self) -> tuple[Hook, Delivery] | None:
        """What is due, which counts as tried and fails unless it is said otherwise."""
        with self.database.writing() as connection:
            if not locked(connection, "hooks", waits=False):
                return None
            found = connection.rows(
                """SELECT * FROM desk_delivery WHERE state = 'waiting'
                   AND next_at <= :now ORDER BY next_at LIMIT 1""",
                now=stamp(),
            )
            if not found:
                return None
            due = Delivery(**found[0])
            values = {"next": stamp(wait_after(due.attempts)), "number": due.number}
            connection.change(
                """UPDATE desk_delivery SET attempts = attempts + 1, next_at = :next
                   WHERE number = :number""",
                values,
            )
            query = "SELECT * FROM desk_hook WHERE number = :number"
            return _hook(connection.rows(query, number=due.hook)[0]), due

    def tried(self, due: Delivery, taken: bool, answer: str) -> None:
        """What came of it."""
        over = due.attempts + 1 >= TRIES
        state = "delivered" if taken else "given up" if over else "waiting"
        old = {"old": stamp(-KEPT)}
        with self.database.writing() as connection:
            connection.change(
                """UPDATE desk_delivery SET state = :state, answer = :answer
                   WHERE number = :number""",
                {"state": state, "answer": answer[:200], "number": due.number},
            )
            connection.change(
                """DELETE FROM desk_delivery
                   WHERE state <> 'waiting' AND made_at < :old""",
                old,
            )


def wait_after(attempts: int) -> timedelta:
    """How long until the next try."""
    return timedelta(seconds=min(LONGEST_S, FIRST_S * 2 ** min(attempts, 20)))


def announce(connection: Connection, entry: Entry, message: str) -> None:
    """Make the deliveries of a job that ends, in the transaction that ends it."""
    event, hooks = event_of(message), []
    locked(connection, "hooks", waits=True)
    for row in connection.rows("SELECT * FROM desk_hook"):
        hook = _hook(row)
        if event in hook.events or "ended" in hook.events:
            hooks.append(hook)
    if not hooks:
        return
    body = json.dumps(_body(entry, event, message))
    for hook in hooks:
        row = {
            "number": next_number(connection, "desk_delivery"),
            "hook": hook.number,
            "event": event,
            "body": body,
            "made_at": stamp(),
            "attempts": 0,
            "next_at": stamp(),
            "state": "waiting",
            "answer": "",
        }
        insert(connection, "desk_delivery", row)


def event_of(message: str) -> Event:
    """What a job came to, by the status that its message begins with."""
    status = message.partition(":")[0]
    if status in FAILED:
        return "failed"
    return "unmet" if status == "unmet" else "ended"


def _body(entry: Entry, event: Event, message: str) -> dict[str, object]:
    names = ("number", "plan", "target", "drives", "person", "job", "started_at")
    known = {name: getattr(entry, name) for name in names}
    return {"event": event, **known, "outcome": message, "ended_at": stamp()}


def _hook(row: Row) -> Hook:
    read = {"events": tuple(row["events"].split(",")), "inside": bool(row["inside"])}
    return Hook(**{**row, **read})
