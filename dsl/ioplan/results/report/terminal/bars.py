"""Bars that lie: a name, its bar, its value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, log10
from typing import NamedTuple

from rich.text import Text

from ioplan.results.report.document import FAILED, ChartSpec
from ioplan.results.report.terminal.parts import Curve, Part, curves
from ioplan.results.report.terminal.ticks import axis, value_text

EIGHTHS = " ▏▎▍▌▋▊▉█"
LONGEST = 40
LEAST = 8


class Bar(NamedTuple):
    """One bar; the place is written at the first of its bars only."""

    place: str
    name: str
    value: float | None


def bars(picture: ChartSpec, part: Part, width: int) -> Text:
    """A bar a row; several at one place of the axis have their names beside them."""
    found = list(_bars(picture, curves(picture, part)))
    unit = picture.frame.column(picture.y).unit
    values = [bar.value for bar in found if bar.value is not None]
    texts = [FAILED if b.value is None else value_text(b.value, unit) for b in found]
    first = max(len(bar.place) for bar in found)
    second = max(len(bar.name) for bar in found)
    room = width - first - second - max(map(len, texts)) - 5
    longest = max(LEAST, min(LONGEST, room))
    log = picture.y_scale == "log" and min(values, default=0.0) > 0
    lines = []
    for bar, text in zip(found, texts, strict=True):
        name = f" {bar.place:>{first}} {bar.name:<{second}} "
        lines.append(f"{name}{_drawn(bar.value, values, log, longest)} {text}")
    return Text("\n".join(lines), no_wrap=True, overflow="ignore")


def _bars(picture: ChartSpec, some: Sequence[Curve]) -> Iterator[Bar]:
    """Place, name and value, by their place on the axis."""
    column = picture.frame.column(picture.x)
    x = axis(column, "linear", [x for one in some for x in one.xs] or [0.0], False)
    places = sorted({x for one in some for x in one.xs})
    for at in places:
        place = x.text(at)
        for curve in some:
            for value in (
                y for x, y in zip(curve.xs, curve.ys, strict=True) if x == at
            ):
                yield Bar(place, curve.name, value)
                place = ""


def _drawn(
    value: float | None, values: Sequence[float], log: bool, longest: int
) -> str:
    """Its share of the largest; on a logarithmic axis, above a power of ten."""
    top = max(values, default=0.0)
    if value is None or top <= 0:
        return ""
    share = value / top
    if log:
        foot = floor(log10(min(values)) - 0.05)
        share = (log10(value) - foot) / (log10(top) - foot)
    eighths = max(1, round(share * longest * 8)) if value > 0 else 0
    whole, rest = divmod(eighths, 8)
    return EIGHTHS[-1] * whole + EIGHTHS[rest].strip()
