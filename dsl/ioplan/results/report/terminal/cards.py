"""Headlines as bars in the terminal, a line each, and what to know below them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from ioplan.core.text import line
from ioplan.results.report import blocks
from ioplan.results.report.blocks import Bar, Bars

CELLS = 24
"""The length of the longest bar."""
EIGHTHS = " ▏▎▍▌▋▊▉█"
SIGN = "▲"
STYLES = {"bad": "red", "warning": "yellow", "good": "green", "soft": "dim"}


def print_cards(console: Console, cards: Sequence[Bars]) -> None:
    """Print a title for each card, and below it a line for each drive."""
    for card in cards:
        console.print(line(card.title, "bold") + line(f"  {card.caption}", "dim"))
        bars = [bar for bar in card.bars if not bar.is_folded]
        longest = max((bar.value or 0.0 for bar in card.bars), default=0.0) or 1.0
        wide = max(len(bar.label) for bar in bars)
        for bar in bars:
            console.print(_bar(bar, longest, wide))
        for note in filter(None, (card.limit_text, *card.notes)):
            console.print(line(f"  {note}", "yellow"))
        if left := len(card.bars) - len(bars):
            console.print(line(f"  and {left} more", "dim"))


def print_chips(console: Console, chips: Sequence[blocks.Text]) -> None:
    """Print what must be known, a line each."""
    for chip in chips:
        console.print(line(chip.text, STYLES.get(chip.tone, "")))


def _bar(bar: Bar, longest: float, wide: int) -> Text:
    drawn = bar_text((bar.value or 0.0) / longest)
    text = line(f"  {bar.label:<{wide}} {drawn:<{CELLS}} ")
    text += line(bar.text, "bold" if bar.is_best else "")
    if not bar.is_firm and bar.value is not None:
        text += line(f" {SIGN}", "yellow")
    return text


def bar_text(share: float) -> str:
    """A bar of this share of CELLS, in eighths of a cell."""
    full, rest = divmod(round(share * CELLS * 8), 8)
    return EIGHTHS[-1] * full + EIGHTHS[rest].strip()
