"""The first screen's table: the headlines of each test, or several sessions beside."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ioplan.core.text import counted
from ioplan.report.document import Document, Section
from ioplan.report.headlines.headline import MOST, Headline
from ioplan.report.headlines.league import Contest, League, Standing, contests, league
from ioplan.report.headlines.wording import SIMULATED, nothing_text, ratio_text

MOST_BESIDE = 4
"""Up to so many sessions stand side by side; more are rows."""
MOST_ACROSS = 6
"""Tests beside one another in a league of many sessions."""
MOST_ROWS = 24
"""Of a longer league the rest is folded."""


class Cell(Struct, frozen=True):
    """A figure, a few words below it, and its definition to point at."""

    text: str
    small: str = ""
    title: str = ""


class Row(Struct, frozen=True):
    """`section` is the test that a row is about, if it is about one."""

    head: Cell
    cells: tuple[Cell, ...]
    section: Section | None = None


class Glance(Struct, frozen=True):
    """A table; `folded` are rows that need no room on the first screen.

    In a `dense` one the words stand beside the figures.
    """

    title: str
    heads: tuple[Cell, ...]
    rows: tuple[Row, ...]
    folded: tuple[Row, ...] = ()
    note: str = ""
    dense: bool = False


def glance(document: Document) -> Glance:
    """What the first screen shows of a report."""
    sections, labels = document.sections, [one.heading for one in document.sessions]
    if document.league is None:
        rows = tuple(map(_alone, sections))
        return Glance("Headlines", _heads("Test", *[""] * MOST), rows)
    if len(labels) > MOST_BESIDE:
        return _standings(document.league, MOST_ACROSS)
    return _beside(document.league, sections, labels)


def section_glance(section: Section, labels: Sequence[str]) -> Glance | None:
    """All headlines of a test in several sessions; those of one stand above."""
    found = league(contests(section.title, section.headlines), labels)
    if found is None:
        return None
    if len(labels) > MOST_BESIDE:
        return _standings(found, MOST)
    rows = tuple(
        _contest(one, Cell(one.name), found.base, labels) for one in found.contests
    )
    return Glance("Headlines", _heads("Headline", *labels), rows)


def _alone(section: Section) -> Row:
    """The headlines of the only session."""
    found = [one for some in section.headlines.values() for one in some]
    cells = [Cell(one.figure, _said(one), one.definition) for one in found]
    nothing = Cell("–", nothing_text(section.points))
    return Row(Cell(section.title), _filled(cells or [nothing], MOST), section)


def _said(one: Headline) -> str:
    """`highest IOPS, random reads, QD 128`."""
    return ", ".join(filter(None, (one.name, one.kind, one.where)))


def _heads(*texts: str) -> tuple[Cell, ...]:
    return tuple(map(Cell, texts))


def _filled(cells: Sequence[Cell], count: int) -> tuple[Cell, ...]:
    return (*cells, *[Cell("")] * (count - len(cells)))


def _beside(
    found: League, sections: Sequence[Section], labels: Sequence[str]
) -> Glance:
    """A row a test, a column a session, and the geometric mean above."""
    standings = {one.label: one for one in found.standings}
    means = tuple(_mean(standings[label], found) for label in labels)
    by_test = {one.test: one for one in found.contests}
    tests = (
        _tested(one, by_test.get(one.title), found.base, labels) for one in sections
    )
    rows = (Row(Cell("Geometric mean", _count(found)), means), *tests)
    return Glance(_title(found), _heads("Test", *labels), rows, note=_note(found))


def _tested(
    section: Section, one: Contest | None, base: str, labels: Sequence[str]
) -> Row:
    """The first headline of a test."""
    if one is None:
        nothing = Cell("–", nothing_text(section.points))
        return Row(Cell(section.title), _filled([nothing], len(labels)), section)
    return _contest(one, Cell(section.title, one.name), base, labels, section)


def _contest(
    one: Contest,
    head: Cell,
    base: str,
    labels: Sequence[str],
    section: Section | None = None,
) -> Row:
    return Row(head, tuple(_figure(one, label, base) for label in labels), section)


def _figure(one: Contest, label: str, base: str) -> Cell:
    """`449k`, `1.13×, QD 128`; without a color, as a ratio may be noise.

    Where all sessions have it at the same place, this stands beside its name.
    """
    found = one.of.get(label)
    if found is None:
        return Cell("–", "no figure")
    ratio = one.ratio(label, base)
    beside = ratio_text(ratio) if ratio else "other cells"
    rank = one.rank(label, base)
    title = found.definition + (f"; rank {rank} of {len(one.ranked)}" if rank else "")
    at = f", {found.where}" if one.differs and found.where else ""
    small = ("base" if label == base else beside) + at
    return Cell(found.figure, small, title)


def _mean(one: Standing, found: League, ranked: bool = True) -> Cell:
    """`1.13×` and the rank, unless it is elsewhere in the row."""
    if one.geometric_mean is None or one.rank is None:
        return Cell("–", f"{one.measured} of {len(found.contests)} figures")
    base = ["base"] if one.label == found.base else []
    rank = [f"rank {one.rank}"] if ranked else []
    return Cell(ratio_text(one.geometric_mean), ", ".join(base + rank))


def _standings(found: League, most: int) -> Glance:
    """A row a session, the best first."""
    across = found.contests[:most]
    one_test = len({one.test for one in found.contests}) == 1
    heads = (Cell(c.name) if one_test else Cell(c.test, c.name) for c in across)
    rows = [
        Row(
            Cell(f"{one.rank}. {one.label}" if one.rank else one.label),
            (
                _mean(one, found, ranked=False),
                *(_figure(c, one.label, found.base) for c in across),
            ),
        )
        for one in found.standings
    ]
    left = len(found.contests) - len(across)
    return Glance(
        _title(found),
        (Cell("Session"), Cell("Geometric mean", _count(found)), *heads),
        tuple(rows[:MOST_ROWS]),
        tuple(rows[MOST_ROWS:]),
        _note(found) + (f"; {counted(left, 'test')} more below" if left else ""),
        dense=True,
    )


def _title(found: League) -> str:
    """`drive 17 is first of 20`; sessions with equal figures share the first place."""
    first = [one.label for one in found.standings if one.rank == 1]
    count = len(found.standings) - len(found.unranked)
    if len(first) != 1 or count < 2:
        return "League"
    return f"{first[0]} is first of {count}"


def _count(found: League) -> str:
    return f"of {counted(len(found.contests), 'ratio')}"


def _note(found: League) -> str:
    """What the ratios are of."""
    return (
        f"Ratios are to {found.base}; in their geometric mean those of latencies count "
        "inverted, so that above 1 is better. `ioplan compare` tells noise from change"
        + (f"; {SIMULATED}" if found.unranked else "")
    )
