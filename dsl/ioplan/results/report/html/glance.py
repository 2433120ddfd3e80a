"""The first screen's table: the headlines of each test, or several sessions beside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.text import counted
from ioplan.core.units import ratio_text
from ioplan.results.report.documents import Document, Section
from ioplan.results.report.headlines.headline import Headline
from ioplan.results.report.headlines.league import (
    Contest,
    League,
    Standing,
    contests,
    league,
)
from ioplan.results.report.headlines.wording import (
    OPEN,
    UNRANKED,
    nothing_text,
)

MOST_BESIDE = 4
"""Up to so many sessions stand side by side; more are rows."""
MOST_BASES = 8
"""With more sessions, the ratios on the first screen have one base."""
MOST_ACROSS = 6
"""Tests beside one another in a league of many sessions."""
MOST_ROWS = 24
MOST_HEADLINES = 20
"""Rows beside one another, unless there are more tests; the rest is in each test."""
"""The rest of a longer league is folded."""


class Cell(Struct, frozen=True):
    """A figure, a few words below it, and its definition to point at.

    `notes` are what must be known of it; one that is not `firm` is not in bold.
    """

    text: str
    small: str = ""
    title: str = ""
    notes: tuple[str, ...] = ()
    firm: bool = True
    by_base: Mapping[str, str] = {}
    """What `small` is with another session as the base of its ratio."""
    mean_by_base: Mapping[str, str] = {}
    """What `text` is with another session as the base, where it is a mean of ratios."""


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
        sections = tuple(one for one in sections if one.points or one.headlines)
        cells = [_alone(one) for one in sections]
        width = max(map(len, cells), default=1)
        rows = tuple(
            Row(Cell(one.title), _filled(some, width), one)
            for one, some in zip(sections, cells, strict=True)
        )
        return Glance("Headlines", _heads("Test", *[""] * width), rows)
    if len(labels) > MOST_BESIDE:
        return _standings(document.league, MOST_ACROSS)
    return _beside(document.league, sections, labels)


def section_glance(section: Section, labels: Sequence[str]) -> Glance | None:
    """All headlines of a test in several sessions; those of one stand above."""
    found = league(contests(section.title, section.headlines), labels)
    if found is None:
        return None
    if len(labels) > MOST_BESIDE:
        return _standings(found, MOST_ACROSS)
    rows = tuple(
        _contest(one, Cell(one.name), found.base, labels) for one in found.contests
    )
    return Glance("Headlines", _heads("Headline", *labels), rows)


def _alone(section: Section) -> list[Cell]:
    """The headlines of the only session."""
    found = [one for some in section.headlines.values() for one in some]
    cells = [_cell(one, _said(one)) for one in found]
    return cells or [Cell("–", nothing_text(section.points))]


def _cell(one: Headline, small: str, title: str = "") -> Cell:
    """With what must be known of it."""
    notes = tuple(filter(None, (one.why, *one.notes)))
    return Cell(one.figure, small, title or one.definition, notes, one.is_firm)


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
    """A row a headline, a column a session, and the geometric mean above."""
    standings = {one.label: one for one in found.standings}
    means = tuple(_mean(standings[label], found) for label in labels)
    many = len(found.contests) > MOST_HEADLINES
    most = max(1, MOST_HEADLINES // len(sections)) if many else MOST_HEADLINES
    by_test: dict[str, list[Contest]] = {}
    for contest in found.contests:
        by_test.setdefault(contest.test, []).append(contest)
    tests = (
        row
        for one in sections
        for row in _tested(one, by_test.get(one.title, [])[:most], found.base, labels)
    )
    rows = (Row(Cell("Geometric mean", _count(found)), means), *tests)
    heads = _heads("Test", *labels)
    return Glance(_title(found), heads, rows, note=_note(found), dense=True)


def _tested(
    section: Section, found: Sequence[Contest], base: str, labels: Sequence[str]
) -> Iterator[Row]:
    """The headlines of a test, its title before the first."""
    if not found:
        nothing = Cell("–", nothing_text(section.points))
        yield Row(Cell(section.title), _filled([nothing], len(labels)), section)
    for number, one in enumerate(found):
        head = Cell("" if number else section.title, one.name)
        yield _contest(one, head, base, labels, None if number else section)


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
    rank = one.rank(label, base)
    title = found.definition + (f"; rank {rank} of {len(one.ranked)}" if rank else "")
    at = f", {found.where}" if one.differs and found.where else ""
    beside = _by_base(one.of, lambda other: _beside_figure(one, label, other) + at)
    return replace(
        _cell(found, _beside_figure(one, label, base) + at, title), by_base=beside
    )


def _by_base(labels: Iterable[str], text: Callable[[str], str]) -> dict[str, str]:
    """The text for each session that the reader may choose as the base."""
    some = [*labels]
    return {one: text(one) for one in some} if len(some) <= MOST_BASES else {}


def _beside_figure(one: Contest, label: str, base: str) -> str:
    ratio = one.ratio(label, base)
    if label == base:
        return "base"
    return ratio_text(ratio) if ratio else _no_ratio(one, label, base)


def _no_ratio(one: Contest, label: str, base: str) -> str:
    """Why a figure has none."""
    if one.is_open:
        return "a search ended at the end of its range"
    both = [one.of[label], one.of.get(base)]
    return "" if any(o is None or o.value is None for o in both) else "other cells"


def _mean(one: Standing, found: League, ranked: bool = True) -> Cell:
    """`1.13×` and the rank, unless it is elsewhere in the row.

    What is against it stands in the sentence above.
    """
    if one.geometric_mean is None or one.rank is None:
        measured = one.missing_text(len(found.contests))
        return Cell("–", measured)
    mean, base = one.geometric_mean, found.base
    rank = [f"rank {one.rank}"] if ranked else []
    small = ", ".join(["base"] * (one.label == base) + rank)
    known = {s.label: s.geometric_mean for s in found.standings if s.geometric_mean}
    return Cell(
        ratio_text(mean),
        small,
        firm=not one.against,
        mean_by_base=_by_base(known, lambda other: ratio_text(mean / known[other])),
        by_base=_by_base(
            known, lambda other: ", ".join(["base"] * (one.label == other) + rank)
        ),
    )


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
    count = sum(one.rank is not None for one in found.standings)
    if len(first) != 1 or count < 2:
        return "League"
    return f"{first[0]} is first of {count}"


def _count(found: League) -> str:
    return f"of {counted(len(found.averaged), 'ratio')}"


def _note(found: League) -> str:
    """What the ratios are of."""
    left = sum(one.is_open for one in found.contests)
    return (
        f"Ratios are to {found.base}; in the geometric mean latency ratios are "
        "inverted, so above 1 is better. `ioplan compare` tells noise from change"
        + (f"; {OPEN.format(counted(left, 'seek'))}" if left else "")
        + (f"; {UNRANKED}" if found.unranked else "")
    )
