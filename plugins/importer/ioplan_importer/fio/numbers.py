"""fio's numbers: what its parse.c makes of a text, which its manual tells otherwise.

A number ends at the first character that is no digit, and what follows is a unit only
if it is a letter: `1.5g` is 1 byte and `2*1048576` is 2. With `kb_base=1024`, the
default, `1k` and `1kb` are 1024 and `1kib` is 1000 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

NUMBER = re.compile(r"\s*([+-]?\d+)")
HEX = re.compile(r"\s*([+-]?0[xX][0-9a-fA-F]+)")
POWERS = {"k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
PLAIN_SIZE = re.compile(r"\d+(%|[kmgtp]?b?|[kmgtp]ib?)?", re.IGNORECASE)
PLAIN_TIME = re.compile(r"\d+(us|usec|ms|msec|s|m|h|d)?", re.IGNORECASE)
MOST_DIGITS = 24
TIME_UNITS = {"s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}

Parsed = TypeVar("Parsed")


class NumberFault(ValueError):
    """A text that fio does not take as a number."""


class Percent(Struct, frozen=True):
    """A share of the target."""

    percent: int


Extent = int | Percent
"""Bytes, or a share of the target."""


def whole(text: str) -> int:
    """A count. Raises NumberFault."""
    found = HEX.match(text) or NUMBER.match(text)
    if not found:
        raise NumberFault(f"{text!r} is no number")
    if len(found[1]) > MOST_DIGITS:
        raise NumberFault(f"{text[:MOST_DIGITS]!r}… is no number of 64 bits")
    return int(found[1], 16 if "x" in found[1].lower() else 10)


def size(text: str, kb_base: int = 1024) -> Extent:
    """Bytes, or a share. Raises NumberFault."""
    number, rest = whole(text), _rest(text).lower()
    if rest.startswith("%"):
        return Percent(number)
    return number * _factor(re.split("[:,/-]", rest)[0], kb_base)


def bytes_of(text: str, kb_base: int = 1024) -> int:
    """Bytes. Raises NumberFault, also for a share."""
    found = size(text, kb_base)
    if isinstance(found, Percent):
        raise NumberFault(f"{text!r} is a share, and bytes are wanted")
    return found


def _factor(unit: str, kb_base: int) -> int:
    """A unit's factor; with an i it has the other base, as fio does it on purpose."""
    power = POWERS.get(unit[:1], 0)
    base = (1000 if kb_base == 1024 else 1024) if unit[1:3] == "ib" else kb_base
    return int(base**power)


def time_us(text: str, *, seconds: bool) -> int:
    """A time; a bare number is seconds or microseconds. Raises NumberFault."""
    number, unit = whole(text), _rest(text).lower()
    if not unit[:1].isalpha():
        return number * (10**6 if seconds else 1)
    if unit.startswith("us"):
        return number
    if unit.startswith("ms"):
        return number * 1000
    return number * TIME_UNITS.get(unit, 1)


def _rest(text: str) -> str:
    """What follows the decimal digits, for fio also of a hexadecimal number."""
    found = NUMBER.match(text)
    return text[found.end() :] if found else text


def by_direction(text: str, read: Callable[[str], Parsed]) -> list[Parsed | None]:
    """`A`, `A,B` and `A,B,C` for reads, writes and trims; None where nothing is said.

    The last of two or more that are said holds for those behind it.
    """
    parts = [part.strip() for part in text.split(",")]
    found = [read(part) if part else None for part in parts[:3]]
    if len(parts) == 1:
        return found * 3
    return found + [found[-1]] * (3 - len(found))


def is_plain_size(text: str) -> bool:
    """Whether a size means what it seems to."""
    return bool(PLAIN_SIZE.fullmatch(text.strip())) or bool(HEX.fullmatch(text))


def is_plain_time(text: str) -> bool:
    """Whether a time means what it seems to."""
    return bool(PLAIN_TIME.fullmatch(text.strip()))
