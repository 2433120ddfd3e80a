"""`ioplan doctor`: what works on this machine, and how to mend what does not."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from json import dumps
from pathlib import Path

from msgspec.structs import asdict
from rich import box
from rich.table import Table
from rich.text import Text

from ioplan.backends import Availability, BackendError
from ioplan.cli.commands.bug_report import bug_report
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.exit_codes import EXPECTATION_FAILED, HELD
from ioplan.cli.lab_plugin import lab_plugin
from ioplan.cli.targets.choose import named_backend
from ioplan.runner.doctor.checks import findings
from ioplan.runner.doctor.machine import Finding, Machine
from ioplan.runner.lab.lab import Lab
from ioplan.runner.lab.lab_file import read_lab

STYLES = {"works": "green", "limited": "yellow", "no": "red"}
NEEDED = ("engine", "fio", "SPDK")
"""One of them has to be here."""


def examine(lab: Path | None, json: bool, report: bool) -> int:
    """Look at all of it; the code is 1 where no backend can do I/O."""
    known = read_lab(lab)
    found = list(findings(Machine(lambda name: _availability(name, known))))
    if plugin := lab_plugin():
        found.extend(plugin.findings())
    if report:
        sys.stdout.write(bug_report(found))
    elif json:
        rows = [asdict(one) for one in found]
        sys.stdout.write(f"{dumps(rows, indent=2)}\n")
    else:
        print_findings(Terminal(), found)
    return (
        HELD if any(one.state != "no" for one in _needed(found)) else EXPECTATION_FAILED
    )


def _needed(found: Sequence[Finding]) -> list[Finding]:
    return [one for one in found if one.name in NEEDED]


def _availability(name: str, lab: Lab) -> Availability:
    try:
        one = named_backend(name, lab, [])
        return one.backend.availability(one.options)
    except BackendError as error:
        return Availability(usable=False, reason=str(error))


def print_findings(console: Terminal, found: Sequence[Finding]) -> None:
    """A row for each, then the commands, which must not be folded."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("what", "state"):
        table.add_column(heading, no_wrap=True)
    table.add_column("found", overflow="fold")
    for one in found:
        state = Text(one.state, style=STYLES[one.state])
        table.add_row(one.name, state, Text(one.text))
    console.print(table)
    for one in found:
        if one.mend:
            console.print(Text(f"{one.name}:\n  {one.mend}"), soft_wrap=True)
