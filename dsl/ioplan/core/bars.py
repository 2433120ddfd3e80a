"""Figures as bars of one character."""

from __future__ import annotations

from collections.abc import Sequence

BARS = " ▁▂▃▄▅▆▇█"


def bars(values: Sequence[float]) -> str:
    """A bar for each, from 0 to the largest; blank where all are 0."""
    top = max(values, default=0.0)
    return "".join(_bar(value / top if top else 0.0) for value in values)


def _bar(share: float) -> str:
    """Only nothing at all is shown as nothing."""
    step = round(share * (len(BARS) - 1))
    return BARS[step if step or not share else 1]
