"""vdbench's numbers: sizes in units of 1024, times in seconds."""

from __future__ import annotations

import re
from collections.abc import Mapping

Units = Mapping[str, int]
NONE: Units = {"": 1}
SIZES: Units = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
SECONDS: Units = {"": 1, "s": 1, "m": 60, "h": 3600}


def in_units(text: str, units: Units) -> float | None:
    """A number with one of some units; None for what is none."""
    found = re.fullmatch(r"(\d{1,19}(?:\.\d{1,9})?)([a-z]?)b?", text.strip().lower())
    return float(found[1]) * units[found[2]] if found and found[2] in units else None


def bytes_of(text: str) -> int:
    """`4k`, `1m`; 0 for what is no size."""
    return int(in_units(text, SIZES) or 0)
