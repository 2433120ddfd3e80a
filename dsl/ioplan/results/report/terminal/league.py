"""Several sessions in the terminal: a few side by side, more below one another."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ioplan.core.text import counted, fits, line
from ioplan.core.units import ratio_text
from ioplan.results.report.document import DOUBTED
from ioplan.results.report.headlines.league import Contest, League, Standing
from ioplan.results.report.headlines.sentence import sentence, text
from ioplan.results.report.headlines.wording import OPEN, SIMULATED
from ioplan.results.report.terminal.tables import TIGHT

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


def league_note(found: League) -> str:
    """What the figures come to, and what the ratios are of."""
    count = counted(len(found.averaged), "ratio")
    notes = [f"ratios to {found.base}; mean: geometric, of {count}"]
    if left := sum(one.is_open for one in found.contests):
        notes.append(OPEN.format(counted(left, "seek")))
    notes += [SIMULATED] if found.unranked else []
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
