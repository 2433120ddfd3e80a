"""`ioplan lab check` and `restore`: what a lab file says, and what it has set here."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from ioplan.backends import default_backend
from ioplan.cli import Terminal, UsageError, backend_of, listing, print_line
from ioplan.runner import Lab, default_path, members, read_lab, restore

HERE = "this host"


def check_lab(lab: Path | None) -> None:
    """Print what a lab has. Raises LabError with all that is wrong, UsageError."""
    _print_lab(Terminal(highlight=False), lab or default_path())


def _print_lab(console: Console, file: Path | None) -> None:
    if file is None:
        raise UsageError("there is no lab file: name one with --lab")
    lab = read_lab(file)
    console.print(_targets(lab))
    for group in lab.groups:
        names = members(lab, group)
        console.print(f"group {group}: {len(names)} targets", soft_wrap=True)
    shown = f"{len(lab.hosts)} hosts, {len(lab.targets)} targets"
    console.print(f"{file} is valid: {shown}", soft_wrap=True)


def _targets(lab: Lab) -> Table:
    rows = []
    for name, entry in lab.targets.items():
        backend = backend_of(name, lab) or default_backend(lab.backend)
        identity = entry.serial or entry.wwid or entry.backing_file or entry.path or ""
        writable = "yes" if entry.writable else "no"
        rows.append((name, ", ".join(entry.hosts) or HERE, identity, backend, writable))
    return listing(("target", "host", "is", "backend", "writable"), rows)


def put_back() -> None:
    """Put back what sessions that were killed have left set on this host."""
    notes: list[str] = []
    restore(notes.append)
    for note in notes or ["nothing to restore on this host"]:
        print_line(note)
