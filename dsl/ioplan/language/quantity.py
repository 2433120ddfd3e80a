"""Quantities: numbers with their unit, exact, and written one way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Literal

from msgspec import Struct

from ioplan.core.text import nearest

Kind = Literal["size", "time", "share", "mix", "iops", "bandwidth", "passes", "number"]

BINARY = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
DECIMAL = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
SIZES = {"B": 1, **BINARY, **DECIMAL}
TIMES = {
    **{"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9},
    **{"min": 60 * 10**9, "h": 3600 * 10**9},
}
UNITS: dict[str, tuple[Kind, int]] = {
    "": ("number", 1),
    "%": ("share", 1),
    "iops": ("iops", 1),
    "pass": ("passes", 1),
    "passes": ("passes", 1),
    **{unit: ("size", factor) for unit, factor in SIZES.items()},
    **{f"{unit}/s": ("bandwidth", factor) for unit, factor in SIZES.items()},
    **{unit: ("time", factor) for unit, factor in TIMES.items()},
}
OTHER_UNITS = {
    **{"m": "min", "minute": "min", "sec": "s", "second": "s", "hour": "h", "hr": "h"},
    **{"µ": "us", "msec": "ms", "usec": "us", "pc": "%", "percent": "%"},
    **{"ki": "KiB", "kib": "KiB", "mi": "MiB", "g": "GiB", "gi": "GiB"},
    **{"kb": "KiB", "mb": "MiB", "gb": "GiB"},
}
"""What people write elsewhere, in lower case and without a plural's s."""
THOUSANDS = {"k": ("KiB", 10**3), "K": ("KiB", 10**3), "M": ("MiB", 10**6)}
"""A size and a count: what a bare letter may mean."""
EXAMPLES: dict[Kind, str] = {
    "size": "4KiB",
    "time": "30s",
    "share": "70%",
    "mix": "70/30",
    "iops": "50_000 iops",
    "bandwidth": "200MiB/s",
    "passes": "2 passes",
    "number": "8",
}
KIND_NAMES: dict[Kind, str] = {
    "size": "a size",
    "time": "a time",
    "share": "a share",
    "mix": "a mix",
    "iops": "a rate in iops",
    "bandwidth": "a bandwidth",
    "passes": "a number of passes",
    "number": "a number",
}
SECTOR_BYTES = 512
"""No block device has a smaller logical block."""
MOST_DIGITS = 19
MOST_DECIMALS = 9
MOST_VALUE = (1 << 63) - 1
"""What bytes and nanoseconds may come to: 8 EiB, 292 years."""
WRITTEN = re.compile(r"([0-9](?:_?[0-9])*(?:\.[0-9](?:_?[0-9])*)?)[ \t]*(.*)", re.S)


