"""`ioplan lab`: whether a lab file is right, and what it names; errors of hosts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ioplan.backends import default_backend
from ioplan.cli import Terminal, UsageError, backend_of, listing, print_line
from ioplan.core import needed
from ioplan.runner import Lab, default_path, members, read_lab, restore
from ioplan_lab.cluster.hosts.service import scheduler_unit, worker_unit
from ioplan_lab.cluster.hosts.worker_api import versions as host_versions
from ioplan_lab.programs import PROGRAMS

HERE = "this host"


def check_lab(lab: Path | None) -> None:
    """Print what a lab has. Raises LabError with all that is wrong, UsageError."""
    _print_lab(Terminal(highlight=False), lab or default_path())


def _print_lab(console: Console, found: Path | None) -> None:
    if found is None:
        raise UsageError("there is no lab file: name one with --lab")
    lab = read_lab(found)
    console.print(_targets(lab))
    for group in lab.groups:
        names = members(lab, group)
        console.print(f"group {group}: {len(names)} targets", soft_wrap=True)
    for host in _idle(lab):
        console.print(f"note: no target is on the host {host}", soft_wrap=True)
    shown = f"{len(lab.hosts)} hosts, {len(lab.targets)} targets"
    console.print(f"{found} is valid: {shown}", soft_wrap=True)


def _idle(lab: Lab) -> list[str]:
    entries = lab.targets.values()
    used = {host for entry in entries for host in (entry.host, *entry.hosts)}
    return [name for name in lab.hosts if name not in used]


def _targets(lab: Lab) -> Table:
    rows = []
    for name, entry in lab.targets.items():
        host = lab.hosts.get(entry.host or "".join(entry.hosts[:1]))
        backend = backend_of(name, lab) or (host and host.backend)
        backend = backend or default_backend(lab.backend)
        identity = entry.serial or entry.wwid or entry.backing_file or entry.path or ""
        where = entry.host or ", ".join(entry.hosts) or HERE
        writable = "yes" if entry.writable else "no"
        rows.append((name, where, identity, backend, writable))
    return listing(("target", "host", "is", "backend", "writable"), rows)


@contextmanager
def lab_errors() -> Iterator[None]:
    """What goes wrong between hosts, as an error of the command line."""
    with needed("labs of several hosts need", "lab", UsageError):
        yield


def unit(host: str | None, scheduler: bool, lab: Path | None) -> None:
    """Print a systemd unit for the worker of a host, or for the scheduler."""
    if scheduler == bool(host):
        raise UsageError("name a host, or add --scheduler")
    found = read_lab(lab)
    text = worker_unit(found, host, PROGRAMS) if host else None
    print_line((text or scheduler_unit(found, PROGRAMS)).rstrip("\n"))


def put_back(lab: Path | None) -> None:
    """Put back what sessions that were killed have left set, here and on all hosts."""
    notes: list[str] = []
    restore(notes.append)
    for note in notes or ["nothing to restore on this host"]:
        print_line(note)
    found = read_lab(lab)
    if found.hosts:
        with lab_errors():
            from ioplan_lab.cluster.hosts import lifecycle  # noqa: PLC0415  an extra

            lifecycle.put_back(found, PROGRAMS, print_line)


def answer_put_back() -> None:
    """Put back what is left here, as `lab restore` on another host asks."""
    notes: list[str] = []
    restore(notes.append)
    print(json.dumps({"notes": notes}))


def versions() -> None:
    """What this host runs, for `lab up` on another one."""
    print(json.dumps(host_versions()))
