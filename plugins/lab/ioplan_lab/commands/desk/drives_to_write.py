"""`ioplan lab consent drives`: the hosts say what may be overwritten."""

from __future__ import annotations

import json
from pathlib import Path

from ioplan.backends import LabTarget
from ioplan.cli import HELD, RUN_FAILED, UsageError, opened, print_message
from ioplan.runner import read_lab
from ioplan_lab.cluster.hosts.surveys import HERE, surveys
from ioplan_lab.commands.desk.open_desk import desk_database
from ioplan_lab.commands.lab import lab_errors
from ioplan_lab.desk.queue.ask import drives_named
from ioplan_lab.desk.surveyed import chosen, keep_surveys
from ioplan_lab.programs import PROGRAMS


def print_drives(
    targets: list[str], lab: Path | None, output: Path | None, force: bool
) -> int:
    """Ask the hosts which of these drives may be overwritten, and write the list.

    Returns the exit code. Raises DeskError, ClusterError, UsageError, StoreError.
    """
    known = read_lab(lab)
    names = drives_named(known, targets)
    hosts = dict.fromkeys(
        host for name in names for host in _hosts_of(known.targets[name])
    )
    with lab_errors():
        found, faults = surveys(known, PROGRAMS, hosts)
    with desk_database(lab) as database:
        keep_surveys(database, found)
    writable, refused = chosen(found, names)
    for name, error in faults.items():
        print_message(f"error: {name} is skipped: {error}")
    for name, why in refused.items():
        print_message(f"note: {name} is left out: {why}")
    if not writable:
        raise UsageError(f"none of {', '.join(targets)} may be overwritten")
    rows = [one.model_dump(mode="json") for one in writable]
    with opened(output, force) as out:
        out.write(f"{json.dumps(rows, indent=2)}\n".encode())
    return RUN_FAILED if faults else HELD


def _hosts_of(entry: LabTarget) -> tuple[str, ...]:
    """A drive that hosts share is looked at by the first."""
    return (entry.host or next(iter(entry.hosts), HERE),)
