"""Bars that lie, a line each: of a chart, and of headlines; then what to know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import floor, log10
from textwrap import wrap
from typing import NamedTuple

from rich.console import Console
from rich.text import Text as RichText

from ioplan.core.grouping import grouped
from ioplan.core.text import line
from ioplan.core.units import metric_text
from ioplan.results.report.blocks import MARK, Bar, Bars, FirstScreen, Text
from ioplan.results.report.documents import FAILED, ChartSpec
from ioplan.results.report.headlines.doubts import SIMULATED
from ioplan.results.report.terminal.axis import text_on
from ioplan.results.report.terminal.parts import Part, curves
from ioplan.results.report.writers import STYLES, title_line

EIGHTHS = " ▏▎▍▌▋▊▉█"


class BarRow(NamedTuple):
    """A bar by its share of the longest one, and the text of its value."""

    name: str
    share: float
    value: str
    style: str = ""
    mark: str = ""


def bar_text(share: float, width: int) -> str:
    """A bar of so many cells, in eighths; of a share above 0 at least one of them."""
    eighths = max(1, round(share * width * 8)) if share > 0 else 0
    cells, part = divmod(eighths, 8)
    return EIGHTHS[-1] * cells + EIGHTHS[part].strip()


def bar_lines(rows: Sequence[BarRow], width: int, cells: int) -> Iterator[RichText]:
    """A line each, with bars of so many cells; names are cut to the room."""
    values = max((len(row.value + row.mark) for row in rows), default=0)
    names = max((len(row.name) for row in rows), default=0)
    room = min(names, width - values - cells - 2)
    for row in rows:
        text = line(row.name)
        text.truncate(room, overflow="ellipsis", pad=True)
        text += line(f" {bar_text(row.share, cells):<{cells}} ")
        yield text + line(row.value, row.style) + line(row.mark, "yellow")


# A chart.

LONGEST, SHORTEST = 40, 8


def chart_bars(chart: ChartSpec, part: Part, width: int) -> Iterator[RichText]:
    """A bar a row; several at one place of the axis have their names beside them."""
    x, unit = chart.frame.column(chart.x), chart.frame.column(chart.y).unit
    bars = [
        (place, curve.name, value)
        for curve in curves(chart, part)
        for place, value in curve.points
    ]
    bars.sort(key=lambda bar: bar[0])  # curves stay in their order
    before = [None, *(place for place, *_ in bars)]
    places = [
        text_on(x, b[0]) * (b[0] != last) for b, last in zip(bars, before, strict=False)
    ]
    left, right = max(map(len, places)), max(len(name) for _, name, _ in bars)
    values = [value for *_, value in bars]
    shares = _shares(values, chart.y_scale == "log")
    rows = [
        BarRow(
            f" {place:>{left}} {name:<{right}}",
            share,
            FAILED if value is None else metric_text(value, unit),
        )
        for place, (_, name, value), share in zip(places, bars, shares, strict=True)
    ]
    room = width - left - right - max(len(row.value) for row in rows) - 5
    return bar_lines(rows, width, max(SHORTEST, min(LONGEST, room)))


def _shares(values: Sequence[float | None], is_log: bool = False) -> list[float]:
    """Of the largest value; on a logarithmic axis, above a power of ten."""
    known = [value for value in values if value is not None]
    top, low = max(known, default=0.0), min(known, default=0.0)
    if not is_log or low <= 0:
        return [(value or 0.0) / top if top > 0 else 0.0 for value in values]
    foot = floor(log10(low) - 0.05)
    reach = log10(top) - foot
    return [0.0 if v is None else (log10(v) - foot) / reach for v in values]


# Headlines.

CELLS = 24
"""The length of the longest bar."""
NARROW = 42
"""Columns of a bar and its value, beside which a name has room."""
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
    badge = screen.badge and f", {screen.badge}"
    console.print(title_line(f"Headlines{badge}"))
    simulated = {drive.label for drive in screen.drives if drive.is_simulated}
    mark = f" {SIMULATED.upper()}"
    for card in screen.cards:
        console.print(line(card.title, "bold") + line(f"  {card.caption}", "dim"))
        bars = [bar for bar in card.bars if is_unfolded or not bar.is_folded]
        rows = [(bar.name + mark * (bar.label in simulated), bar, card) for bar in bars]
        _print_rows(console, rows)
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
    by_unit = grouped(rows, key=lambda row: row[2].unit)
    longest = {u: max(b.value or 0 for _, b, _ in own) for u, own in by_unit.items()}
    drawn = []
    for name, bar, card in rows:
        is_firm = bar.is_firm or bar.value is None
        is_bold = bar.is_best or (is_firm and len(card.bars) == 1)
        drawn.append(
            BarRow(
                f"  {name}",
                (bar.value or 0) / (longest[card.unit] or 1),
                bar.text,
                "bold" * is_bold,
                f" {MARK}" * (not is_firm),
            )
        )
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

SIGNS = {"bad": "✕ ", "warning": f"{MARK} ", "good": "✓ "}
GRAVITY = {"bad": 0, "warning": 1}
"""The tones that come first."""
MOST_LINES = 5


def print_known(
    console: Console, screen: FirstScreen, most: int | None = MOST_LINES
) -> None:
    """A line each, the gravest first: expectations, warnings, what was not measured."""
    known = _known(screen, everything=most is None)
    texts = sorted(known, key=lambda text: GRAVITY.get(text.tone, len(GRAVITY)))
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
