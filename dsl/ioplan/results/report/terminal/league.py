"""Several sessions in the terminal: a few side by side, more below one another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ioplan.core.text import counted, fits, line
from ioplan.core.units import ratio_text, time_text
from ioplan.results.report.documents import DOUBTED
from ioplan.results.report.headlines.league import Contest, League, Standing
from ioplan.results.report.headlines.sentence import sentence, text
from ioplan.results.report.headlines.wording import OPEN, UNRANKED
from ioplan.results.report.terminal.tables import TIGHT
from ioplan.results.store.overview import SessionOverview

# Sessions as a list: a line each, as wide as a terminal, or 80 columns in a pipe.

HEADINGS = ("session", "plan", "drive", "runs", "verdict", "status", "took")
PLAN, DRIVE, RUNS = 1, 2, 3
LEAST = 8
"""The least width of a plan and of a drive, in characters."""


def session_lines(
    sessions: Sequence[SessionOverview], told: Mapping[str, str], width: int
) -> Iterator[str]:
    """A heading, then a line for each session, and below it what it is `told` by.

    Plans and drives are cut where there is no room; what is told stands indented.
    """
    rows = [HEADINGS, *map(_cells, sessions)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    gap = "  " if sum(widths) + 2 * len(widths) - 2 <= width else " "
    widths = _shrunk(widths, width - len(gap) * (len(widths) - 1))
    lines = (_line(row, widths, gap) for row in rows)
    yield next(lines)
    for one, row in zip(sessions, lines, strict=True):
        yield row
        if figures := told.get(one.id):
            yield f"  {' '.join(figures.split())}"


def _cells(one: SessionOverview) -> tuple[str, ...]:
    took = "" if one.duration_s is None else time_text(one.duration_s)
    return (
        one.id,
        one.plan,
        one.drive_name,
        str(one.runs),
        one.verdict_text,
        "imported" if one.is_imported else one.status,
        took,
    )


def _shrunk(widths: list[int], room: int) -> list[int]:
    """Plan and drive share what the others leave of the room."""
    left = max(room - sum(widths) + widths[PLAN] + widths[DRIVE], 2 * LEAST)
    if widths[PLAN] + widths[DRIVE] > left:
        half = left // 2
        drive = min(widths[DRIVE], max(half, left - widths[PLAN]))
        widths[PLAN], widths[DRIVE] = left - drive, drive
    return widths


def _line(row: tuple[str, ...], widths: Sequence[int], gap: str) -> str:
    cells = [
        text.rjust(wide) if place == RUNS else text.ljust(wide)
        for place, (text, wide) in enumerate(zip(row, widths, strict=True))
    ]
    cells[PLAN] = _cut(row[PLAN], widths[PLAN])
    cells[DRIVE] = _cut(row[DRIVE], widths[DRIVE])
    return gap.join(cells).rstrip()


def _cut(text: str, width: int) -> str:
    """The text cut to the width; a path keeps its end, which tells files apart."""
    text = " ".join(text.split())
    if len(text) <= width:
        return text.ljust(width)
    if text.startswith("/"):
        return f"…{text[len(text) - width + 1 :]}"
    return f"{text[: width - 1]}…"


MOST_BESIDE = 4
"""Up to so many sessions stand side by side."""
MOST_HEAD = 34
"""Columns of a test and of the name of its figure, before they take a second line."""
MOST_TITLE = 18
"""Columns that the name of a test may take."""


def league_table(found: League, console: Console) -> Table:
    """A row a test where its sessions fit in columns; else a row a session.

    That has rank, geometric mean, and the figures of as many tests as fit.
    """
    beside = _beside(found)
    if len(found.standings) <= MOST_BESIDE and fits(beside, console):
        return beside
    for most in range(len(found.contests), 0, -1):
        table = _table(found, found.contests[:most])
        if fits(table, console):
            return table
    return _table(found, ())


def print_league(console: Console, found: League) -> None:
    """Print it, and below what it comes to."""
    console.print(league_table(found, console))
    for row in league_note(found).splitlines():
        console.print(line(row, "dim"))


def league_note(found: League) -> str:
    """What the figures come to, and what the ratios are of."""
    count = counted(len(found.averaged), "ratio")
    notes = [f"ratios to {found.base}; mean: geometric, of {count}"]
    if left := sum(one.is_open for one in found.contests):
        notes.append(OPEN.format(counted(left, "seek")))
    notes += [UNRANKED] if found.unranked else []
    said = text(sentence(found))
    return f"{said}\n{'; '.join(notes)}".strip()


def _beside(found: League) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=TIGHT)
    table.add_column("", overflow="fold", max_width=MOST_HEAD)
    for one in found.standings:
        rank = f"{one.rank}. " if one.rank else ""
        table.add_column(line(rank + one.label), no_wrap=True)
    means = (line(_mean(one), "bold") for one in found.standings)
    table.add_row("geometric mean", *means)
    last = ""
    for contest in found.contests:
        test, last = "" if contest.test == last else f"{contest.test} ", contest.test
        head = line(test) + line(contest.name, "dim")
        figures = (_figure(contest, s.label, found.base) for s in found.standings)
        table.add_row(head, *figures)
    return table


def _table(found: League, contests: tuple[Contest, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=TIGHT)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("session", overflow="fold")
    table.add_column("mean", justify="right", no_wrap=True)
    for one in contests:
        title = line(one.test[:MOST_TITLE])
        table.add_column(Text("\n").join([title, line(one.name, "dim")]), no_wrap=True)
    for standing in found.standings:
        figures = (_figure(one, standing.label, found.base) for one in contests)
        table.add_row(*_place(standing), *figures)
    return table


def _place(one: Standing) -> tuple[str, Text, str]:
    return str(one.rank or ""), line(one.label), _mean(one)


def _mean(one: Standing) -> str:
    return "" if one.geometric_mean is None else ratio_text(one.geometric_mean)


def _figure(one: Contest, label: str, base: str) -> Text:
    """`449k 1.13×`."""
    found = one.of.get(label)
    if found is None:
        return line("–", "dim")
    ratio = one.ratio(label, base)
    beside = "" if ratio is None or label == base else f" {ratio_text(ratio)}"
    sign = f" {DOUBTED}" if found.value is not None and not found.is_firm else ""
    figure = line(f"{found.figure}{sign}", "bold" if found.is_firm else "")
    return figure + line(beside, "dim")
