"""Axes of a terminal's charts: where values lie, and which of them are written."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

from msgspec import Struct

from ioplan.core.text import printable
from ioplan.core.units import tick_text
from ioplan.results.report.charts.axis import LONG_S, NINES, time_ticks
from ioplan.results.report.documents import Column, Scale

MOST_VALUES = 16
"""Up to so many values that were set, and not measured, are ticks themselves."""
SET = ("", "text", "size", "%")
"""Their units."""
ABOUT = 5
"""So many ticks otherwise."""
MOST_LOG = 12
WIDE = 100.0
"""A logarithmic axis over a larger ratio has powers of ten only."""

Ticks = list[tuple[float, str]]


def text_on(column: Column, value: float) -> str:
    """A value as it is written beside an axis."""
    if column.order:
        return printable(column.order[round(value)])
    return tick_text(value, column.unit)


class Axis(Struct, frozen=True):
    low: float
    high: float
    is_log: bool
    column: Column

    def at(self, value: float) -> float:
        return log10(value) if self.is_log else value

    def has(self, value: float) -> bool:
        """Whether it has a place: on a logarithmic axis 0 has none."""
        return value > 0 or not self.is_log

    def ticks(self, values: Sequence[float]) -> Ticks:
        column = self.column
        return [(self.at(value), text_on(column, value)) for value in values]

    @property
    def round_values(self) -> list[float]:
        """1, 2 and 5 times powers of ten; or whole minutes and hours."""
        low, high = self.low, self.high
        if self.is_log:
            return _round_log(low, high)
        if self.column.unit == "s" and high >= LONG_S:
            return [float(value) for value in time_ticks(high)]
        step = _step(low, high)
        first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
        return [round(number * step, 12) for number in range(first, last + 1)]


def axis(column: Column, scale: Scale, values: Sequence[float], zero: bool) -> Axis:
    """An axis for these values; with `zero`, a linear one begins there and ends at a
    round figure."""
    positive = [value for value in values if value > 0]
    is_log = scale == "log" and bool(positive)
    low, high = min(positive if is_log else values), max(values)
    if zero and not is_log:
        low = min(0.0, low)
    if low == high:
        low, high = (low / 2, high * 2) if is_log else (low - 0.5, high + 0.5)
    while zero and not is_log:  # as on the page
        step = _step(low, high)
        low, high = floor(low / step + 1e-9) * step, ceil(high / step - 1e-9) * step
        if _step(low, high) == step:
            break
    return Axis(low, high, is_log, column)


def _step(low: float, high: float) -> float:
    """1, 2 or 5 times a power of ten, for ABOUT steps."""
    rough = (high - low) / ABOUT
    power = 10.0 ** floor(log10(rough))
    return next(s * power for s in (1, 2, 5, 10) if s * power >= rough * 0.999)


def _round_log(low: float, high: float) -> list[float]:
    """The ends and the middle where there are hardly any."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    factors = (1, 2, 5) if high / low <= WIDE else (1,)
    step = max(1, ceil(len(powers) * len(factors) / MOST_LOG))
    figures = [f * 10.0**power for power in powers[::step] for f in factors]
    ticks = [figure for figure in figures if low <= figure <= high]
    return ticks if len(ticks) > 1 else [low, (low * high) ** 0.5, high]


def y_ticks(axis: Axis) -> Ticks:
    return axis.ticks(axis.round_values)


def x_ticks(axis: Axis, values: Sequence[float], room: int) -> Ticks:
    """As many as have room, the last one first; of few values, these themselves."""
    chosen, unit = axis.round_values, axis.column.unit
    if unit == "nines":
        chosen = list(NINES)
    elif len(set(values)) <= MOST_VALUES and unit in SET:
        chosen = sorted(set(values))
    ticks = axis.ticks([v for v in chosen if axis.low <= v <= axis.high])
    per_column = (axis.at(axis.high) - axis.at(axis.low)) / room
    spaced = ticks[-1:]
    for place, text in ticks[-2::-1]:
        distance = (spaced[-1][0] - place) / per_column
        if distance > (len(text) + len(spaced[-1][1])) / 2 + 1:
            spaced.append((place, text))
    return spaced[::-1]
