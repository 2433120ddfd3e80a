"""`ioplan lab`: whether a lab file is right, and what it names; errors of hosts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from rich import box
from rich.console import Console
from rich.table import Table

from ioplan.cli.failure import UsageError
from ioplan.cluster.errors import ClusterError
from ioplan.lab.lab import Lab, default_path, read_lab
from ioplan.lab.links import members
from ioplan.report.line import line

HERE = "this host"


def check_lab(console: Console, path: Path | None) -> None:
    """Print what a lab has. Raises LabError with all that is wrong, UsageError."""
    found = path or default_path()
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
    console.print(f"{found} is right: {shown}", soft_wrap=True)


def _idle(lab: Lab) -> list[str]:
    entries = lab.targets.values()
    used = {host for entry in entries for host in (entry.host, *entry.hosts)}
    return [name for name in lab.hosts if name not in used]


def _targets(lab: Lab) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("target", "host", "is", "backend", "writable"):
        table.add_column(heading, overflow="fold")
    for name, entry in lab.targets.items():
        host = lab.hosts.get(entry.host or "".join(entry.hosts[:1]))
        backend = (host and host.backend) or lab.backend
        said = entry.serial or entry.wwid or entry.backing_file or entry.path or ""
        where = entry.host or ", ".join(entry.hosts) or HERE
        cells = (name, where, said, backend)
        table.add_row(*map(line, cells), "yes" if entry.writable else "no")
    return table


@contextmanager
def lab_told() -> Iterator[None]:
    """What goes wrong between hosts, as an error of the command line."""
    try:
        yield
    except ClusterError as error:
        raise UsageError(str(error)) from error
    except ModuleNotFoundError as error:
        raise UsageError(
            f"labs of several hosts need {error.name}: pip install 'ioplan[lab]'"
        ) from error


def servers() -> ModuleType:
    """They need distributed, which not everybody has, and which takes a second."""
    from ioplan.cluster import servers as found  # noqa: PLC0415

    return found
