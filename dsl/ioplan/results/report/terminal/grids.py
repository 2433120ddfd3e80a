"""Figures as cells: tables over two axes, heatmaps, and latencies over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log
from typing import NamedTuple

import numpy as np
from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ioplan.core.text import fits, line, printable
from ioplan.core.units import metric_text, time_text
from ioplan.results.report.charts.axis import figures, scale_of
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


class Colors:
    """From the smallest value to the largest, in even steps or by their powers."""

    def __init__(self, values: Sequence[float], is_log: bool | None = None) -> None:
        self.low, self.high = min(values, default=0.0), max(values, default=0.0)
        self.is_log = scale_of(values) == "log" if is_log is None else is_log

    def style(self, value: float) -> str:
        """A background, and letters that can be read on it."""
        share = self.share(value)
        places = np.linspace(0, 1, len(CIVIDIS[0]))
        red, green, blue = (round(np.interp(share, places, part)) for part in CIVIDIS)
        ink = 0 if share >= BRIGHT else 255
        return f"rgb({ink},{ink},{ink}) on rgb({red},{green},{blue})"

    def share(self, value: float) -> float:
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


# Tables over two axes: what has no room stands below.


class Grid(NamedTuple):
    """A row for each entry of `down`, a column for each of `across`.

    `corner` has the titles of both, a line each: the first line is that of `across`.
    """

    corner: Sequence[str]
    across: Sequence[str]
    down: Sequence[str]
    cells: Sequence[Sequence[Text]]

    def table(self, start: int, end: int) -> Table:
        table = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False)
        corner = "\n".join(f"{printable(title)} " for title in self.corner)
        table.add_column(Text(corner), justify="right", no_wrap=True)
        for name in self.across[start:end]:
            table.add_column(line(f" {name} "), justify="right", no_wrap=True)
        for name, row in zip(self.down, self.cells, strict=True):
            table.add_row(line(f"{name} "), *row[start:end])
        return table


def grid_tables(chart: ChartSpec, part: Part, console: Console) -> Iterator[Table]:
    """A part of a heatmap or table, in as many tables as it needs room for."""
    grid = _grid(chart, part) if chart.y else _listing(chart, part)
    start, width = 0, len(grid.across)
    for end in range(1, width + 1):
        if end == width or not fits(grid.table(start, end + 1), console):
            yield grid.table(start, end)
            start = end


def _grid(chart: ChartSpec, part: Part) -> Grid:
    """The axis down begins at the bottom, as on the page; what was not run is empty."""
    x, down, y = (chart.frame.column(key) for key in ("x", "row", "y"))
    by_place = {(str(row["row"]), str(row["x"])): row for row in part.rows}
    values = figures(row["y"] for row in part.rows)
    colors = Colors(values) if chart.kind == "heatmap" else None
    names = down.order[::-1]
    cells = [
        [_cell(by_place.get((name, text)), y, colors) for text in x.order]
        for name in names
    ]
    return Grid((f"{x.title} →", f"{down.title} ↓"), x.order, names, cells)


def _cell(row: Row | None, column: Column, colors: Colors | None = None) -> Text:
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
    cells = [[_cell(row, column) for column in columns] for row in part.rows]
    if part.rows and chart.frame.marks_failures:
        columns.append(STATUS)
        for row, texts in zip(part.rows, cells, strict=True):
            status = row[STATUS.key]
            texts.append(Text(f" {FAILED} {status} " if status != "ok" else " ok "))
    return Grid([c.title for c in names], [c.title for c in columns], down, cells)


# Time across: a cell for how much when, in a colour or a shade.

LABEL = 20
FIGURE = 10
HEIGHT = 16
WIDEST = 100
LATENCY = 9
"""Columns of a latency beside the axis; each fourth line has one."""
PERCENTILES = (("p50", "·"), ("p99", "•"))
"""The sign of each percentile in its cell."""


def strips(chart: ChartSpec, part: Part, width: int, colored: bool) -> Iterator[Text]:
    """A line for each drive; its highest figure at the end."""
    unit, times = chart.frame.column("y").unit, chart.frame.column("x").order
    names = chart.frame.column("row").order
    label = min(LABEL, max(cell_len(printable(name)) for name in names))
    wide = max(1, (width - label - FIGURE - 1) // len(times))
    values = {
        (str(row["row"]), str(row["x"])): float(row["y"])
        for row in part.rows
        if isinstance(row["y"], (int, float))
    }
    colors, across = Colors([*values.values()]), wide * len(times)
    yield from phase_lines(chart, label + 1, across, lambda column: wide * column)
    for name in names:
        cells = [values.get((name, time)) for time in times]
        peak = max((value for value in cells if value is not None), default=None)
        strip = Text(set_cell_size(printable(name), label) + " ", no_wrap=True)
        strip.append_text(colors.shaded(cells, colored, wide))
        yield strip.append(metric_text(peak, unit).rjust(FIGURE))
    yield _ends(label + 1, across, times[0], times[-1] if len(times) > 1 else "")


def _ends(left: int, width: int, first: str, last: str) -> Text:
    room = max(1, width - len(first) - len(last))
    return Text(" " * left + first + " " * room + last, no_wrap=True)


def density(chart: ChartSpec, part: Part, width: int, colored: bool) -> Iterator[Text]:
    """Latency upwards, for how many I/Os; no finer than the rows are."""
    x, x2, y, y2, ios = _columns(part.rows, "x", "x2", "y", "y2", "count")
    begin_s, end_s, low, high = x.min(), x2.max(), log(y.min()), log(y2.max())
    room = min(width, WIDEST) - LATENCY - 1
    columns = max(1, min(round((end_s - begin_s) / (x2 - x).max()), room))
    height = max(1, min(round((high - low) / log((y2 / y).max())), HEIGHT))
    per_s, per_log = columns / (end_s - begin_s), height / (high - low)

    def places(rows: Sequence[Row], latencies_ns: np.ndarray) -> tuple[np.ndarray, ...]:
        """The line from below, and the column, of latencies in the middle of rows."""
        begin, end = _columns(rows, "x", "x2")
        up = (np.log(np.maximum(latencies_ns, np.exp(low))) - low) * per_log
        across = ((begin + end) / 2 - begin_s) * per_s
        limits = (up, height), (across, columns)
        return tuple(np.minimum(at.astype(int), most - 1) for at, most in limits)

    counts = np.zeros((height, columns))
    np.add.at(counts, places(part.rows, np.sqrt(y * y2)), ios)
    signs: list[dict[int, str]] = [{} for _ in range(height)]
    for name, sign in PERCENTILES:
        for up, across in zip(
            *places(part.overlay, *_columns(part.overlay, name)), strict=True
        ):
            signs[up][int(across)] = sign
    colors = Colors(counts[counts > 0].tolist(), is_log=True)
    left, ends = LATENCY + 1, (time_text(float(begin_s)), time_text(float(end_s)))
    yield from phase_lines(chart, left, columns, lambda at: (at - begin_s) * per_s)
    for number in reversed(range(height)):
        edge = metric_text(float(np.exp(low + number / per_log)), "ns")
        label = f"{edge:>{LATENCY}}┤" if number % 4 == 0 else " " * LATENCY + "│"
        values = [float(count) or None for count in counts[number]]
        shades = colors.shaded(values, colored, signs=signs[number])
        yield Text(label, no_wrap=True).append_text(shades)
    yield Text(" " * LATENCY + "└" + "─" * columns, no_wrap=True)
    yield _ends(left, columns, *ends)


def _columns(rows: Sequence[Row], *keys: str) -> list[np.ndarray]:
    return [np.array([float(row[key] or 0) for row in rows]) for key in keys]
