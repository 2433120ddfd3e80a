"""`ioplan targets`: the block devices, and what may be done to each."""

from __future__ import annotations

import json
import sys

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ioplan.lab.lab import Lab
from ioplan.lab.mounts import unseen_namespaces
from ioplan.lab.survey import Surveyed, survey
from ioplan.report.units import bytes_text

VERDICT_STYLES = {"writable": "green", "readable": "yellow", "refused": "red"}


def target_rows(lab: Lab) -> list[Surveyed]:
    """All that there is to tell."""
    return list(survey(lab))


def targets_json(found: list[Surveyed]) -> None:
    """One document."""
    rows = [one.model_dump(mode="json") for one in found]
    sys.stdout.write(json.dumps(rows, indent=2) + "\n")


def print_targets(console: Console, found: list[Surveyed]) -> None:
    """A row for each."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("target", "ID", "model"):
        table.add_column(heading, overflow="fold")
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("on it", overflow="fold")
    table.add_column("verdict", overflow="fold")
    for one in found:
        table.add_row(*_cells(one))
    console.print(table)
    if unseen_namespaces():
        console.print(
            "As this user, not all mounts and programs can be seen; what is in use is "
            "still refused when it is opened.",
            style="dim",
        )


def _cells(one: Surveyed) -> tuple[Text, ...]:
    identity = one.identity
    names = [one.name, one.path.removeprefix("/dev/")]
    reason = f": {one.reason}" if one.reason else ""
    return (
        Text("\n".join(filter(None, names))),
        Text(one.id),
        Text(identity.model if identity else ""),
        Text(bytes_text(one.size_bytes) if one.size_bytes else ""),
        Text(", ".join(one.holds)),
        Text(one.verdict + reason, style=VERDICT_STYLES[one.verdict]),
    )
