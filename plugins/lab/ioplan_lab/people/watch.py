"""How jobs are: what the database says now, or what it said when it was last asked."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct
from rich.console import Console
from rich.console import Group as RichGroup
from rich.text import Text

from ioplan.cli import INTERRUPTED, NOT_DELIVERED, listing, print_line, print_message
from ioplan.core import (
    StoreFault,
    counted,
    iops_text,
    latency_text,
    percent_text,
    time_text,
)
from ioplan.core.state_folder import state_folder
from ioplan.results.store import StoreError
from ioplan_lab.database.connection import LabDatabase, Row, lab_database
from ioplan_lab.host.drive_job import OPEN

LOOK_S, DELIVERY_S = 2.0, 60.0
EXIT = {"ok": 0, "unmet": 1, "stopped": 130, "refused": 2}
FAILED = 3
GRAVITY = (0, 1, 130, 2, 3)
OF_JOB = "SELECT * FROM lab.v_drive_job WHERE job = %s ORDER BY session"
LAST = "last"
LAST_JOB = """SELECT id FROM lab.job WHERE id LIKE %s || '%%'
    ORDER BY submitted_at DESC LIMIT %s"""


def drive_jobs(database: LabDatabase, job: str) -> list[Row]:
    """The drive jobs of a job, kept for when the database does not answer."""
    rows = database.rows(OF_JOB, job)
    remember(job, rows)
    return rows


# ---- what was known last


def remember(job: str, rows: Sequence[Row]) -> None:
    """Counts of a job, in this user's state folder; never fails."""
    counts = {"stored": stored(rows), "total": total(rows), "at_s": time.time()}
    with suppress(OSError):
        for name in (job, LAST):
            file = _file(name)
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file.write_text(json.dumps({"job": job, **counts}))


def remembered(job: str) -> dict[str, Any] | None:
    """These counts; None where the job was never asked for here."""
    with suppress(OSError, ValueError):
        return dict(json.loads(_file(job).read_text()))
    return None


def _file(job: str) -> Path:
    return state_folder() / "lab" / f"{job.replace('/', '_')}.json"


def unknown_text(job: str) -> str:
    """What can be said of a job while the database does not answer."""
    known = remembered(job)
    if known is None:
        return f"{job}: unknown; never asked here"
    ago = time_text(max(0.0, time.time() - known["at_s"]))
    return (
        f"runs stored: unknown; {known['stored']} of {known['total']} when last asked, "
        f"{ago} ago"
    )


# ---- in words


def print_json(rows: Sequence[Row]) -> None:
    """A line for each row."""
    for row in rows:
        print_line(json.dumps(row, default=str))


def stored(rows: Sequence[Row]) -> int:
    """How many runs the database has."""
    return sum(row["stored"] for row in rows)


def total(rows: Sequence[Row]) -> int:
    """How many runs there are to be, as far as is known."""
    return sum(row["total"] for row in rows)


def stored_text(rows: Sequence[Row], where: str) -> str:
    """As "22 of 24 runs stored in postgresql://…"."""
    return f"{stored(rows)} of {total(rows)} runs stored in {where}"


HEADINGS = ("host", "drives", "status", "done", "runs", "IOPS", "p99", "left")


def table(rows: Sequence[Row]) -> Any:
    """A line for each drive job, and below what is to be said of some."""
    messages = [
        Text(f"{name_of(row)}: {message}")
        for row in rows
        if (message := message_of(row))
    ]
    left_out = 0 if any(row["host"] for row in rows) else 1
    cells = [_cells(row)[left_out:] for row in rows]
    return RichGroup(listing(HEADINGS[left_out:], cells), *messages)


def name_of(row: Row) -> str:
    """Of a drive job, for people."""
    return f"{row['host']} {row['drives']}".strip()


def _cells(row: Row) -> tuple[str, ...]:
    is_live = row["status"] == "running"
    return (
        row["host"],
        row["drives"],
        row["status"],
        percent_text(100 * row["done"]) if row["status"] in (*OPEN, "unknown") else "",
        f"{row['stored']} of {row['total']}",
        iops_text(row["iops"]) if is_live and row["iops"] else "",
        latency_text(row["p99_ns"]) if is_live and row["p99_ns"] else "",
        time_text(row["left_s"]) if is_live and row["left_s"] else "",
    )


