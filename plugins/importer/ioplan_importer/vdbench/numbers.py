"""vdbench's numbers: sizes in units of 1024, times in seconds."""

from __future__ import annotations

import re

UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
SECONDS = {"s": 1, "m": 60, "h": 3600}


def bytes_of(text: str) -> int:
    """`4k`, `1m`: units of 1024."""
    found = re.fullmatch(r"(\d{1,19})([kmgt]?)b?", text.strip().lower())
    return int(found[1]) * UNITS.get(found[2], 1) if found else 0


def seconds_of(text: str, default: int) -> int:
    """A bare number is seconds."""
    found = re.fullmatch(r"(\d{1,19})([smh]?)", text.strip().lower())
    return int(found[1]) * SECONDS.get(found[2] or "s", 1) if found else default


def number_of(text: str, default: int) -> int:
    found = re.match(r"\d{1,19}", text.strip())
    return int(found[0]) if found else default
