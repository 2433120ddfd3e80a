"""Tables of any width in a terminal of any width: what has no room stands below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ioplan.core.text import fits, line, printable


class Grid(Struct, frozen=True):
    """A row for each entry of `down`, a column for each of `across`.

    `corner` has the titles of both, a line each: the first line is that of `across`.
    A cell is a text, which may have a style.
    """

    corner: tuple[str, ...]
    across: Sequence[str]
    down: Sequence[str]
    cells: Sequence[Sequence[Text]]

    def turned(self) -> Grid:
        """The grid with rows and columns exchanged."""
        cells = list(zip(*self.cells, strict=True))
        return Grid(self.corner[::-1], self.down, self.across, cells)

    def columns(self, start: int, end: int) -> Grid:
        """Some of its columns."""
        cells = [row[start:end] for row in self.cells]
        return Grid(self.corner, self.across[start:end], self.down, cells)

    def table(self) -> Table:
        """As one table."""
        table = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False)
        corner = "\n".join(f"{printable(title)} " for title in self.corner)
        table.add_column(Text(corner), justify="right", no_wrap=True)
        for name in self.across:
            table.add_column(line(f" {name} "), justify="right", no_wrap=True)
        for name, row in zip(self.down, self.cells, strict=True):
            table.add_row(line(f"{name} "), *row)
        return table


def grid_tables(grids: Sequence[Grid], console: Console) -> Iterator[Table]:
    """The first of these grids that has room, else the first one in parts that have."""
    for one in grids:
        if one.across and fits(one.table(), console):
            yield one.table()
            return
    yield from _in_parts(grids[0], console)


def _in_parts(grid: Grid, console: Console) -> Iterator[Table]:
    start = 0
    while start < len(grid.across):
        end = start + 1
        while end < len(grid.across):
            if not fits(grid.columns(start, end + 1).table(), console):
                break
            end += 1
        yield grid.columns(start, end).table()
        start = end
