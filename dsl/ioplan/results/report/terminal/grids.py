"""Figures as cells: tables over two axes, heatmaps, and latencies over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log

import numpy as np
from msgspec import Struct
from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ioplan.core.text import fits, line, printable
from ioplan.core.units import metric_text, time_text
from ioplan.results.report.charts.axis import scale_of
from ioplan.results.report.documents import FAILED, STATUS, ChartSpec, Column
from ioplan.results.report.terminal.parts import Part, Row, phase_lines

CIVIDIS = (
    (0, 53, 102, 148, 200, 254),
    (34, 69, 105, 142, 184, 232),
    (78, 108, 112, 119, 102, 56),
)
"""Red, green and blue from dark to bright, the same to every eye; Nuñez and others,
PLOS ONE 13 (2018)."""
BRIGHT = 0.464
"""From this share on black letters can be read, before it white ones: the contrast is
4.5 at least, as WCAG 2 asks."""
SHADES = "░▒▓█"
"""Instead of colours."""


class Colors(Struct, frozen=True):
    """From the smallest value to the largest."""

    low: float
    high: float
    is_log: bool

    def style(self, value: float) -> str:
        """A background, and letters that can be read on it."""
        share = self.share(value)
        places = np.linspace(0, 1, len(CIVIDIS[0]))
        rgb = [round(float(np.interp(share, places, part))) for part in CIVIDIS]
        ink = 0 if share >= BRIGHT else 255
        return f"rgb({ink},{ink},{ink}) on rgb({rgb[0]},{rgb[1]},{rgb[2]})"

    def share(self, value: float) -> float:
        """How far it is from the smallest to the largest, from 0 to 1."""
        if self.high <= self.low:
            return 0.5
        if self.is_log:
            return log(value / self.low) / log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def shaded(
        self,
        values: Sequence[float | None],
        colored: bool,
        wide: int = 1,
        signs: Mapping[int, str] = {},  # it is not changed
    ) -> Text:
        """A cell for each value, so many signs wide; `signs` stand over these cells."""
        text = Text()
        for column, value in enumerate(values):
            shade, style = " ", ""
            if value is not None and colored:
                style = self.style(value)
            elif value is not None:
                shade = SHADES[min(int(self.share(value) * len(SHADES)), 3)]
            text.append(signs.get(column, shade) * wide, style)
        return text


def _colors(values: Sequence[float]) -> Colors:
    """In even steps, or by the powers of the values."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return Colors(low, high, scale_of(values) == "log")


# Tables over two axes: what has no room stands below.


class Grid(Struct, frozen=True):
    """A row for each entry of `down`, a column for each of `across`.

    `corner` has the titles of both, a line each: the first line is that of `across`.
    """

    corner: tuple[str, ...]
    across: Sequence[str]
    down: Sequence[str]
    cells: Sequence[Sequence[Text]]

    def turned(self) -> Grid:
        """The grid with rows and columns exchanged."""
        cells = list(zip(*self.cells, strict=True))
        return Grid(self.corner[::-1], self.down, self.across, cells)

    def table(self, start: int = 0, end: int | None = None) -> Table:
        """Some of its columns as a table."""
        table = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False)
        corner = "\n".join(f"{printable(title)} " for title in self.corner)
        table.add_column(Text(corner), justify="right", no_wrap=True)
        for name in self.across[start:end]:
            table.add_column(line(f" {name} "), justify="right", no_wrap=True)
        for name, row in zip(self.down, self.cells, strict=True):
            table.add_row(line(f"{name} "), *row[start:end])
        return table


def grid_tables(chart: ChartSpec, part: Part, console: Console) -> Iterator[Table]:
    """A part of a heatmap or table; turned, or in parts, where it is too wide."""
    grid = _grid(chart, part, "x", "row") if chart.y else _listing(chart, part)
    turned = _grid(chart, part, "row", "x") if chart.y else grid.turned()
    for turn in (grid, turned):
        if turn.across and fits(turn.table(), console):
            yield turn.table()
            return
    start = 0
    for end in range(1, len(grid.across) + 1):
        if end == len(grid.across) or not fits(grid.table(start, end + 1), console):
            yield grid.table(start, end)
            start = end


def _grid(chart: ChartSpec, part: Part, across: str, down: str) -> Grid:
    """The axis down begins at the bottom, as on the page; what was not run is empty."""
    x, rows = chart.frame.column(across), chart.frame.column(down)
    by_place = {(str(row[across]), str(row[down])): row for row in part.rows}
    y, names = chart.frame.column("y"), rows.order[::-1]
    values = [v for row in part.rows if isinstance(v := row["y"], (int, float))]
    colors = _colors(values) if chart.kind == "heatmap" else None
    cells = [
        [_cell(by_place.get((text, name)), y, colors) for text in x.order]
        for name in names
    ]
    return Grid((f"{x.title} →", f"{rows.title} ↓"), x.order, names, cells)


def _cell(row: Row | None, column: Column, colors: Colors | None) -> Text:
    if row is None:
        return Text("")
    value = row[column.key]
    if not isinstance(value, (int, float)):
        return Text(f" {FAILED if row.get(STATUS.key, 'ok') != 'ok' else '–'} ")
    style = colors.style(value) if colors else ""
    return Text(f" {metric_text(value, column.unit)} ", style=style)


