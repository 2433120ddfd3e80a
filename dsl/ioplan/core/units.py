"""Figures as people read them: three digits and a unit.

`metric_text` writes every figure of a report; units.js writes the same texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from math import floor

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
OF_TICKS = 4
"""Digits of a tick: those of a part of an axis differ in the last ones."""
MOST_DIGITS = 15
"""What a float tells apart."""


def digits(value: float, count: int = THREE) -> str:
    """Significant digits without an exponent, `3,460`; halves go up."""
    if value == 0:
        return "0"
    exact = Decimal(value)
    step = Decimal(1).scaleb(exact.adjusted() + 1 - count)
    shown = exact.quantize(step, context=HALVES_UP)
    if step < 1 and shown.adjusted() > exact.adjusted():  # 99.97 is 100, not 100.0
        shown = shown.quantize(step.scaleb(1), context=HALVES_UP)
    return f"{shown:,f}"


def without_zeros(text: str) -> str:
    """A round figure: `50 µs`, not `50.0 µs`."""
    return re.sub(r"\.(?=\D|$)", "", re.sub(r"(\.\d*?)0+(?=\D|$)", r"\1", text))


def count_text(count: int) -> str:
    """`1,112`."""
    return f"{count:,}"


Steps = tuple[tuple[float, str], ...]


def scaled(value: float, steps: Steps, count: int = THREE) -> str:
    """The value in the largest of the units that it reaches."""
    for factor, unit in steps:
        if abs(value) >= factor * 0.9995:
            return f"{digits(value / factor, count)}{unit}"
    return f"{digits(value / steps[-1][0], count)}{steps[-1][1]}"


THOUSANDS = 1e4
"""I/Os per second from here on have a k."""
IOPS: Steps = ((1e6, "M"), (1e3, "k"))
RATES: Steps = ((1e9, " GB/s"), (1e6, " MB/s"))
LATENCIES: Steps = ((1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1.0, " ns"))
BYTES: Steps = ((1e12, " TB"), (1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1.0, " B"))
KIB, MIB = 1 << 10, 1 << 20
SIZES: Steps = ((1 << 40, " TiB"), (1 << 30, " GiB"), (MIB, " MiB"), (KIB, " KiB"))
SIZES += ((1.0, " B"),)
MOST_SIZE = 1e9
"""More bytes are an amount, and not the size of a block."""


def iops_text(iops: float, count: int = THREE) -> str:
    """I/Os per second: 950, 3,460, 12.3k, 1.20M."""
    if abs(iops) < THOUSANDS * 0.9995:
        return digits(iops, count)
    return scaled(iops, IOPS, count)


def bandwidth_text(bytes_per_s: float, count: int = THREE) -> str:
    """673 MB/s, 2.41 GB/s: decimal, as data sheets have it."""
    return scaled(bytes_per_s, RATES, count)


def latency_text(latency_ns: float | None, count: int = THREE) -> str:
    """ns, µs, ms or s."""
    return "–" if latency_ns is None else scaled(latency_ns, LATENCIES, count)


def bytes_text(count: float) -> str:
    """Decimal bytes: 1.20 TB."""
    return scaled(count, BYTES)


def time_text(seconds: float) -> str:
    """A duration: 0.25 s, 45 s, 3 min 20 s, 7 h 05 min, 3 d 4 h."""
    if seconds < 59.95:
        return f"{without_zeros(digits(seconds))} s"
    whole = floor(seconds + 0.5)
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


def share_text(percent: float, limit: float) -> str:
    """`3.12 % (limit 20 %)`, with the digits that tell the two apart."""
    return f"{told_apart(percent, limit, '%')} (limit {limit:g} %)"


MOST_EXACT_PERCENT = 2.0
"""A smaller spread or error changes no decision, and is not shown."""


def spread_text(percent: float | None) -> str:
    """` ± 2.1 %`; nothing where it is too small to change a decision."""
    is_seen = percent is not None and percent > MOST_EXACT_PERCENT
    return f" ± {percent_text(percent)}" if is_seen and percent else ""


IOPS_UNIT = "1/s"
"""How the units of IOPS begin, and of IOPS for something: names tell them."""


def metric_text(value: float | None, unit: str, count: int = THREE) -> str:
    """A metric's value in its unit, with so many digits."""
    if value is None:
        return "–"
    if unit in TEXTS:
        return TEXTS[unit](value, count)
    if unit.startswith(IOPS_UNIT):
        return iops_text(value, count)
    if not unit and float(value).is_integer():  # a queue depth, a count
        return f"{value:,.0f}"
    return f"{digits(value, count)} {unit}".strip()


def whole_text(value: float | None, unit: str) -> str:
    """`62.0k IOPS`: a metric's value where neither name nor heading has the unit."""
    return metric_text(value, unit) + iops_suffix(unit) * (value is not None)


def iops_suffix(unit: str) -> str:
    return " IOPS" if unit == IOPS_UNIT else ""


def without_underscores(text: str) -> str:
    """`82,950 iops` of a plan's `82_950 iops`."""
    return re.sub(r"(?<=\d)_(?=\d)", ",", text)


def _size_or_amount(value: float, count: int) -> str:
    step = MIB if value >= 1e6 else KIB
    if 0 < value < MOST_SIZE and value % step == 0:
        return without_zeros(scaled(value, SIZES))
    return scaled(value, BYTES, count)


def _nines(value: float) -> str:
    """The percentile that has so many nines, as an axis counts them."""
    return f"{100 - 10 ** (2 - value):.{max(0, floor(value + 0.5) - 2)}f} %"


TEXTS: dict[str, Callable[[float, int], str]] = {
    "ns": latency_text,
    "B/s": bandwidth_text,
    "B/s per W": lambda value, count: f"{bandwidth_text(value, count)} per W",
    "B": _size_or_amount,
    "size": lambda value, count: without_zeros(scaled(value, SIZES, count)),
    "s": lambda value, count: time_text(value),
    "%": lambda value, count: f"{without_zeros(digits(value, count))} %",
    "percentile": lambda value, count: f"{without_zeros(digits(value, 6))} %",
    "nines": lambda value, count: _nines(value),
}

BARE = ("ns", "s", "B/s", "1/s", "B")
"""Units whose zero says nothing: `0`, not `0 ns`."""


def tick_text(value: float, unit: str) -> str:
    """A value beside an axis, of which the title says what it is per or of."""
    if not value and unit in BARE:
        return "0"
    unit = unit.partition(" of ")[0].removesuffix(" per W")
    return without_zeros(metric_text(value, unit, OF_TICKS))


def told_apart(value: float | None, other: float | None, unit: str) -> str:
    """A metric's value, with the digits that tell it from another one."""
    if value is None or other is None or value == other:
        return metric_text(value, unit)
    for count in range(THREE, MOST_DIGITS):
        text = metric_text(value, unit, count)
        if text != metric_text(other, unit, count):
            return text
    return metric_text(value, unit, MOST_DIGITS)
