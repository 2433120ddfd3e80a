"""Web hooks: who is told when a job of the queue has ended, and what is on its way.

A delivery is made in the transaction that ends the job, so none is lost, and is tried
until it is taken or a day has passed. One may come twice: its number stays the same.
"""

from __future__ import annotations

import ipaddress
import json
import secrets
import socket
from collections.abc import Sequence
from datetime import timedelta
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from ioplan.results.store import Connection, Row
from ioplan_lab.desk.database import DeskDatabase, stamp
from ioplan_lab.desk.errors import DeskError, Missing
from ioplan_lab.desk.queue.entry import Entry
from ioplan_lab.desk.queue.tables import insert, locked, next_number

# Where a web hook may go: not to what only the desk's own host can reach.
#
# A hook makes the desk call an address. Its host's loopback, link-local addresses and
# the metadata services of clouds answer nobody else, so they are refused unless an
# admin allows this hook to go inside. Names are looked up once for each delivery, and
# the address that was checked is the one that is called.

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
METADATA = frozenset(
    map(
        ipaddress.ip_address,
        ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16"),
    )
)
NAT64 = ipaddress.ip_network("64:ff9b::/96")
MOST_URL = 2000
PORTS = {"http": 80, "https": 443}


class HookUrl(Struct, frozen=True):
    """The parts of a hook's address."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def host_header(self) -> str:
        """As HTTP names it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def parts_of(url: str) -> HookUrl:
    """Raises DeskError for what is no address of a web server."""
    try:
        found = urlsplit(url)
        port = found.port
    except ValueError as error:
        raise DeskError(f"{url!r} is no address: {error}") from None
    plain = url.isascii() and url.isprintable() and " " not in url
    if not plain or len(url) > MOST_URL or found.scheme not in PORTS:
        raise DeskError(f"{url!r} is not an address such as https://host.example/path")
    if not found.hostname or found.username is not None or found.fragment:
        raise DeskError("a hook's address has a host, and no password or fragment")
    path = (found.path or "/") + (f"?{found.query}" if found.query else "")
    usual = PORTS[found.scheme] if port is None else port
    return HookUrl(found.scheme, found.hostname, usual, path)


def checked_address(url: HookUrl, inside: bool) -> str:
    """The address to connect to. Raises DeskError, OSError where there is none.

    All that the name stands for must be allowed: who answers with two addresses does
    not get one through.
    """
    try:
        found = socket.getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a label that is empty, or too long
        raise DeskError(f"{url.host!r} is not a host name: {error}") from None
    addresses = [str(one[4][0]) for one in found]
    for one in addresses:
        if why := refusal(one, inside):
            raise DeskError(
                f"{url.host} is {one}, {why}; an admin can allow that with --inside"
            )
    return addresses[0]


def refusal(address: str, inside: bool) -> str:
    """Why an address is not called; empty if it may be."""
    known = _innermost(ipaddress.ip_address(address.partition("%")[0]))
    if known.is_unspecified or known.is_multicast:
        return "which is not a host"
    if inside:
        return ""
    if known in METADATA:
        return "a metadata service"
    if known.is_loopback:
        return "the desk's own host"
    if known.is_link_local:
        return "a link-local address"
    return "a reserved address" if known.is_reserved else ""


def _innermost(address: Address) -> Address:
    """The IPv4 address that is in one of IPv6."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    inner = address.ipv4_mapped or address.sixtofour
    if address.teredo:
        inner = address.teredo[1]
    if address in NAT64 or (int(address) >> 32 == 0 and int(address) > 1):
        inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return inner or address


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
