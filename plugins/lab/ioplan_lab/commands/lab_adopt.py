"""`ioplan lab adopt` and `lab upgrade`: hosts that get ioplan, keys and a place."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path

from ioplan.cli import HELD, RUN_FAILED, UsageError, print_line, print_message
from ioplan.core import __version__
from ioplan.results.store import StoreError
from ioplan.runner import Lab, default_path, read_lab
from ioplan.runner.guard import rewrite
from ioplan_lab.cluster.adopt import adoption
from ioplan_lab.cluster.adopt.adoption import Adoption
from ioplan_lab.cluster.adopt.lab_entries import (
    drive_entries,
    host_entries,
    with_entries,
)
from ioplan_lab.cluster.adopt.look import Look
from ioplan_lab.cluster.hosts import lifecycle
from ioplan_lab.cluster.hosts.lifecycle import Faults
from ioplan_lab.cluster.hosts.surveys import surveys
from ioplan_lab.cluster.keys.tls import check_address
from ioplan_lab.commands.desk.open_desk import desk_database
from ioplan_lab.desk.surveyed import keep_surveys
from ioplan_lab.programs import PROGRAMS


def adopt(
    hosts: Sequence[str],
    lab: Path | None,
    folder: str,
    wheels: Path | None,
    no_units: bool,
    yes: bool,
) -> int:
    """Have hosts join the lab, with their drives; returns the exit code."""
    file = lab or default_path()
    if file is None:
        raise UsageError("there is no lab file: name one with --lab")
    known = read_lab(file)
    scheduler = lifecycle.scheduler_of(known, hosts)
    check_address(scheduler)
    asked = dict(adoption.host_of(word, known, folder) for word in hosts)
    plans, faults = adoption.adoptions(known, asked, PROGRAMS, not no_units)
    _print_steps({name: one.steps for name, one in plans.items()})
    _print_faults(faults)
    if not plans or not _agreed(any(one.steps for one in plans.values()), yes):
        return RUN_FAILED if faults else HELD
    faults |= _do(known, plans, file, _wheels(wheels))
    return RUN_FAILED if faults else HELD


def _do(
    known: Lab, plans: Mapping[str, Adoption], file: Path, wheels: Sequence[Path]
) -> Faults:
    there = {name: (one.host, one.found) for name, one in plans.items()}
    faults = adoption.install_on(known, there, wheels, print_line)
    plans = {name: one for name, one in plans.items() if name not in faults}
    faults |= adoption.equip(known, plans, PROGRAMS, print_line)
    ready = {name: one.host for name, one in plans.items() if name not in faults}
    _print_faults(faults)
    if not ready:
        return faults
    _change(file, "hosts", host_entries(known, ready))
    late = lifecycle.up(
        lifecycle.some_hosts(read_lab(file), list(ready)), PROGRAMS, print_line
    )
    drives, silent = adoption.drives_of(known, ready, PROGRAMS)
    entries, notes = drive_entries(read_lab(file), drives)
    for note in notes:
        print_line(note)
    _change(file, "targets", entries)
    unseen = _keep_drives(file, drives)
    _print_faults(late | silent | unseen)
    return faults | late | silent | unseen


def _keep_drives(file: Path, hosts: Iterable[str]) -> Faults:
    """The desk knows them at once; without its database, a later look will do."""
    found, faults = surveys(read_lab(file), PROGRAMS, hosts)
    try:
        with desk_database(file) as database:
            keep_surveys(database, found)
    except StoreError as error:
        print_message(f"note: the drives are not kept for the desk: {error}")
    return faults


def _change(file: Path, table: str, entries: Mapping[str, object]) -> None:
    """Add them to the lab file, and show what was added."""
    before = file.read_text()
    after = with_entries(before, table, entries)
    if after == before:
        return
    rewrite(file, after.encode())
    for line in list(unified_diff(before.splitlines(), after.splitlines(), n=0))[2:]:
        if not line.startswith("@@"):
            print_line(line)
    print_line(f"{file}: {len(entries)} {table} added")


def upgrade(
    hosts: Sequence[str], lab: Path | None, wheels: Path | None, yes: bool
) -> int:
    """Bring hosts to this version, where no lanes run; returns the exit code."""
    known = lifecycle.some_hosts(read_lab(lab), hosts)
    lifecycle.scheduler_of(known)
    found, faults = adoption.upgrades(known, PROGRAMS)
    old = {name: one for name, one in found.items() if not one.up_to_date}
    said = {name: _version(one.versions) for name, one in old.items()}
    _print_steps({name: [said[name]] if name in old else [] for name in found})
    _print_faults(faults)
    if old and _agreed(True, yes):
        faults |= _upgrade(lifecycle.some_hosts(known, list(old)), old, _wheels(wheels))
    return RUN_FAILED if faults else HELD


def _version(there: Mapping[str, str]) -> str:
    return f"install ioplan {__version__} in place of {there.get('ioplan', 'none')}"


def _upgrade(known: Lab, old: Mapping[str, Look], wheels: Sequence[Path]) -> Faults:
    faults = adoption.stop_workers(known, old, PROGRAMS)
    free = lifecycle.without(known, faults)
    there = {name: (host, old[name]) for name, host in free.hosts.items()}
    faults |= adoption.install_on(free, there, wheels, print_line)
    faults |= adoption.start_units(free, old)
    ready = lifecycle.without(free, faults)
    faults |= lifecycle.up(ready, PROGRAMS, print_line) if ready.hosts else {}
    _print_faults(faults)
    return faults


def _wheels(folder: Path | None) -> list[Path]:
    if folder is None:
        return []
    found = sorted(folder.glob("*.whl"))
    if not found:
        raise UsageError(f"there is no wheel in {folder}")
    return found


def _print_steps(steps: Mapping[str, Iterable[str]]) -> None:
    for name, todo in steps.items():
        for text in todo or ["is up to date"]:
            print_line(f"{name}: {text}")


def _print_faults(faults: Faults) -> None:
    for name, error in faults.items():
        print_message(f"error: {name} is skipped: {error}")


def _agreed(asks: bool, yes: bool) -> bool:
    """Whether a person agrees, where there is something to agree to."""
    if yes or not asks:
        return True
    if not sys.stdin.isatty():
        raise UsageError("not a terminal: add --yes to confirm")
    return input("continue? [y/N] ").strip().lower() in ("y", "yes")
