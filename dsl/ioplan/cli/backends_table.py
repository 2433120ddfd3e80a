"""`ioplan backends`: what can do the I/O here, and what each can express."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ioplan.backends import Availability, Backend, BackendError, find, names
from ioplan.lab.lab import Lab
from ioplan.runner.features import FEATURES, answer

ANSWER_STYLES = {"exactly": "green", "nearly": "yellow", "no": "red"}


def print_backends(console: Console, lab: Lab) -> None:
    """Both tables."""
    found: dict[str, Backend] = {}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("backend", "version", "usable", "remarks"):
        table.add_column(heading, overflow="fold")
    for name in names():
        try:
            found[name] = find(name)
            here = found[name].availability(lab.options_of(name))
        except BackendError as error:
            here = Availability(usable=False, reason=str(error))
        usable = "yes" if here.usable else "no"
        table.add_row(name, here.version, usable, Text(here.reason))
    console.print(table)
    console.print(_matrix(found, lab))


def _matrix(backends: dict[str, Backend], lab: Lab) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("can say")
    for name in backends:
        table.add_column(name)
    for feature in FEATURES:
        answers = (
            answer(backend, lab.options_of(name), feature)
            for name, backend in backends.items()
        )
        table.add_row(feature, *(Text(one, style=ANSWER_STYLES[one]) for one in answers))
    return table
