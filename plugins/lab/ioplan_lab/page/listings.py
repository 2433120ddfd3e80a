"""The pages of the lab as tables: a view, and what is shown of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from ioplan.cli import UsageError
from ioplan.core import bytes_text, iops_text, latency_text, percent_text, time_text
from ioplan.records import outcome_text
from ioplan_lab.database.connection import LabDatabase, Row
from ioplan_lab.people.watch import message_of

AT_ONCE = 50
MOST_SEARCHED = 100


class Cell(Struct, frozen=True):
    """A text; a link leads to another page, `kind` colours it."""

    text: str
    link: str = ""
    kind: str = ""


class Listing(Struct, frozen=True):
    """A page: `columns` are headings, `searched` the columns that have the words."""

    title: str
    path: str
    view: str
    order: str
    columns: tuple[str, ...]
    cells: Callable[[Row], Sequence[Cell]]
    searched: tuple[str, ...]
    key: str = "session"
    where: str = "true"

    def keys(self, database: LabDatabase, words: str, page: int) -> list[Any]:
        """The keys of a page of rows, and of one more if there is another page.

        Only these: what a view computes of rows that are not shown would take long.
        """
        found = words[:MOST_SEARCHED].split()
        texts = (f"coalesce({name}::text, '')" for name in self.searched)
        text = " || ' ' || ".join(texts)
        wanted = f" AND position(lower(%s) IN lower({text})) > 0" * len(found)
        query = f"""SELECT {self.key} AS key FROM {self.view} WHERE {self.where}{wanted}
            ORDER BY {self.order} LIMIT {AT_ONCE + 1} OFFSET %s"""
        rows = database.rows(query, *found, AT_ONCE * (page - 1))
        return [row["key"] for row in rows]

    def rows(self, database: LabDatabase, keys: list[Any]) -> list[Row]:
        """The rows of these keys; without those that the database cannot read."""
        query = f"""SELECT * FROM {self.view} WHERE {self.key} = ANY (%s)
            ORDER BY {self.order}"""
        try:
            return database.rows(query, keys)
        except UsageError:  # one of them is malformed
            return [row for key in keys for row in self._row(database, query, key)]

    def _row(self, database: LabDatabase, query: str, key: Any) -> list[Row]:
        try:
            return database.rows(query, [key])
        except UsageError:
            return []


class Line(Struct, frozen=True):
    """A row as it is shown; `key` is its session, for what is live."""

    key: str
    cells: tuple[Cell, ...]


def lines(listing: Listing, rows: Sequence[Row]) -> list[Line]:
    """The lines of a page, without rows that cannot be shown: none hides others."""
    made: list[Line] = []
    for row in rows:
        try:
            key = str(row.get("session") or "")
            made.append(Line(key, tuple(listing.cells(row))))
        except (ValueError, TypeError, KeyError, ArithmeticError):
            continue
    return made


def moment_text(value: Any) -> str:
    """A time in UTC, as it is read: 2026-11-22 15:45."""
    text = value.isoformat() if hasattr(value, "isoformat") else str(value or "")
    return text.replace("T", " ")[:16]


def live_texts(row: Row) -> list[str]:
    """What changes of a drive job while it runs, in the order of the columns."""
    is_live = row["status"] == "running"
    done = row["status"] in ("waiting", "running", "unknown")
    return [
        row["status"],
        percent_text(100 * row["done"]) if done else "",
        f"{row['stored']} of {row['total']}",
        iops_text(row["iops"]) if is_live and row["iops"] else "",
        latency_text(row["p99_ns"]) if is_live and row["p99_ns"] else "",
        f"{row['temperature_celsius']:.0f} °C" if row["temperature_celsius"] else "",
        time_text(row["left_s"]) if is_live and row["left_s"] else "",
        message_of(row) or (row["step"] if is_live else ""),
    ]


def _drive_job_cells(row: Row) -> list[Cell]:
    status, *texts = live_texts(row)
    return [
        Cell(row["job"], f"/sessions?q={quote(row['job'])}"),
        Cell(row["title"]),
        Cell(row["person"]),
        Cell(row["host"], f"/drives?q={quote(row['host'])}"),
        Cell(row["drives"]),
        Cell(status, kind=status),
        *map(Cell, texts),
    ]


NOW = Listing(
    title="Now",
    path="/",
    view="lab.v_drive_job",
    where="""(last_status IN ('waiting', 'running')
        OR ended_at > now() - interval '1 hour')""",
    order="(last_status = 'running') DESC, session DESC",
    columns=(
        *("job", "plan", "person", "host", "drive", "status", "done", "runs stored"),
        *("IOPS", "p99", "temperature", "left", ""),
    ),
    cells=_drive_job_cells,
    searched=("job", "title", "person", "host", "drives", "status"),
)
LIVE_FROM = 5
"""The first column of NOW that changes."""


def _drive_cells(row: Row) -> list[Cell]:
    reason = row["out_of_service"] or row["reserved_why"] or row["reason"]
    serial = row["serial"] or row["wwid"]
    return [
        Cell(f"{row['host']}/{row['name']}"),
        Cell(row["model"]),
        Cell(serial, f"/sessions?q={quote(serial)}" if serial else ""),
        Cell(row["firmware"]),
        Cell(bytes_text(row["size_bytes"]) if row["size_bytes"] else ""),
        Cell("" if row["life_used"] is None else f"{row['life_used']:.0f} %"),
        Cell(", ".join(row["tags"])),
        Cell(row["state"], kind=row["state"].replace(" ", "-")),
        Cell(row["busy_person"] or row["reserved_by"] or ""),
        Cell(moment_text(row["reserved_until"])),
        Cell(reason or ""),
    ]


DRIVES = Listing(
    title="Drives",
    path="/drives",
    view="lab.v_drive",
    order="host, name",
    key="host || '/' || name",
    columns=(
        *("drive", "model", "serial", "firmware", "size", "life used", "tags"),
        *("state", "by", "until", ""),
    ),
    cells=_drive_cells,
    searched=("host", "name", "model", "serial", "wwid", "firmware", "tags", "state"),
)


def _host_cells(row: Row) -> list[Cell]:
    silent_s = row["silent_s"]
    is_silent = silent_s is None or silent_s > 30
    seen = "never" if silent_s is None else f"{time_text(silent_s)} ago"
    state = Cell("silent", kind="silent") if is_silent else Cell("reports", kind="ok")
    return [
        Cell(row["name"], f"/drives?q={quote(row['name'])}"),
        state,
        Cell(seen),
        *(Cell(str(row[n])) for n in ("version", "drives", "running", "waiting")),
    ]


HOSTS = Listing(
    title="Hosts",
    path="/hosts",
    view="lab.v_host",
    order="name",
    key="name",
    columns=("host", "", "seen", "version", "drives", "running", "waiting"),
    cells=_host_cells,
    searched=("name", "version"),
)


def _queue_cells(row: Row) -> list[Cell]:
    texts = ("host", "place", "job", "title", "person", "drives", "priority")
    moments = ("submitted_at", "not_before")
    return [
        *(Cell(str(row[name])) for name in texts),
        *(Cell(moment_text(row[name])) for name in moments),
    ]


QUEUE = Listing(
    title="Queue",
    path="/queue",
    view="lab.v_queue",
    order="host, place",
    columns=(
        *("host", "place", "job", "plan", "person", "drive", "priority"),
        *("submitted", "not before"),
    ),
    cells=_queue_cells,
    searched=("job", "title", "person", "host", "drives"),
)


def _session_cells(row: Row) -> list[Cell]:
    return [
        Cell(row["session"], f"/report?session={quote(row['session'])}"),
        Cell(row["plan"]),
        Cell(row["drive"], f"/sessions?q={quote(row['drive'])}"),
        Cell(row["host"]),
        Cell(row["person"]),
        Cell(str(row["runs"])),
        Cell(outcome_text(row["verdict"]), kind=row["verdict"].replace(" ", "-")),
        Cell(row["status"], kind=row["status"]),
        Cell(moment_text(row["started_at"])),
        Cell("" if row["duration_s"] is None else time_text(row["duration_s"])),
    ]


SESSIONS = Listing(
    title="Sessions",
    path="/sessions",
    view="v_session",
    order="started_at DESC, session DESC",
    columns=(
        *("session", "plan", "drive", "host", "person", "runs", "verdict", "status"),
        *("started", "took"),
    ),
    cells=_session_cells,
    searched=("session", "plan", "drive", "serial", "host", "person", "tags", "note"),
)
LISTINGS = (NOW, DRIVES, HOSTS, QUEUE, SESSIONS)
