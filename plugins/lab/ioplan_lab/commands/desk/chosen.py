"""`--on` of `run` and `lab queue add`: targets by what their drives are."""

from __future__ import annotations

import json
import json as json_text
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import asdict

from ioplan.cli import (
    Terminal,
    UsageError,
    checked_plan,
    opened,
    plan_path,
    print_line,
    print_listing,
    print_message,
)
from ioplan.core import counted, moment, moment_text
from ioplan.results.store import Store, default_path
from ioplan.runner import login_name, read_lab
from ioplan.runner.guard import (
    Consent,
    consented_plan,
    key_path,
    make_key,
    read_list,
    sign,
)
from ioplan_lab.cluster.jobs.lane_folder import lanes_root
from ioplan_lab.commands.desk.open_desk import desk_database
from ioplan_lab.desk.database import DeskDatabase, stamp, time_in_words
from ioplan_lab.desk.inventory import Busy, Inventory, ReportedLane, lanes_here
from ioplan_lab.desk.queue.ask import drives_named
from ioplan_lab.desk.queue.drives import Drives
from ioplan_lab.desk.queue.overview import drive_rows
from ioplan_lab.desk.queue.queue import Queue
from ioplan_lab.desk.selection import targets_on
from ioplan_lab.desk.tags import DriveTags

# `ioplan lab consent`: signed lists of the drives that may be overwritten.


def print_key(name: str | None) -> None:
    """Print this user's public key as a lab file names it. Raises ConsentListError."""
    public = make_key(key_path())
    print_line("[admins]")
    print_line(f"{json.dumps(name or login_name())} = {json.dumps(public)}")


def sign_list(
    *,
    files: list[Path],
    until: str,
    plans: list[str],
    any_plan: bool,
    lab: Path | None,
    output: Path | None,
    force: bool,
) -> None:
    """Sign lists of this user's own as one. Raises ConsentListError, UsageError."""
    if bool(plans) == any_plan:
        raise UsageError("add --plan PLAN or --any-plan")
    known = read_lab(lab)
    drives = [one for file in files for one in read_list(file, known, None).drives]
    checked = [checked_plan(plan_path(Path(one)), [], lab=lab) for one in plans]
    marks = None if any_plan else [consented_plan(one) for one in checked]
    end = usable_moment(until, "--until")
    made = sign(drives, known, end, marks, key_path())
    with opened(output, force) as out:
        out.write(f"{made.model_dump_json(indent=2)}\n".encode())


def usable_moment(text: str, name: str) -> datetime:
    """Raises UsageError."""
    try:
        return moment(text)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None


def show_list(file: Path, lab: Path | None) -> None:
    """Print what a list permits, if it holds. Raises ConsentListError."""
    found = read_list(file, read_lab(lab), None)
    console = Terminal(highlight=False, soft_wrap=True)
    for line in _said_of(found.signed) if found.signed else ["not signed"]:
        console.print(line)
    console.print(f"{counted(len(found.drives), 'drive')}:")
    for one in found.drives:
        console.print(f"  {one.id}  {one.identity.model}  {one.name}".rstrip())


def _said_of(consent: Consent) -> list[str]:
    plans = ["any plan"] if consent.plans is None else [p.title for p in consent.plans]
    return [
        f"signed by {consent.admin} at {moment_text(consent.signed_at)}, for the lab "
        f"{consent.lab}",
        f"until {moment_text(consent.until)}, for {', '.join(plans)}",
    ]


# `ioplan lab drives`, `reserve` and `drive`: who may have plans started on what.


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


def chosen_targets(on: str, targets: Sequence[str], lab: Path | None) -> list[str]:
    """What `--on` takes, which is said. Raises UsageError, DeskError, StoreError."""
    if targets:
        raise UsageError("use --target or --on, not both")
    known = read_lab(lab)
    place = known.results or default_path()
    with desk_database(lab) as database, Store.at(place) as store:
        busy = Busy(lanes_now(database))
        found = targets_on(on, known, store, database, busy, login_name())
    print_message(f"on {', '.join(found)}")
    return found
