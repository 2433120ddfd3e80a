"""The commands of `ioplan lab`."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from ioplan.cli.failure import reported
from ioplan.cli.lab import check_lab, lab_told, servers
from ioplan.cli.terminal import Terminal, tell
from ioplan.cluster import standing
from ioplan.cluster.host_side import versions as host_versions
from ioplan.cluster.unit import unit_of
from ioplan.lab.lab import read_lab

lab_app = typer.Typer(
    name="lab",
    help="The lab: its file, its hosts, and what runs on them.",
    no_args_is_help=True,
)

LabPath = Annotated[
    Path | None, typer.Option("--lab", help="The lab file; else IOPLAN_LAB, else XDG.")
]
HostName = Annotated[str, typer.Argument(metavar="HOST", help="A host of the lab.")]


@lab_app.command()
def check(lab: LabPath = None) -> None:
    """Tell whether the lab file is right, and what it names."""
    with reported():
        check_lab(Terminal(highlight=False), lab)


@lab_app.command()
def up(lab: LabPath = None) -> None:
    """Start the scheduler here, and a worker on each host of the lab, over ssh."""
    with reported(), lab_told():
        standing.up(read_lab(lab), tell)


@lab_app.command()
def down(lab: LabPath = None) -> None:
    """End the workers and the scheduler; lanes that go on are left alone."""
    with reported(), lab_told():
        standing.down(read_lab(lab), tell)


@lab_app.command()
def unit(host: HostName, lab: LabPath = None) -> None:
    """Print a systemd unit for the worker of a host."""
    with reported(), lab_told():
        tell(unit_of(read_lab(lab), host).rstrip("\n"))


@lab_app.command(hidden=True)
def versions() -> None:
    """Answer `lab up` on another host."""
    print(json.dumps(host_versions()))


@lab_app.command(hidden=True)
def join() -> None:
    """Answer `lab up` on another host."""
    with reported(), lab_told():
        print(json.dumps(standing.join(json.load(sys.stdin))))


@lab_app.command(hidden=True)
def leave() -> None:
    """Answer `lab down` on another host."""
    with reported(), lab_told():
        print(json.dumps(standing.leave(json.load(sys.stdin))))


@lab_app.command(hidden=True)
def scheduler(at: Annotated[str, typer.Option()]) -> None:
    """Be the scheduler until ended."""
    with reported(), lab_told():
        asyncio.run(servers().schedule(at))


@lab_app.command(hidden=True)
def worker(
    name: Annotated[str, typer.Option()],
    scheduler: Annotated[str, typer.Option()],
    host: Annotated[str | None, typer.Option()] = None,
    store: Annotated[str | None, typer.Option()] = None,
) -> None:
    """Be the worker of a host until ended."""
    with reported(), lab_told():
        if store:
            os.environ["IOPLAN_STORE"] = str(Path(store).expanduser())
        servers().work_for_ever(name, scheduler, host)
