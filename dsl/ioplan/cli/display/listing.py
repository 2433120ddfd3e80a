"""What commands list: a table, a row for each thing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.table import Table

from ioplan.cli.display.terminal import Terminal
from ioplan.core.text import line


def listing(
    headings: Sequence[str], rows: Iterable[Sequence[str]], whole: str = ""
) -> Table:
    """Texts in columns, folded where they are long but in the column `whole`."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading == whole)
    for row in rows:
        table.add_row(*map(line, row))
    return table


def print_listing(
    headings: Sequence[str], rows: Iterable[Sequence[str]], whole: str = ""
) -> None:
    """Print it."""
    Terminal(highlight=False).print(listing(headings, rows, whole))
