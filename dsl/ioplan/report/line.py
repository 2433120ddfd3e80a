"""Text from a plan or a record, as one line; and whether a table has the room."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.text import Text

from ioplan.printable import printable

UNBOUNDED = 10_000


def line(text: str, style: str = "") -> Text:
    """Never markup; a line end in it could forge a line of the report's own."""
    return Text(printable(text), style=style)


def fits(table: RenderableType, console: Console) -> bool:
    """Whether it can be shown without cutting anything off."""
    wide = console.options.update_width(UNBOUNDED)
    return console.measure(table, options=wide).maximum <= console.width
