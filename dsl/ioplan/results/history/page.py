"""A history as a report's document: a picture of each series, and what changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal

from ioplan.core.text import counted
from ioplan.language.metric import METRICS
from ioplan.results.history.model import History, Level, Series
from ioplan.results.history.wording import (
    band_text,
    change_line,
    date_text,
    group_text,
    signal_text,
    summary_text,
)
from ioplan.results.report.blocks import Text
from ioplan.results.report.charts.request import NAMES
from ioplan.results.report.documents import (
    ChartSpec,
    Column,
    Document,
    Facts,
    FirstScreen,
    Frame,
    Judged,
    Section,
)
from ioplan.results.report.first_screen import MOST_CHIPS, cards
from ioplan.results.report.headlines.headline import MOST, Headline

LABEL = "Sessions"
X = Column("x", "session, the oldest first", "")
OUTCOMES = {"worse": "failed", "better": "held"}
MOST_POINTS = 5000
BAND = (
    "line and band: the mean of a level, and where 19 of 20 of its sessions lie; a "
    "level ends where a change was called"
)


def document(found: History, made: str) -> Document:
    """The page's content."""
    told = [
        Judged(OUTCOMES[change.verdict], f"{one.name}: {change_line(one, change)}")
        for one in found.series
        for change in one.changes
    ]
    tests = groupby(found.series, key=lambda one: (one.test, one.group, one.metric))
    sections = [
        _section(number, list(group)) for number, (_, group) in enumerate(tests, 1)
    ]
    return Document(
        screen=FirstScreen(
            title=f"History of {found.plan}",
            line=made,
            outcome=_outcome(told),
            sentence=f"{summary_text(found)}.",
            chips=tuple(_chip(one) for one in told[:MOST_CHIPS]),
            cards=cards({one.title: one.headlines for one in sections}, [LABEL]),
        ),
        made=made,
        sessions=(Facts(LABEL, tuple(_facts(found))),),
        sections=tuple(sections),
        absent=(),
    )


def _chip(change: Judged) -> Text:
    return Text(change.text, "bad" if change.outcome == "failed" else "good")


def _outcome(told: Sequence[Judged]) -> Literal["failed", "held", "none"]:
    outcomes = {one.outcome for one in told}
    if "failed" in outcomes:
        return "failed"
    return "held" if "held" in outcomes else "none"


def _facts(found: History) -> Iterator[tuple[str, str]]:
    points = [point for one in found.series for point in one.points]
    yield "number", str(found.sessions)
    if points:
        yield "first", min(map(date_text, points))
        yield "last", max(map(date_text, points))
    yield "series parted by", ", ".join(found.by)


def _section(number: int, group: Sequence[Series]) -> Section:
    first = group[0]
    lines = [
        Judged(OUTCOMES[change.verdict], f"{one.name}: {change_line(one, change)}")
        for one in group
        for change in one.changes
    ]
    told = [Judged("undecided", t) for one in group if (t := signal_text(one))]
    return Section(
        id=f"test-{number}",
        title=f"{first.test}, {first.metric}: {group_text(first)}",
        plan_text="",
        points=(),
        headlines={LABEL: tuple(map(_headline, group[:MOST]))},
        judgements=(),
        judged=tuple(lines),
        remarks=tuple(told),
        preparations=(),
        headers=(),
        pictures=tuple(map(picture, group)),
        runs=_table(group),
        counted=counted(max(len(one.points) for one in group), "session"),
        figures_of="",
        signs=(),
    )


def _headline(series: Series) -> Headline:
    """The newest figure, and the band of its level."""
    newest = series.levels[-1]
    known = series.noise_percent is not None
    return Headline(
        name="newest session",
        metric=series.metric,
        value=series.points[-1].value,
        unit=series.unit,
        kind="",
        where=" ".join(f"{axis}={value}" for axis, value in series.cell.items()),
        cell=series.cell,
        among=frozenset(),
        definition="of the newest session; ± is the band of its level",
        spread_percent=100 * (newest.high / newest.value - 1) if known else None,
        spread="±" if known else "",
    )


def picture(series: Series) -> ChartSpec:
    """Points, levels with their bands, and breaks where these change."""
    title = NAMES.get(series.metric, series.metric)
    y = Column("y", title, series.unit)
    names = ("session", "began")
    columns = (X, y, *(Column(name, name) for name in names), Column("with", "changed"))
    first = max(0, len(series.points) - MOST_POINTS)
    rows = [
        (
            place,
            point.value,
            point.session,
            date_text(point),
            "; ".join(point.changed),
        )
        for place, point in enumerate(series.points, 1)
        if place > first
    ]
    notes = [BAND, f"band {band_text(series)}", *filter(None, [series.why])]
    if first:
        notes.append(f"the newest {MOST_POINTS:,} of {len(series.points):,} sessions")
    return ChartSpec(
        kind="history",
        title=f"{series.name}: {title}",
        line="",
        frame=Frame(columns, rows),
        x="x",
        y="y",
        overlay=_levels(series, y, first),
        notes=tuple(notes),
    )


def _levels(series: Series, y: Column, first: int) -> Frame:
    """A band for each level, between the sessions that it ends at."""
    columns = (
        Column("x", "from", X.unit),
        Column("x2", "to", X.unit),
        *(Column(key, key, y.unit) for key in ("mean", "low", "high")),
        *(Column(name, name) for name in ("session", "began")),
        Column("with", "changed"),
    )
    rows: list[tuple[float | str, ...]] = [
        (*band, "", "", "")
        for one in series.levels
        if one.last >= first
        for band in _bands(one, max(first, one.first))
    ]
    return Frame(columns, rows)


def _bands(level: Level, first: int) -> Iterator[tuple[float, ...]]:
    """From, to, middle and both ends; of a drift, for each session."""
    if level.began == level.value:
        yield first + 0.6, level.last + 1.4, level.value, level.low, level.high
        return
    each = (level.value / level.began) ** (1 / (level.last - level.first))
    for at in range(first, level.last + 1):
        share = each ** (at - level.last)
        middle, low, high = (
            share * one for one in (level.value, level.low, level.high)
        )
        yield at + 0.5, at + 1.5, middle, low, high


def _table(group: Sequence[Series]) -> Frame:
    """A row for each level of each series."""
    columns = (
        Column("cell", "cell"),
        Column("metric", "metric"),
        Column("since", "since"),
        Column("until", "until"),
        Column("sessions", "sessions", ""),
        *(
            Column(f"value_{name}", name, METRICS.get(name, ("ns",))[0])
            for name in dict.fromkeys(one.metric for one in group)
        ),
    )
    metrics = list(dict.fromkeys(one.metric for one in group))
    rows = [
        (
            one.name,
            one.metric,
            date_text(one.points[level.first]),
            date_text(one.points[level.last]),
            level.last - level.first + 1,
            *(level.value if one.metric == name else None for name in metrics),
        )
        for one in group
        for level in one.levels
    ]
    return Frame(columns, rows)
