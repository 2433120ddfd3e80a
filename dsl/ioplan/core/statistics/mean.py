"""The mean, without a module that takes a third of a start of Python to import."""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum


def fmean(numbers: Iterable[float]) -> float:
    """As `statistics.fmean`; there is at least one number."""
    all = tuple(numbers)
    return fsum(all) / len(all)
