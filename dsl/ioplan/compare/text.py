"""A comparison for the terminal, in 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich import box
from rich.console import RenderableType
from rich.rule import Rule
from rich.table import Table

from ioplan.compare.comparison import Comparison, Row, Word
from ioplan.compare.words import (
    base_text,
    cell_text,
    change_text,
    interval_text,
    new_text,
    notes,
    side_text,
    summary_text,
)
from ioplan.report.line import line

STYLES: dict[Word, str] = {
    "worse": "red",
    "better": "green",
    "equal": "dim",
    "undecided": "yellow",
}


def text(found: Comparison, everything: bool) -> Iterator[RenderableType]:
    """Each test with its rows; the equal ones only if asked for."""
    yield line(side_text("BASE", found.base))
    yield line(side_text("NEW ", found.new))
    for title, rows in groupby(found.rows, key=lambda row: row.test):
        shown = [row for row in rows if everything or row.verdict != "equal"]
        if shown:
            yield Rule(line(title, style="bold"), align="left", characters="─")
            yield _table(shown)
    yield line(summary_text(found), style="bold")
    for note in notes(found):
        yield line(note)


def _table(rows: Sequence[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("")
    table.add_column("cell", overflow="fold")
    table.add_column("metric")
    for heading in ("base", "new", "change", "95 % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            line(row.verdict, style=STYLES[row.verdict]),
            line(cell_text(row)),
            line(row.metric),
            base_text(row),
            new_text(row),
            change_text(row.ratio),
            interval_text(row),
        )
    return table
