"""The pictures of a report in the terminal, each in as much room as there is."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.text import Text

from ioplan.core.text import counted, line
from ioplan.results.report.charts.rows_over_time import is_over_time
from ioplan.results.report.document import ChartSpec
from ioplan.results.report.terminal.bars import bars
from ioplan.results.report.terminal.density import density
from ioplan.results.report.terminal.grid import grid_tables
from ioplan.results.report.terminal.heatmap import grids_of, heading
from ioplan.results.report.terminal.parts import MOST_PARTS, Part, parts
from ioplan.results.report.terminal.plot import plots
from ioplan.results.report.terminal.strips import strips


def drawn(picture: ChartSpec, console: Console) -> Iterator[RenderableType]:
    """A picture: its title, its parts, its notes."""
    yield Text()
    yield line(_title(picture), style="bold")
    found = parts(picture)
    if not found:
        yield line("nothing to draw", style="dim")
    for part in found[:MOST_PARTS]:
        if part.name:
            yield line(part.name, style="italic")
        yield from _drawn(picture, part, console)
    if len(found) > MOST_PARTS:
        rest = counted(len(found) - MOST_PARTS, "part")
        yield line(f"… and {rest} more: ioplan report", style="dim")
    if picture.phases:
        names = picture.phases.column("phase").order
        yield line(f"phases: {', '.join(names)}", style="dim")
    for note in picture.notes:
        yield line(note, style="dim")


def _title(picture: ChartSpec) -> str:
    """The title, with the unit that the figures of a grid leave out."""
    if not picture.marks.is_grid or not picture.y:
        return picture.title
    column = picture.frame.column("y")
    return picture.title + heading(column).removeprefix(column.title)


def _drawn(
    picture: ChartSpec, part: Part, console: Console
) -> Iterator[RenderableType]:
    """What has one place on its axis only takes a line, not a plot."""
    if is_over_time(picture):
        colored = bool(console.color_system) and not console.no_color
        yield strips(picture, part, console.width, colored)
    elif picture.marks.is_grid:
        yield from grid_tables(grids_of(picture, part), console)
    elif picture.kind == "latencies":
        colored = bool(console.color_system) and not console.no_color
        yield density(picture, part, console.width, colored)
    elif picture.kind == "bars" or len({row[picture.x] for row in part.rows}) < 2:
        yield bars(picture, part, console.width)
    else:
        colored = bool(console.color_system) and not console.no_color
        yield from plots(picture, part, console.width, colored)
