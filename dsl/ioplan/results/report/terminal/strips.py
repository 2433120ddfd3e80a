"""A figure of many drives over time in the terminal: a line for each."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from ioplan.core.text import printable
from ioplan.results.report.document import ChartSpec
from ioplan.results.report.terminal.heatmap import Colors, colors_of, figure_text
from ioplan.results.report.terminal.parts import Part
from ioplan.results.report.terminal.phases import phase_strips

SHADES = "░▒▓█"
LABEL = 20
FIGURE = 10


def strips(picture: ChartSpec, part: Part, width: int, colored: bool) -> Text:
    """Time across; the highest figure of each row at its end."""
    y, times = picture.frame.column("y"), picture.frame.column("x").order
    names = picture.frame.column("row").order
    label = min(LABEL, max(cell_len(printable(name)) for name in names))
    wide = max(1, (width - label - FIGURE - 1) // len(times))
    found: dict[str, dict[str, float]] = {}
    for row in part.rows:
        if isinstance(row["y"], (int, float)):
            found.setdefault(str(row["row"]), {})[str(row["x"])] = float(row["y"])
    colors = colors_of([value for row in found.values() for value in row.values()])
    lines = phase_strips(picture, label + 1, wide)
    for name in names:
        values = found.get(name, {})
        line = Text(set_cell_size(printable(name), label) + " ")
        for time in times:
            line.append_text(_sign(values.get(time), wide, colors, colored))
        most = figure_text(max(values.values()), y) if values else "–"
        lines.append(line.append(most.rjust(FIGURE)))
    across = wide * len(times)
    last = times[-1] if len(times) > 1 else ""
    room = max(1, across - len(times[0]) - len(last))
    lines.append(Text(" " * (label + 1) + times[0] + " " * room + last))
    return Text("\n", no_wrap=True, overflow="ignore").join(lines)


def _sign(value: float | None, wide: int, colors: Colors, colored: bool) -> Text:
    if value is None:
        return Text(" " * wide)
    if colored:
        return Text(" " * wide, colors.of(value))
    return Text(SHADES[min(int(colors.share(value) * 4), 3)] * wide)