def message_of(row: Row) -> str:
    """Why it is as it is."""
    if row["status"] == "unknown":
        ago = time_text(row["silent_s"])
        done = percent_text(100 * row["done"])
        return f"last seen {row['last_status']} {done}, {ago} ago"
    if row["status"] == "waiting" and row["silent_s"] > 30:
        return f"for {row['host']}, which does not report"
    return str(row["message"])


def has_ended(rows: Sequence[Row]) -> bool:
    """Whether all drive jobs have."""
    return all(row["last_status"] not in OPEN for row in rows)


def exit_code(rows: Sequence[Row]) -> int:
    """Of the gravest drive job; 4 while results are missing."""
    codes = [EXIT.get(row["last_status"], FAILED) for row in rows]
    worst = max(codes, key=GRAVITY.index, default=0)
    missing = stored(rows) < total(rows)
    return NOT_DELIVERED if missing and not worst else worst


# ---- until it ends


class Watched(Struct, frozen=True):
    """A job that is watched: how it is asked for, and where its results come to."""

    job: str
    look: Callable[[], list[Row]]
    where: str
    look_s: float = LOOK_S
    delivery_s: float = DELIVERY_S


def watched_at(address: str, job: str) -> Watched:
    """A job of the lab."""

    def look() -> list[Row]:
        with lab_database(address) as database:
            return drive_jobs(database, job)

    return Watched(job, look, "the lab")


def watched(console: Console, address: str, job: str) -> int:
    """A job of the lab, until it ends; Ctrl-C cancels it."""
    try:
        return watch(console, watched_at(address, job))
    except KeyboardInterrupt:
        with lab_database(address) as database:
            open = database.call("cancel", job)
        print_message(cancelled_text(job, open))
        return INTERRUPTED


def cancelled_text(job: str, open: int) -> str:
    """What came of it: what has ended is not told how to go on."""
    if not open:
        return f"job {job} has ended already; nothing is cancelled"
    count = counted(open, "drive job")
    return f"{count} of {job} cancelled; to continue: ioplan resume {job}"


def watch(console: Console, of: Watched) -> int:
    """Until the job has ended and its results are stored; returns the exit code."""
    rows, ended_s, ended = list[Row](), 0.0, set[str]()
    with console.status("") as live:
        while not is_complete(rows, ended_s, of.delivery_s):
            rows, text = seen(of)
            live.update(text)
            print_ends(console, rows, ended)
            if rows and has_ended(rows):
                ended_s = ended_s or time.monotonic()
            if not is_complete(rows, ended_s, of.delivery_s):
                time.sleep(of.look_s)
    console.print(table(rows))
    console.print(stored_text(rows, of.where), soft_wrap=True)
    code = exit_code(rows)
    if code == NOT_DELIVERED:
        print_message("note: the missing results are kept, and will be sent")
    return code


def print_ends(console: Console, rows: Sequence[Row], ended: set[str]) -> None:
    """A line for each drive job that has ended since."""
    for row in rows:
        status, session = row["last_status"], row["session"]
        if status in OPEN or session in ended:
            continue
        ended.add(session)
        if status == "ok":
            console.print(f"{name_of(row)}: ok", soft_wrap=True)
        else:
            print_message(f"{name_of(row)}: {status}: {row['message']}".rstrip(": "))


def seen(of: Watched) -> tuple[list[Row], Any]:
    """The drive jobs, and what is shown of them; none while the database is away."""
    try:
        rows = of.look()
    except StoreError as error:
        if error.kind != StoreFault.STORE_UNREACHABLE:
            raise
        return [], f"{error}\n{unknown_text(of.job)}"
    return rows, table(rows)


def is_complete(rows: Sequence[Row], ended_s: float, most_s: float) -> bool:
    """Whether all has ended, and is stored or was waited for long enough."""
    if not rows or not has_ended(rows):
        return False
    waited_s = time.monotonic() - ended_s if ended_s else -1.0
    return stored(rows) >= total(rows) or waited_s >= most_s