def _listing(chart: ChartSpec, part: Part) -> Grid:
    """A row a point, a column a figure."""
    columns = [c for c in chart.frame.columns if c.key.startswith("m")]
    names = [c for c in chart.frame.columns if c.key.startswith("d")]
    down = [" ".join(printable(str(row[c.key])) for c in names) for row in part.rows]
    cells = [[_cell(row, column, None) for column in columns] for row in part.rows]
    if part.rows and chart.frame.marks_failures:
        columns.append(STATUS)
        for row, texts in zip(part.rows, cells, strict=True):
            status = row[STATUS.key]
            texts.append(Text(f" {FAILED} {status} " if status != "ok" else " ok "))
    across = [column.title for column in columns]
    return Grid(tuple(column.title for column in names), across, down, cells)


# A figure of many drives over time: a line for each.

LABEL = 20
FIGURE = 10


def strips(chart: ChartSpec, part: Part, width: int, colored: bool) -> Text:
    """Time across; the highest figure of each row at its end."""
    unit, times = chart.frame.column("y").unit, chart.frame.column("x").order
    names = chart.frame.column("row").order
    label = min(LABEL, max(cell_len(printable(name)) for name in names))
    wide = max(1, (width - label - FIGURE - 1) // len(times))
    values = {
        (str(row["row"]), str(row["x"])): float(row["y"])
        for row in part.rows
        if isinstance(row["y"], (int, float))
    }
    colors, across = _colors(list(values.values())), wide * len(times)
    lines = phase_lines(chart, label + 1, across, lambda column: wide * column)
    for name in names:
        cells = [values.get((name, time)) for time in times]
        peak = max((value for value in cells if value is not None), default=None)
        strip = Text(set_cell_size(printable(name), label) + " ")
        strip.append_text(colors.shaded(cells, colored, wide))
        lines.append(strip.append(metric_text(peak, unit).rjust(FIGURE)))
    last = times[-1] if len(times) > 1 else ""
    lines.append(Text(" " * (label + 1) + _ends(times[0], last, across)))
    return Text("\n", no_wrap=True, overflow="ignore").join(lines)


def _ends(first: str, last: str, width: int) -> str:
    """What an axis begins and ends with."""
    return first + " " * max(1, width - len(first) - len(last)) + last


# Latencies over time: a cell for how many I/Os.

HEIGHT = 16
WIDEST = 100
LATENCY = 9
"""Columns of a latency beside the axis; each fourth line has one."""
PERCENTILES = (("p50", "·"), ("p99", "•"))
"""The sign of each percentile in its cell."""


def density(chart: ChartSpec, part: Part, width: int, colored: bool) -> Text:
    """Latency upwards, time across; of a panel, and no finer than its rows are."""
    x, x2, y, y2 = (_column(part.rows, key) for key in ("x", "x2", "y", "y2"))
    begin_s, end_s = float(x.min()), float(x2.max())
    low, high = log(y.min()), log(y2.max())
    room = min(width, WIDEST) - LATENCY - 1
    columns = max(1, min(round((end_s - begin_s) / float((x2 - x).max())), room))
    heights = max(1, min(round((high - low) / log((y2 / y).max())), HEIGHT))
    per_s, per_log = columns / (end_s - begin_s), heights / (high - low)

    def cells(rows: Sequence[Row], latencies_ns: np.ndarray) -> tuple[np.ndarray, ...]:
        """The line from below, and the column, of latencies in the middle of rows."""
        times = (_column(rows, "x") + _column(rows, "x2")) / 2 - begin_s
        up = (np.log(np.maximum(latencies_ns, np.exp(low))) - low) * per_log
        across = (times * per_s).astype(int)
        return np.minimum(up.astype(int), heights - 1), np.minimum(across, columns - 1)

    counts = np.zeros((heights, columns))
    np.add.at(counts, cells(part.rows, np.sqrt(y * y2)), _column(part.rows, "count"))
    signs: list[dict[int, str]] = [{} for _ in range(heights)]
    for name, sign in PERCENTILES:
        ups, acrosses = cells(part.overlay, _column(part.overlay, name))
        for up, across in zip(ups, acrosses, strict=True):
            signs[up][int(across)] = sign
    positive = counts[counts > 0]
    colors = Colors(float(positive.min()), float(positive.max()), True)
    lines = phase_lines(
        chart, LATENCY + 1, columns, lambda time_s: (time_s - begin_s) * per_s
    )
    for number in reversed(range(heights)):
        edge = metric_text(float(np.exp(low + number / per_log)), "ns")
        label = f"{edge:>{LATENCY}}┤" if number % 4 == 0 else " " * LATENCY + "│"
        values = [float(count) or None for count in counts[number]]
        shades = colors.shaded(values, colored, signs=signs[number])
        lines.append(Text(label).append_text(shades))
    lines.append(Text(" " * LATENCY + "└" + "─" * columns))
    ends = _ends(time_text(begin_s), time_text(end_s), columns)
    lines.append(Text(" " * (LATENCY + 1) + ends))
    return Text("\n", no_wrap=True, overflow="ignore").join(lines)


def _column(rows: Sequence[Row], key: str) -> np.ndarray:
    return np.array([float(row[key] or 0) for row in rows])
