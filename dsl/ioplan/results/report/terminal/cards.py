"""Headlines as bars, a line each, and what to know: the blocks of a screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from textwrap import wrap

from rich.console import Console

from ioplan.core.grouping import grouped
from ioplan.core.text import line
from ioplan.results.report.blocks import Bar, Bars, FirstScreen, Text
from ioplan.results.report.terminal.bars import BarRow, Scale, bar_lines
from ioplan.results.report.writers import STYLES

CELLS = 24
"""The length of the longest bar."""
MARK = "▲"
SIGNS = {"bad": "✕ ", "warning": f"{MARK} ", "good": "✓ "}
GRAVITY = ("bad", "warning")
"""The tones that come first."""
NARROW = 42
"""Columns of a bar and its value, beside which a name has room."""
MOST_LINES = 5
SEPARATOR = " · "

Row = tuple[str, Bar, Bars]
"""A name, and a bar of a card."""


def print_headlines(
    console: Console, cards: Sequence[Bars], tests: Mapping[str, str]
) -> None:
    """The headlines of one session, a line each, below the titles of their tests.

    Bars of one unit share a scale. `tests` has the titles by the links of cards.
    """
    for link, title in tests.items():
        group = [card for card in cards if card.link == link]
        names = [_name(card, title) for card in group]
        if max(map(len, names), default=0) > console.width - NARROW:
            names = [_name(card, title, is_short=True) for card in group]
        pairs = zip(names, group, strict=True)
        rows = [(name, bar, card) for name, card in pairs for bar in card.bars]
        console.print(line(title, "bold"))
        _print_rows(console, rows)
        _print_wrapped(console, list(_notes(rows)) if rows else ["  no figure"], "dim")


def _name(card: Bars, test: str, is_short: bool = False) -> str:
    """`4 KiB p99 latency, random reads, QD 1`; short, without the size."""
    place = card.title.removeprefix(test).removeprefix(", ")
    *size, quantity, _ = card.caption.split(SEPARATOR)
    if is_short:
        size, quantity = [], quantity.replace("mean latency", "mean")
    return ", ".join(filter(None, (" ".join((*size, quantity)), place)))


def print_screen(
    console: Console, screen: FirstScreen, is_unfolded: bool = False
) -> None:
    """Several sessions: for each headline a line for each drive, best first."""
    for card in screen.cards:
        console.print(line(card.title, "bold") + line(f"  {card.caption}", "dim"))
        bars = [bar for bar in card.bars if is_unfolded or not bar.is_folded]
        _print_rows(console, [(bar.label, bar, card) for bar in bars])
        folded = len(card.bars) - len(bars)
        more = f"and {folded} more: --tables" if folded else ""
        texts = filter(None, (more, card.limit_text, *card.notes))
        _print_wrapped(console, (f"  {text}" for text in texts), "dim")
    console.print()
    if not screen.is_in_chips:
        _print_wrapped(console, [screen.sentence], "bold")
    print_known(console, screen)


def _print_rows(console: Console, rows: Sequence[Row]) -> None:
    """Bold is the best of several, or else each value to rely on."""
    units = {card.unit for *_, card in rows}
    scales = {u: Scale([b.value for _, b, c in rows if c.unit == u]) for u in units}
    drawn = []
    for name, bar, card in rows:
        is_bare = bar.value is not None and card.unit == "1/s"
        is_firm = bar.is_firm or bar.value is None
        is_bold = bar.is_best or (is_firm and len(card.bars) == 1)
        value = f"{bar.text} IOPS" if is_bare else bar.text
        share = scales[card.unit].share(bar.value)
        style, mark = "bold" if is_bold else "", "" if is_firm else f" {MARK}"
        drawn.append(BarRow(f"  {name}", share, value, style, mark))
    lines = bar_lines(drawn, console.width, CELLS)
    for text, (_, _, card) in zip(lines, rows, strict=True):
        limit = line(f"  {card.limit_text}" * (len(card.bars) == 1), "dim")
        limit.rstrip()
        fits = len(text) + len(limit) <= console.width
        console.print(text + limit if fits else text)
        if not fits:
            console.print(line("  ") + limit)


def _notes(rows: Sequence[Row]) -> Iterator[str]:
    """Each note once, with the headline that it is about if it is not about all."""
    for note, about in grouped(rows, key=lambda row: row[1].note).items():
        others = f" and {len(about) - 1} more" if len(about) > 1 else ""
        place = "" if len(about) == len(rows) else f"{about[0][0]}{others}: "
        if note:
            yield f"  {place}{note}"


def _print_wrapped(console: Console, texts: Iterable[str], style: str) -> None:
    for row in chain.from_iterable(_wrapped(console, text) for text in texts):
        console.print(line(row, style))


def _wrapped(console: Console, text: str) -> list[str]:
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    return wrap(text, console.width, subsequent_indent=indent)


# What a reader must know before relying on the figures.


def print_known(
    console: Console, screen: FirstScreen, most: int | None = MOST_LINES
) -> None:
    """A line each, the gravest first: expectations, warnings, what was not measured."""
    texts = list(_known(screen, everything=most is None))
    texts.sort(key=lambda text: GRAVITY.index(text.tone) if text.tone in GRAVITY else 2)
    count = 0
    for left, text in zip(range(len(texts), 0, -1), texts, strict=True):
        rows = _wrapped(console, f"{SIGNS.get(text.tone, '')}{text.text}")
        count += len(rows)
        if most and count > most - (left > 1):
            console.print(line(f"and {left} more: --tables", "dim"))
            break
        for row in rows:
            console.print(line(row, STYLES[text.tone]))


def _known(screen: FirstScreen, everything: bool) -> Iterator[Text]:
    """The chips, each with the first of what it counts; a list in place of its own."""
    yield from (Text(failure, "bad") for failure in screen.failures)
    for chip in screen.chips:
        first, *others = chip.details or ("",)
        if chip.is_list and first:
            more = f"; and {len(others)} more" if others and not everything else ""
            yield Text(first + more, chip.tone)
            yield from (Text(text, chip.tone) for text in others if everything)
        else:
            yield Text(": ".join(filter(None, (chip.text, first))), chip.tone)
