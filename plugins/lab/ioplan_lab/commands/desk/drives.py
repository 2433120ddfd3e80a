"""`ioplan lab drives`, `reserve` and `drive`: who may have plans started on what."""

from __future__ import annotations

import json as json_text
from datetime import UTC
from pathlib import Path

from msgspec.structs import asdict

from ioplan.cli.display.listing import print_listing
from ioplan.cli.display.output import print_line
from ioplan.cli.errors import UsageError
from ioplan.core.text import counted
from ioplan.runner.lab.lab_file import read_lab
from ioplan.runner.session.person import login_name
from ioplan_lab.cluster.jobs.lane_folder import lanes_root
from ioplan_lab.commands.desk.consent import usable_moment
from ioplan_lab.commands.desk.open_desk import desk_database
from ioplan_lab.desk.clock import stamp, time_in_words
from ioplan_lab.desk.database import DeskDatabase
from ioplan_lab.desk.inventory import Busy, Inventory, ReportedLane, lanes_here
from ioplan_lab.desk.queue.ask import drives_named
from ioplan_lab.desk.queue.drives import Drives
from ioplan_lab.desk.queue.overview import drive_rows
from ioplan_lab.desk.queue.queue import Queue
from ioplan_lab.desk.tags import DriveTags


def list_drives(lab: Path | None, json: bool) -> None:
    """Print each drive of the lab. Raises LabError, StoreError."""
    known = read_lab(lab)
    with desk_database(lab) as database:
        states, queue = Drives(database).states(), Queue(database)
        rows = drive_rows(known, states, queue, Busy(lanes_now(database)))
    if json:
        for row in rows:
            print_line(json_text.dumps(asdict(row)))
        return
    cells = ((row.drive, row.host, row.state, row.why) for row in rows)
    print_listing(("drive", "host", "state", ""), cells)


def lanes_now(database: DeskDatabase) -> list[ReportedLane]:
    """All of the lab; without a database that it shares, all are of this host.

    Raises StoreError.
    """
    if told := Inventory(database).running():
        return told
    try:
        return lanes_here(lanes_root())
    except (OSError, ValueError):  # none was started yet, or one is being removed
        return []


def reserve(
    *,
    drives: list[str],
    until: str | None,
    since: str | None,
    why: str | None,
    release: bool,
    lab: Path | None,
) -> None:
    """Raises UsageError, DeskError, LabError, StoreError."""
    if release == bool(until):
        raise UsageError("add --until DATE or --release")
    names = drives_named(read_lab(lab), drives)
    with desk_database(lab) as database:
        held = Drives(database)
        if release:
            ended = held.release(names, login_name(), any_persons=False)
            print_line(f"{counted(ended, 'reservation')} ended")
            return
        begin = _stamp(since, "--from") if since else stamp()
        end = _stamp(until or "", "--until")
        held.reserve(names, login_name(), begin, end, why or "")
    print_line(
        f"{', '.join(names)}: reserved by {login_name()} until {time_in_words(end)}"
    )


def _stamp(word: str, name: str) -> str:
    return f"{usable_moment(word, name).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def service(
    drives: list[str],
    out_of_service: str | None,
    in_service: bool,
    tag: list[str],
    untag: list[str],
    lab: Path | None,
) -> None:
    """Raises UsageError, DeskError, Missing, LabError, StoreError."""
    asked = sum((in_service, out_of_service is not None, bool(tag or untag)))
    if asked != 1:
        raise UsageError(
            "add --out-of-service REASON or --in-service, or --tag and --untag"
        )
    names = drives_named(read_lab(lab), drives)
    with desk_database(lab) as database:
        if tag or untag:
            DriveTags(database).change(names, tag, untag)
            known = DriveTags(database).all()
            for name in names:
                print_line(f"{name}: {', '.join(known.get(name, ())) or 'no tag'}")
            return
        if in_service:
            Drives(database).put_back(names)
        else:
            Drives(database).take_out(names, login_name(), out_of_service or "")
    print_line(f"{', '.join(names)}: {'in' if in_service else 'out of'} service")
