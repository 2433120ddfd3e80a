"""The lengths of the bars on the first screen, in percent of their card's width."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ioplan.results.report.blocks import Bar, Bars
from ioplan.results.report.html.palette import GREY, Style

FULL_PERCENT = 100.0
MOST_STRETCH = 3.0
"""A limit further away than so many times the longest bar has no tick."""


class DrawnBar(Struct, frozen=True):
    """A bar with its length, the ends of its interval, and the class of its colour."""

    bar: Bar
    color: str
    length: float
    low: float | None = None
    high: float | None = None


class Card(Struct, frozen=True):
    """A block of bars as the page draws it; `limit` is the place of its tick."""

    block: Bars
    bars: tuple[DrawnBar, ...]
    limit: float | None
    folded: int
    is_alone: bool
    """Whether the page is about one drive, so that its name says nothing."""


def drawn_card(block: Bars, styles: Mapping[str, Style]) -> Card:
    """All bars of a card on one scale, which begins at zero; `styles` by drive."""
    values = [bar.high or bar.value or 0.0 for bar in block.bars]
    longest = max(values, default=0.0)
    limit = block.limit
    is_near = limit is not None and 0 < limit <= MOST_STRETCH * longest
    scale = FULL_PERCENT / (max(longest, limit or 0.0) if is_near else longest or 1.0)
    return Card(
        block,
        tuple(_drawn(bar, styles, scale) for bar in block.bars),
        round((limit or 0.0) * scale, 3) if is_near else None,
        sum(bar.is_folded for bar in block.bars),
        len(styles) < 2,
    )


def _drawn(bar: Bar, styles: Mapping[str, Style], scale: float) -> DrawnBar:
    return DrawnBar(
        bar,
        styles.get(bar.label, GREY).name,
        round((bar.value or 0.0) * scale, 3),
        None if bar.low is None else round(bar.low * scale, 3),
        None if bar.high is None else round(bar.high * scale, 3),
    )
