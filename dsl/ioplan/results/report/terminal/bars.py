"""Bars that lie: a name, its bar, its value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from msgspec import Struct
from rich.text import Text

from ioplan.core.text import printable
from ioplan.core.units import metric_text, tick_text
from ioplan.results.report.charts.axis import LONG_S, time_ticks
from ioplan.results.report.documents import FAILED, ChartSpec, Column, Scale
from ioplan.results.report.terminal.parts import Curve, Part, curves

# Where values lie on an axis of the terminal, and which of them are written.

MOST_VALUES = 16
"""Up to so many measured values are ticks themselves."""
ABOUT = 5
"""So many ticks otherwise."""
MOST_STEPS = 6
MEASURED = ("", "text", "size", "%")
"""Units of axes that were set, not measured."""
NINES = (0.0, 0.30103, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)

Tick = tuple[float, str]


class Axis(Struct, frozen=True):
    """A linear or logarithmic axis from `low` to `high`."""

    low: float
    high: float
    log: bool
    column: Column

    def at(self, value: float) -> float:
        """The place of a value."""
        return log10(value) if self.log else value

    def has(self, value: float) -> bool:
        """Whether it has a place: on a logarithmic axis 0 has none."""
        return value > 0 or not self.log

    def text(self, value: float) -> str:
        """A value as it is written beside the axis."""
        if self.column.order:
            return printable(self.column.order[round(value)])
        return tick_text(value, self.column.unit)


def axis(column: Column, scale: Scale, values: Sequence[float], zero: bool) -> Axis:
    """An axis for these values; with `zero`, a linear one begins there."""
    positive = [value for value in values if value > 0]
    log = scale == "log" and bool(positive)
    shown = positive if log else values
    low, high = min(shown), max(shown)
    if zero and not log:
        low = min(0.0, low)
    if low == high:
        low, high = (low / 2, high * 2) if log else (low - 0.5, high + 0.5)
    found = Axis(low, high, log, column)
    return _widened(found) if zero and not log else found


def _widened(one: Axis) -> Axis:
    """Up to the round figures around its values, as those of the page."""
    step = _step(one)
    low, high = floor(one.low / step + 1e-9), ceil(one.high / step - 1e-9)
    wide = Axis(low * step, high * step, one.log, one.column)
    return wide if _step(wide) == step else _widened(wide)


def y_ticks(one: Axis) -> list[Tick]:
    """Round figures: 0, 10k, 20k."""
    values = _figures(one) if one.log else _even(one)
    return [(one.at(value), one.text(value)) for value in values]


def x_ticks(one: Axis, values: Sequence[float], room: int) -> list[Tick]:
    """As many as have room; of few values, these themselves."""
    once = sorted(set(values))
    if one.column.unit == "nines":
        chosen = [tick for tick in NINES if one.low <= tick <= one.high]
    elif len(once) <= MOST_VALUES and one.column.unit in MEASURED:
        chosen = once
    elif one.log:
        chosen = _figures(one)
    else:
        chosen = [v for v in _even(one) if one.low <= v <= one.high]
    return _apart([(one.at(value), one.text(value)) for value in chosen], one, room)


def _apart(ticks: list[Tick], one: Axis, room: int) -> list[Tick]:
    """Without those whose texts would touch the one before; the last one is kept."""
    width = one.at(one.high) - one.at(one.low)
    kept: list[Tick] = []
    for tick in reversed(ticks):
        left = (kept[-1][0] - tick[0]) / width * room if kept else room
        if left > (len(tick[1]) + len(kept[-1][1] if kept else "")) / 2 + 1:
            kept.append(tick)
    return kept[::-1]


def _even(one: Axis) -> list[float]:
    """Steps of 1, 2 or 5, or whole minutes and hours."""
    if one.column.unit == "s" and one.high >= LONG_S:
        return [float(value) for value in time_ticks(one.high)]
    step = _step(one)
    first = ceil(one.low / step - 1e-9)
    count = floor((one.high - first * step) / step + 1e-9)
    return [round((first + n) * step, 12) for n in range(count + 1)]


def _step(one: Axis) -> float:
    rough = (one.high - one.low) / ABOUT
    power = 10.0 ** floor(log10(rough))
    return next(s * power for s in (1, 2, 5, 10) if s * power >= rough * 0.999)


def _figures(one: Axis) -> list[float]:
    """Round figures of a logarithmic axis; its ends where it has hardly any."""
    found = list(_round_figures(one))
    return found if len(found) > 1 else [one.low, (one.low * one.high) ** 0.5, one.high]


def _round_figures(one: Axis) -> Iterator[float]:
    """1, 2 and 5 times the powers of ten; of a wide axis the powers only."""
    powers = range(floor(log10(one.low)), ceil(log10(one.high)) + 1)
    factors = (1, 2, 5) if log10(one.high / one.low) * 3 <= MOST_STEPS else (1,)
    step = max(1, ceil((len(powers) * len(factors)) / (2 * MOST_STEPS)))
    for power in powers[::step]:
        for factor in factors:
            if one.low <= factor * 10.0**power <= one.high:
                yield factor * 10.0**power


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
    texts = [FAILED if b.value is None else metric_text(b.value, unit) for b in found]
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
