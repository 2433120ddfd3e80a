"""Rich's console, such that only its own colours and cursor moves pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from ioplan.cli.display.output import encodable
from ioplan.core.text import line, printable_lines


class Terminal(Console):
    """A console that takes no markup, and that shows text as text."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def say(self, text: str, style: str = "", whole: bool = True) -> None:
        """A line; one that is not to stay whole is wrapped by words."""
        self.print(line(text, style), soft_wrap=whole, highlight=False)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """All that is printed comes by here."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                text = encodable(printable_lines(segment.text), self.file)
                yield Segment(text, segment.style)


# What commands list: a table, a row for each thing.


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
