"""A history as a report's document: a picture of each series, and what changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal

from ioplan.core.text import counted
from ioplan.language.metric import METRICS
from ioplan.results.history.blocks import (
    band_text,
    change_texts,
    date_text,
    group_text,
    sentence,
)
from ioplan.results.history.model import History, Level, Series
from ioplan.results.report.blocks import Chip, Facts, Judged, Tone
from ioplan.results.report.charts.request import NAMES
from ioplan.results.report.documents import (
    ChartSpec,
    Column,
    Document,
    FirstScreen,
    Frame,
    Section,
)
from ioplan.results.report.first_screen import MOST_CHIPS

LABEL = "Sessions"
X = Column("x", "session, the oldest first", "")
OUTCOMES: dict[Tone, str] = {"bad": "failed", "good": "held", "warning": "undecided"}
CHIP_TONES: dict[str, Tone] = {"failed": "bad", "held": "good"}
VERDICTS: tuple[Literal["failed", "held"], ...] = ("failed", "held")
MOST_POINTS = 5000
BAND = (
    "line and band: the mean of a level, and where 19 of 20 of its sessions lie; a "
    "level ends where a change was called"
)


def document(history: History, made: str) -> Document:
    tests = groupby(history.series, key=lambda own: (own.test, own.group, own.metric))
    sections = [
        _section(number, list(group)) for number, (_, group) in enumerate(tests, 1)
    ]
    changes = [line for section in sections for line in section.judged]
    outcomes = [line.outcome for line in changes]
    chips = [Chip(line.text, CHIP_TONES[line.outcome]) for line in changes[:MOST_CHIPS]]
    return Document(
        screen=FirstScreen(
            title=f"History of {history.plan}",
            line=made,
            outcome=next((v for v in VERDICTS if v in outcomes), "none"),
            sentence=f"{sentence(history)}.",
            chips=tuple(chips),
        ),
        made=made,
        sessions=(Facts(LABEL, tuple(_facts(history))),),
        sections=tuple(sections),
        absent=(),
    )


def _facts(history: History) -> Iterator[tuple[str, str]]:
    dates = [date_text(point) for series in history.series for point in series.points]
    yield "number", str(history.sessions)
    if dates:
        yield "first", min(dates)
        yield "last", max(dates)
    yield "series parted by", ", ".join(history.by)


def _section(number: int, group: Sequence[Series]) -> Section:
    first = group[0]
    lines = [
        Judged(OUTCOMES[text.tone], f"{series.name}: {text.text}")
        for series in group
        for text in change_texts(series)
    ]
    return Section(
        id=f"test-{number}",
        title=f"{first.test}, {first.metric}: {group_text(first)}",
        judged=tuple(line for line in lines if line.outcome != "undecided"),
        remarks=tuple(line for line in lines if line.outcome == "undecided"),
        pictures=tuple(map(picture, group)),
        runs=_table(group),
        counted=counted(max(len(series.points) for series in group), "session"),
    )


def picture(series: Series) -> ChartSpec:
    """Points, levels with their bands, and breaks where these change."""
    title = NAMES.get(series.metric, series.metric)
    y = Column("y", title, series.unit)
    names = (Column("session", "session"), Column("began", "began"))
    first = max(0, len(series.points) - MOST_POINTS)
    rows = [
        (place, own.value, own.session, date_text(own), "; ".join(own.changed))
        for place, own in enumerate(series.points, 1)
        if place > first
    ]
    notes = [BAND, f"band {band_text(series)}", *filter(None, [series.why])]
    if first:
        notes.append(f"the newest {MOST_POINTS:,} of {len(series.points):,} sessions")
    return ChartSpec(
        kind="history",
        title=f"{series.name}: {title}",
        line="",
        frame=Frame((X, y, *names, Column("with", "changed")), rows),
        x="x",
        y="y",
        overlay=_levels(series, y, first),
        notes=tuple(notes),
    )


def _levels(series: Series, y: Column, first: int) -> Frame:
    columns = (
        Column("x", "from", X.unit),
        Column("x2", "to", X.unit),
        *(Column(key, key, y.unit) for key in ("mean", "low", "high")),
        *(Column(name, name) for name in ("session", "began")),
        Column("with", "changed"),
    )
    rows: list[tuple[float | str, ...]] = [
        (*band, "", "", "")
        for level in series.levels
        if level.last >= first
        for band in _bands(level, max(first, level.first))
    ]
    return Frame(columns, rows)


def _bands(level: Level, first: int) -> Iterator[tuple[float, ...]]:
    """From, to, middle and both ends; of a drift, for each session."""
    ends = level.value, level.low, level.high
    if level.began == level.value:
        yield first + 0.6, level.last + 1.4, *ends
        return
    step = (level.value / level.began) ** (1 / (level.last - level.first))
    for at in range(first, level.last + 1):
        factor = step ** (at - level.last)
        yield at + 0.5, at + 1.5, *(factor * end for end in ends)


def _table(group: Sequence[Series]) -> Frame:
    """A row for each level; all series of a group are of one metric."""
    metric = group[0].metric
    names = ("cell", "metric", "since", "until")
    columns = (
        *(Column(name, name) for name in names),
        Column("sessions", "sessions", ""),
        Column(f"value_{metric}", metric, METRICS.get(metric, ("ns",))[0]),
    )
    rows = [
        (
            series.name,
            metric,
            date_text(series.points[level.first]),
            date_text(series.points[level.last]),
            level.last - level.first + 1,
            level.value,
        )
        for series in group
        for level in series.levels
    ]
    return Frame(columns, rows)
