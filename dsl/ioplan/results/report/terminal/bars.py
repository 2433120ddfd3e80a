"""Bars that lie: a name, its bar, its value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, log10
from typing import NamedTuple

from rich.text import Text

from ioplan.core.units import metric_text
from ioplan.results.report.documents import FAILED, ChartSpec
from ioplan.results.report.terminal.axis import axis
from ioplan.results.report.terminal.parts import Curve, Part, curves

EIGHTHS = " ▏▎▍▌▋▊▉█"
LONGEST = 40
SHORTEST = 8


def bar_text(share: float, width: int) -> str:
    """A bar of so many cells, in eighths; of a share above 0 at least one of them."""
    eighths = max(1, round(share * width * 8)) if share > 0 else 0
    cells, part = divmod(eighths, 8)
    return EIGHTHS[-1] * cells + EIGHTHS[part].strip()


class ChartBar(NamedTuple):
    """One bar; the place is written at the first of its bars only."""

    place: str
    name: str
    value: float | None


def chart_bars(chart: ChartSpec, part: Part, width: int) -> Text:
    """A bar a row; several at one place of the axis have their names beside them."""
    rows = list(_chart_bars(chart, curves(chart, part)))
    unit = chart.frame.column(chart.y).unit
    values = [row.value for row in rows if row.value is not None]
    texts = [FAILED if r.value is None else metric_text(r.value, unit) for r in rows]
    place = max(len(row.place) for row in rows)
    name = max(len(row.name) for row in rows)
    room = width - place - name - max(map(len, texts)) - 5
    longest = max(SHORTEST, min(LONGEST, room))
    is_log = chart.y_scale == "log" and min(values, default=0.0) > 0
    lines = [
        f" {row.place:>{place}} {row.name:<{name}} "
        f"{bar_text(_share(row.value, values, is_log), longest)} {text}"
        for row, text in zip(rows, texts, strict=True)
    ]
    return Text("\n".join(lines), no_wrap=True, overflow="ignore")


def _chart_bars(chart: ChartSpec, group: Sequence[Curve]) -> Iterator[ChartBar]:
    """Place, name and value, by their place on the axis."""
    column = chart.frame.column(chart.x)
    places = sorted({x for curve in group for x in curve.xs})
    x_axis = axis(column, "linear", places or [0.0], zero=False)
    for place in places:
        text = x_axis.text(place)
        for curve in group:
            for x, value in curve.points:
                if x == place:
                    yield ChartBar(text, curve.name, value)
                    text = ""


def _share(value: float | None, values: Sequence[float], is_log: bool) -> float:
    """Its share of the largest; on a logarithmic axis, above a power of ten."""
    top = max(values, default=0.0)
    if value is None or top <= 0:
        return 0.0
    if not is_log:
        return value / top
    foot = floor(log10(min(values)) - 0.05)
    return (log10(value) - foot) / (log10(top) - foot)
