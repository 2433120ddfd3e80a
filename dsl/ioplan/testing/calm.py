"""Measurements that other programs may disturb: a defect spoils each of them."""

from __future__ import annotations

from collections.abc import Callable

TIMES = 3


def calmly(measured: Callable[[int], None]) -> None:
    """Up to three times; `measured` is told how often that was before."""
    for number in range(TIMES - 1):
        try:
            return measured(number)
        except AssertionError:
            continue
    return measured(TIMES - 1)
