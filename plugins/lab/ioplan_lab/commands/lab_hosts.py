"""`ioplan lab up` and `down`: the scheduler here, and a worker on each host."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ioplan.cli import HELD, RUN_FAILED, UsageError, print_line, print_message
from ioplan.core import counted
from ioplan.runner import default_path, read_lab, usual_path
from ioplan.runner.guard import output_file, rewrite
from ioplan.runner.guard.survey import survey
from ioplan_lab.cluster.adopt.lab_entries import drive_entries, with_entries
from ioplan_lab.cluster.hosts import lifecycle
from ioplan_lab.cluster.hosts.own_postgres import OwnPostgres
from ioplan_lab.cluster.hosts.servers import run_scheduler_forever, run_worker_forever
from ioplan_lab.commands.desk.open_desk import desk_database
from ioplan_lab.desk.surveyed import keep_surveys
from ioplan_lab.programs import PROGRAMS

# The scheduler of a lab and the worker of a host, until they are stopped.


def scheduler(at: str) -> None:
    """Run the scheduler until stopped."""
    run_scheduler_forever(at, PROGRAMS)


def worker(
    name: str, scheduler: str, host: str | None, port: int, store: str | None
) -> None:
    """Run the worker of a host until stopped."""
    if store:
        os.environ["IOPLAN_STORE"] = str(Path(store).expanduser())
    run_worker_forever(name, scheduler, host, port, PROGRAMS)


# `ioplan lab up --here`: a lab of this host alone, with a database of its own.

HERE = "here"
"""Stands for this host while the names of its drives are made."""


def up_here(lab: Path | None) -> None:
    """Make what is missing, and start it; again, nothing changes. Raises ClusterError,
    LabError, StoreError, UsageError."""
    file, server = lab or default_path() or usual_path(), OwnPostgres()
    _check_free(file, server.address)
    started = server.start()
    print_line(f"the database is up, in {server.folder}{'' if started else ' already'}")
    _name_results(file, server.address)
    _add_drives(file)
    with desk_database(file) as database:
        keep_surveys(database, {"": survey(read_lab(file))})
    named = "" if file == usual_path() else f" --lab {file}"
    print_line(f"the lab is up: ioplan run PLAN --target NAME{named}; ioplan lab serve")
    print_line("after a reboot, start it again: ioplan lab up --here")


def down_here() -> None:
    """Stop the database; results that are made meanwhile are sent later."""
    server = OwnPostgres()
    print_line(f"the database: {'ended' if server.stop() else 'was not up'}")


def _check_free(file: Path, address: str) -> None:
    """A lab that keeps its results elsewhere is left alone."""
    known = read_lab(file) if file.exists() else None
    if known and (known.hosts or known.results not in (None, address)):
        raise UsageError(
            f"{file} is a lab of several hosts, or has its results elsewhere; for one "
            "of this host alone name another file with --lab"
        )


def _name_results(file: Path, address: str) -> None:
    """At the beginning, where keys of the whole lab stand."""
    before = file.read_text() if file.exists() else ""
    if before and read_lab(file).results:
        return
    text = f"results = {json.dumps(address)}\n\n{before}"
    if before:
        rewrite(file, text.encode())
    else:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with output_file(file, mode=0o600) as out:
            out.write(text.encode())
    print_line(f"{file}: the results are in the database")


def _add_drives(file: Path) -> None:
    """Add drives that are not in use, with `writable = false`, as `lab adopt` does."""
    known = read_lab(file)
    found = {HERE: list(survey(known))}
    named = {one.name for one in found[HERE] if one.name}
    entries, notes = drive_entries(known, found)
    own = {
        name.removeprefix(f"{HERE}-"): _without_host(entry)
        for name, entry in entries.items()
        if not _is_named(entry, found[HERE], named)
    }
    for note in notes:
        print_line(note.removeprefix(f"{HERE}: "))
    before = file.read_text()
    after = with_entries(before, "targets", own)
    if after != before:
        rewrite(file, after.encode())
        print_line(f"{file}: {counted(len(own), 'drive')} added, none may be written")


def _without_host(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "host"}


def _is_named(entry: Mapping[str, Any], found: list[Any], named: set[str]) -> bool:
    """Whether the lab has it already; its entry of this host names no host."""
    same = (
        one
        for one in found
        if one.identity
        and entry.get("serial", "") in ("", one.identity.serial)
        and entry.get("wwid", "") in ("", one.identity.wwid)
    )
    return any(one.name in named for one in same)


def up(lab: Path | None, hosts: list[str], here: bool) -> int:
    """Start the scheduler here, and a worker on each of these hosts, over ssh.

    Without any named, on all; `here`, a lab of this host. Returns the exit code.
    """
    if here:
        if hosts:
            raise UsageError("--here is for a lab of this host; name no others")
        up_here(lab)
        return HELD
    asked = lifecycle.some_hosts(read_lab(lab), hosts)
    faults = lifecycle.up(asked, PROGRAMS, print_line)
    for name, error in faults.items():
        print_message(f"error: {name} is skipped: {error}")
    if faults:
        print_line(
            f"{len(asked.hosts) - len(faults)} of {len(asked.hosts)} hosts are up"
        )
    return RUN_FAILED if faults else HELD


def down(lab: Path | None, here: bool) -> None:
    """Stop the workers and the scheduler; running lanes continue."""
    if here:
        down_here()
        return
    lifecycle.down(read_lab(lab), PROGRAMS, print_line)


def join() -> None:
    """Start a worker as `lab up` on another host asks."""
    print(json.dumps(lifecycle.join(json.load(sys.stdin), PROGRAMS)))


def leave() -> None:
    """End the worker as `lab down` on another host asks."""
    print(json.dumps(lifecycle.leave(json.load(sys.stdin))))
