"""Heatmaps and tables over two axes, or a column a figure, as grids of texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log

from msgspec import Struct
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ioplan.core.text import fits, line, printable
from ioplan.core.units import metric_text
from ioplan.results.report.charts.axis import scale_of
from ioplan.results.report.documents import (
    FAILED,
    STATUS,
    ChartSpec,
    Column,
    Value,
)
from ioplan.results.report.terminal.parts import Part, Row

# Tables of any width in a terminal of any width: what has no room stands below.


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


CIVIDIS = (
    (0, 34, 78),
    (53, 69, 108),
    (102, 105, 112),
    (148, 142, 119),
    (200, 184, 102),
    (254, 232, 56),
)
"""Dark to bright, the same to every eye; Nuñez and others, PLOS ONE 13 (2018)."""
BRIGHT = 0.179
"""From this relative luminance on, black letters have more contrast than white ones:
4.5 at least, as WCAG 2 asks."""


def grids_of(picture: ChartSpec, part: Part) -> tuple[Grid, Grid]:
    """A part of a heatmap or table, and the same turned."""
    if picture.y:
        return _across_two(picture, part, "x", "row"), _across_two(
            picture, part, "row", "x"
        )
    listed = _listed(picture, part)
    return listed, listed.turned()


def _across_two(picture: ChartSpec, part: Part, across: str, down: str) -> Grid:
    """The axis down begins at the bottom, as in the page; what was not run is empty."""
    columns, rows = picture.frame.column(across), picture.frame.column(down)
    found = {(str(one[across]), str(one[down])): one for one in part.rows}
    values = [v for one in part.rows if isinstance(v := one["y"], (int, float))]
    colors = colors_of(values) if picture.kind == "heatmap" else None
    names = rows.order[::-1]
    y = picture.frame.column("y")
    cells = [
        [_cell(found.get((text, name)), y, colors) for text in columns.order]
        for name in names
    ]
    corner = (f"{columns.title} →", f"{rows.title} ↓")
    return Grid(corner, columns.order, names, cells)


def _cell(row: Row | None, column: Column, colors: Colors | None) -> Text:
    if row is None:
        return Text("")
    value = row[column.key]
    if not isinstance(value, (int, float)):
        return Text(f" {FAILED if row.get(STATUS.key, 'ok') != 'ok' else '–'} ")
    style = colors.of(value) if colors else ""
    return Text(f" {metric_text(value, column.unit)} ", style=style)


def _listed(picture: ChartSpec, part: Part) -> Grid:
    """A row a point, a column a figure."""
    columns = [c for c in picture.frame.columns if c.key.startswith("m")]
    names = [c for c in picture.frame.columns if c.key.startswith("d")]
    down = [" ".join(printable(str(row[c.key])) for c in names) for row in part.rows]
    cells = [[_cell(row, column, None) for column in columns] for row in part.rows]
    if part.rows and picture.frame.marks_failures:
        columns.append(STATUS)
        cells = [
            [*found, Text(f" {status_text(row[STATUS.key])} ")]
            for found, row in zip(cells, part.rows, strict=True)
        ]
    across = [column.title for column in columns]
    return Grid(tuple(column.title for column in names), across, down, cells)


def status_text(status: Value) -> str:
    """What became of a run, marked if it is not well."""
    return "ok" if status == "ok" else f"{FAILED} {status}"


class Colors(Struct, frozen=True):
    """From the smallest value to the largest."""

    low: float
    high: float
    log: bool

    def of(self, value: float) -> str:
        """A style: a background, and letters that can be read on it."""
        red, green, blue = _between(self.share(value))
        ink = 0 if _luminance((red, green, blue)) >= BRIGHT else 255
        return f"rgb({ink},{ink},{ink}) on rgb({red},{green},{blue})"

    def share(self, value: float) -> float:
        """How far it is from the smallest to the largest, from 0 to 1."""
        if self.high <= self.low:
            return 0.5
        if self.log:
            return log(value / self.low) / log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def colors_of(values: Sequence[float]) -> Colors:
    """Colours for these values, in even steps or by their powers."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return Colors(low, high, scale_of(values) == "log")


def _luminance(rgb: Sequence[int]) -> float:
    """Relative luminance, as WCAG 2 defines it."""
    red, green, blue = (_linear(part / 255) for part in rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return float(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)


def _between(share: float) -> tuple[int, int, int]:
    """The colour at a share of the way."""
    at = share * (len(CIVIDIS) - 1)
    first = min(int(at), len(CIVIDIS) - 2)
    red, green, blue = (
        round(a + (b - a) * (at - first))
        for a, b in zip(CIVIDIS[first], CIVIDIS[first + 1], strict=True)
    )
    return red, green, blue
