"""Figures as people read them: three digits and a unit."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from math import floor, log10

# Figures as bars of one character.

BARS = " ▁▂▃▄▅▆▇█"


def bars(values: Sequence[float]) -> str:
    """A bar for each, from 0 to the largest; blank where all are 0."""
    top = max(values, default=0.0)
    return "".join(_bar(value / top if top else 0.0) for value in values)


def _bar(share: float) -> str:
    """Only nothing at all is shown as nothing."""
    step = round(share * (len(BARS) - 1))
    return BARS[step if step or not share else 1]


HALVES_UP = Context(prec=400, rounding=ROUND_HALF_UP)


THREE = 3
MIB = 1 << 20
MOST_DIGITS = 15
"""What a float tells apart."""


def digits(value: float, count: int = THREE) -> str:
    """Significant digits without an exponent; halves go up, as in the page."""
    if value == 0:
        return "0"
    places = max(0, count - 1 - floor(log10(abs(value))))
    if places >= 6 and count == THREE:
        return f"{value:.2g}"
    shown = Decimal(value).quantize(Decimal(1).scaleb(-places), context=HALVES_UP)
    if places and abs(shown) >= 10 ** (count - places):  # 99.97 is 100, not 100.0
        shown = shown.quantize(Decimal(1).scaleb(1 - places), context=HALVES_UP)
    return f"{shown:f}"


def scaled(
    value: float, steps: tuple[tuple[float, str], ...], count: int = THREE
) -> str:
    """The value in the largest of the units that it reaches."""
    for factor, unit in steps:
        if abs(value) >= factor * 0.9995:
            return f"{digits(value / factor, count)}{unit}"
    return f"{digits(value / steps[-1][0], count)}{steps[-1][1]}"


def iops_text(iops: float, count: int = THREE) -> str:
    """I/Os per second: 950, 12.3k, 1.20M."""
    return scaled(iops, ((1e6, "M"), (1e3, "k"), (1.0, "")), count)


def bandwidth_text(bytes_per_s: float, count: int = THREE) -> str:
    """MB/s, decimal, as data sheets have it."""
    return digits(bytes_per_s / 1e6, count)


LATENCIES = ((1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1.0, " ns"))


def latency_text(latency_ns: float | None, count: int = THREE) -> str:
    """ns, µs, ms or s."""
    return "–" if latency_ns is None else scaled(latency_ns, LATENCIES, count)


BYTES = ((1e12, " TB"), (1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1.0, " B"))


def bytes_text(count: float) -> str:
    """Decimal bytes: 1.20 TB."""
    return scaled(count, BYTES)


def time_text(seconds: float) -> str:
    """A duration: 0.25 s, 45 s, 3 min 20 s, 7 h 05 min, 3 d 4 h."""
    if seconds < 10:
        return f"{digits(round(seconds, 3))} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return _pair(whole, 60, "min", "s")
    if whole < 86400:
        return _pair(whole // 60, 60, "h", "min")
    return _pair(whole // 3600, 24, "d", "h")


def _pair(value: int, base: int, large: str, small: str) -> str:
    high, low = divmod(value, base)
    return f"{high} {large} {low:02d} {small}" if low else f"{high} {large}"


def ratio_text(ratio: float) -> str:
    """`1.13×`, `0.554×`, `9.45×`."""
    return f"{digits(ratio)}×"


LEAST_PERCENT = 0.001


def percent_text(percent: float) -> str:
    """`2.1 %`, `12 %`: two digits, of what is no rounding error."""
    if 0 < abs(percent) < LEAST_PERCENT:
        return f"< {LEAST_PERCENT:g} %"
    return f"{digits(percent, 2)} %"


PER = "1/s per "
"""How the units of IOPS for something begin."""


def metric_text(value: float | None, unit: str, count: int = THREE) -> str:
    """A metric's value in its unit, with so many digits."""
    if value is None:
        return "–"
    if unit == "ns":
        return latency_text(value, count)
    if unit == "B/s":
        return f"{bandwidth_text(value, count)} MB/s"
    if unit == "B/s per W":
        return f"{bandwidth_text(value, count)} MB/s per W"
    if unit == "B" and value >= 1e6:
        if value % MIB == 0:  # a block size, which is exact
            return f"{value / MIB:g} MiB"
        return scaled(value, BYTES, count)
    if unit == "1/s":
        return iops_text(value, count)
    if unit.startswith(PER):
        return f"{digits(value, count)} IOPS per {unit.removeprefix(PER)}"
    if not unit and value.is_integer():  # a queue depth, a count
        return f"{value:.0f}"
    return f"{digits(value, count)} {unit}".strip()


def told_apart(value: float | None, other: float | None, unit: str) -> str:
    """A metric's value, with the digits that tell it from another one."""
    if value is None or other is None or value == other:
        return metric_text(value, unit)
    for count in range(THREE, MOST_DIGITS):
        if f"{value:.{count - 1}e}" != f"{other:.{count - 1}e}":
            return metric_text(value, unit, count)
    return metric_text(value, unit, MOST_DIGITS)
