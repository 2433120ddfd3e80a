"""Bars that lie: a name, its bar, its value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, log10
from typing import NamedTuple

from rich.text import Text

from ioplan.core.text import line
from ioplan.core.units import metric_text
from ioplan.results.report.documents import FAILED, ChartSpec
from ioplan.results.report.terminal.axis import axis
from ioplan.results.report.terminal.parts import Part, curves

EIGHTHS = " ▏▎▍▌▋▊▉█"
LONGEST = 40
SHORTEST = 8


class BarRow(NamedTuple):
    """A bar by its share of the longest one, and the text of its value."""

    name: str
    share: float
    value: str
    style: str = ""
    mark: str = ""


def bar_text(share: float, width: int) -> str:
    """A bar of so many cells, in eighths; of a share above 0 at least one of them."""
    eighths = max(1, round(share * width * 8)) if share > 0 else 0
    cells, part = divmod(eighths, 8)
    return EIGHTHS[-1] * cells + EIGHTHS[part].strip()


def bar_lines(rows: Sequence[BarRow], width: int, cells: int) -> Iterator[Text]:
    """A line each, with bars of so many cells; names are cut to the room."""
    values = max((len(row.value + row.mark) for row in rows), default=0)
    names = max((len(row.name) for row in rows), default=0)
    room = min(names, width - values - cells - 2)
    for row in rows:
        text = line(row.name)
        text.truncate(room, overflow="ellipsis", pad=True)
        text += line(f" {bar_text(row.share, cells):<{cells}} ")
        yield text + line(row.value, row.style) + line(row.mark, "yellow")


def chart_bars(chart: ChartSpec, part: Part, width: int) -> Iterator[Text]:
    """A bar a row; several at one place of the axis have their names beside them."""
    group = curves(chart, part)
    places = sorted({x for curve in group for x in curve.xs})
    x, unit = chart.frame.column(chart.x), chart.frame.column(chart.y).unit
    x_axis = axis(x, "linear", places or [0.0], zero=False)
    names, values = [], []
    for place in places:
        text = x_axis.text(place)
        for curve in group:
            for _, value in (point for point in curve.points if point[0] == place):
                names.append((text, curve.name))
                values.append(value)
                text = ""
    widths = [max(map(len, column)) for column in zip(*names, strict=True)]
    scale = Scale(values, chart.y_scale == "log")
    rows = [
        BarRow(
            f" {place:>{widths[0]}} {name:<{widths[1]}}",
            scale.share(value),
            FAILED if value is None else metric_text(value, unit),
        )
        for (place, name), value in zip(names, values, strict=True)
    ]
    room = width - sum(widths) - max(len(row.value) for row in rows) - 5
    return bar_lines(rows, width, max(SHORTEST, min(LONGEST, room)))


class Scale:
    """Shares of the largest value; on a logarithmic axis, above a power of ten."""

    def __init__(self, values: Sequence[float | None], is_log: bool = False) -> None:
        known = [value for value in values if value is not None]
        self.top, self.foot = max(known, default=0.0), 0
        self.is_log = is_log and min(known, default=0.0) > 0
        if self.is_log:
            self.foot = floor(log10(min(known)) - 0.05)

    def share(self, value: float | None) -> float:
        if value is None or self.top <= 0:
            return 0.0
        if not self.is_log:
            return value / self.top
        return (log10(value) - self.foot) / (log10(self.top) - self.foot)