class QuantityError(ValueError):
    """A quantity that means nothing; `help` says what to write."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.help = help


class Quantity(Struct, frozen=True):
    """A value in the base unit of its kind.

    size in bytes, time in ns, share and mix (its reads) in percent, iops and
    bandwidth per second, passes and number as they are. `text` is how a plan
    writes it.
    """

    kind: Kind
    value: int | float
    text: str

    @property
    def whole(self) -> int | None:
        """The value if it is a whole number."""
        return int(self.value) if self.value == int(self.value) else None


def parse_quantity(text: str) -> Quantity:
    """A quantity or a mix as a plan writes it. Raises QuantityError."""
    if "/" in text and not text.rstrip().endswith("/s"):
        return parse_mix(text)
    match = WRITTEN.fullmatch(text.strip())
    if not match:
        raise QuantityError(f"{text[:40]!r} is not a quantity")
    digits, unit = match[1].replace("_", ""), match[2]
    if unit not in UNITS:
        raise QuantityError(f"unknown unit {unit!r}", _unit_help(match[1], unit))
    kind, factor = UNITS[unit]
    return make(kind, _exact(kind, _number(digits) * factor, text))


def parse_mix(text: str) -> Quantity:
    """Reads/writes in percent that add up to 100."""
    try:
        reads, writes = (
            _number(part.strip().replace("_", "")) for part in text.split("/")
        )
    except QuantityError:
        raise
    except (ValueError, ArithmeticError):
        raise QuantityError(f"{text[:40]!r} is not a mix", _mix_help()) from None
    if reads + writes != 100:
        total = f"{(reads + writes).normalize():f}"
        raise QuantityError(
            f"the mix {_squeezed(text)} adds up to {total} %, not 100 %",
            _mix_help(reads),
        )
    return make("mix", float(reads))


def _mix_help(reads: Decimal = Decimal(70)) -> str:
    """With the reads that were written, where the writes can follow from them."""
    reads = reads.normalize() if reads <= 100 else Decimal(70)
    return f"reads/writes in percent, for example {reads:f}/{100 - reads:f}"


def make(kind: Kind, value: int | float) -> Quantity:
    """A quantity from its value, with the text that a plan would write."""
    return Quantity(kind, value, _written(kind, value))


def _number(digits: str) -> Decimal:
    if len(digits.replace(".", "")) > MOST_DIGITS:
        raise QuantityError(
            "the number is too long", f"a number has at most {MOST_DIGITS} digits"
        )
    if len(digits.partition(".")[2]) > MOST_DECIMALS:
        raise QuantityError(
            "the number has too many digits",
            f"a number has at most {MOST_DECIMALS} digits after its point",
        )
    return Decimal(digits)


def _exact(kind: Kind, value: Decimal, text: str) -> int | float:
    """Bytes and nanoseconds are whole; the rest may have fractions."""
    if value > MOST_VALUE:
        raise QuantityError(f"{_squeezed(text)} is too large")
    if value == value.to_integral_value():
        return int(value)
    if kind in ("size", "time"):
        unit = "byte" if kind == "size" else "nanosecond"
        raise QuantityError(f"{_squeezed(text)} is not a whole number of {unit}s")
    return float(value)


def _unit_help(number: str, unit: str) -> str:
    if unit in THOUSANDS:
        size, factor = THOUSANDS[unit]
        count = _grouped(float(Decimal(number.replace("_", "")) * factor))
        return f"did you mean {number}{size}, or {count} iops?"
    if unit in ("x", "X"):
        return "to double at each step: 1..32 doubling"
    plain = unit.lower().removesuffix("s") or unit
    meant = OTHER_UNITS.get(plain) or nearest(unit, UNITS)
    if meant:
        gap = " " if meant in ("iops", "passes", "pass") else ""
        return f"did you mean {number}{gap}{meant}?"
    return "sizes: B KiB MiB GiB TiB KB MB GB TB; times: ns us ms s min h; also % iops"


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _plain(value: float) -> str:
    """A number without needless digits."""
    whole = value == int(value)
    return str(int(value)) if whole else format(Decimal(repr(value)), "f")


def _written(kind: Kind, value: int | float) -> str:
    if kind == "size":
        return size_text(int(value))
    if kind == "time":
        return _in_largest(int(value), TIMES) if value else "0s"
    if kind == "share":
        return f"{_plain(value)}%"
    if kind == "mix":
        return f"{_plain(value)}/{_plain(round(100 - value, MOST_DECIMALS))}"
    if kind == "iops":
        return f"{_grouped(value)} iops"
    if kind == "bandwidth":
        whole = value == int(value)
        return (size_text(int(value)) if whole else f"{_plain(value)}B") + "/s"
    if kind == "passes":
        return f"{_plain(value)} {'pass' if value == 1 else 'passes'}"
    return _plain(value)


def _grouped(value: float) -> str:
    return f"{int(value):_}" if value == int(value) else _plain(value)


def size_text(size_bytes: int) -> str:
    """Bytes in the unit that makes the shorter text; binary units first."""
    binary = _in_largest(size_bytes, {"B": 1, **BINARY})
    return min((binary, *_decimals(size_bytes)), key=len)


def _decimals(size_bytes: int) -> Iterator[str]:
    """In the largest decimal unit, with one digit after the point at most."""
    for unit, factor in DECIMAL.items():
        if size_bytes >= factor and size_bytes * 10 % factor == 0:
            yield f"{_plain(size_bytes / factor)}{unit}"


def _in_largest(value: int, units: dict[str, int]) -> str:
    """A whole number of the largest unit that takes it whole."""
    for unit, factor in reversed(units.items()):
        if value and value % factor == 0:
            return f"{value // factor}{unit}"
    return f"0{next(iter(units))}"
