"""`ioplan lab up` and `down`: the scheduler here, and a worker on each host."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ioplan.cli.display.output import print_line, print_message
from ioplan.cli.errors import UsageError
from ioplan.cli.exit_codes import HELD, RUN_FAILED
from ioplan.runner.lab.lab_file import read_lab
from ioplan_lab.cluster.hosts import lifecycle
from ioplan_lab.commands.lab_here import down_here, up_here
from ioplan_lab.programs import PROGRAMS


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
