"""The headlines of all tests of a session: what there is to remember of it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from rich import box
from rich.table import Table
from rich.text import Text

from ioplan.core.text import line
from ioplan.results.report.document import Section
from ioplan.results.report.headlines.headline import Headline
from ioplan.results.report.headlines.wording import (
    nothing_text,
    place_text,
    short_name,
    together,
)

MOST_TITLE = 26
"""Columns of a test's title, so that a headline has a line of 80."""


def headline_table(sections: Iterable[Section]) -> Table:
    """A row a test; a line for what was measured at one place."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=False)
    table.add_column("test", overflow="fold", max_width=MOST_TITLE)
    table.add_column("headlines", overflow="fold")
    for section in sections:
        found = chain.from_iterable(section.headlines.values())
        lines = [_line(some) for some in together(found)]
        nothing = line(nothing_text(section.points), "dim")
        table.add_row(line(section.title), Text("\n").join(lines or [nothing]))
    return table


def _line(found: list[Headline]) -> Text:
    """`449k highest IOPS at QD 128`, the figure in bold."""
    parts = [
        line(one.figure, "bold" if one.is_firm else "")
        + line(f" {short_name(one)}".rstrip())
        for one in found
    ]
    notes = dict.fromkeys(note for one in found for note in (one.why, *one.notes))
    told = "".join(f"; {note}" for note in notes if note)
    place = line(place_text(found[0]), "dim")
    return Text(", ").join(parts) + place + line(told, "yellow")
