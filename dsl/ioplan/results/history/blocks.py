"""A history as blocks, and these as a report's document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, starmap

from ioplan.core.text import counted
from ioplan.core.units import digits, metric_text, whole_text
from ioplan.results.compare.blocks import percent_change
from ioplan.results.history.model import Change, History, Level, Point, Series
from ioplan.results.history.monitor import budget
from ioplan.results.report.blocks import (
    Chip,
    FirstScreen,
    Judged,
    Line,
    Outcome,
    Table,
    Text,
)
from ioplan.results.report.build import Document
from ioplan.results.report.charts.request import NAMES
from ioplan.results.report.documents import ChartSpec, Column, Frame, Value
from ioplan.results.report.first_screen import MOST_CHIPS
from ioplan.results.report.terminal.sparkline import level_line

WIDTH = 16
CALM = 0.1
"""A sparkline reaches this share up and down at least: little noise is to look so."""
MOST_ROWS = 40
OUTCOMES: dict[str, Outcome] = {"worse": "failed", "better": "held"}
WHEN = {-1: "the session before", 0: "with it", 1: "the session after"}


def blocks(history: History, everything: bool) -> Iterator[Line | Table]:
    """Tables by group, the changes, and one sentence."""
    yield from _tables(history, everything)
    yield from _changes(history)
    yield Text(sentence(history), "strong")


def _tables(history: History, everything: bool) -> Iterator[Line | Table]:
    if len(history.series) == 1:
        return _sessions(history.series[0], everything)
    return starmap(_table, groupby(history.series, key=_heading))


def _changes(history: History) -> Iterator[Judged]:
    for series in history.series:
        name = f"{series.name}: " * (len(history.series) > 1)
        yield from (Judged(o.outcome, name + o.text) for o in change_lines(series))


def _heading(series: Series) -> str:
    group = ", ".join(filter(None, series.group.values()))
    return f"{series.metric}: {group or 'all sessions'}"


def _table(heading: str, group: Iterable[Series]) -> Table:
    rows = []
    for series in group:
        changes = ", ".join(percent_change(c.ratio) for c in series.changes[-2:])
        texts = (
            series.name,
            _sparkline(series),
            str(len(series.points)),
            whole_text(series.points[-1].value, series.unit),
            band_text(series),
            changes or "–",
        )
        rows.append(tuple(map(Text, texts)))
    headings = "cell", "history", "sessions", "newest", "band", "changes"
    return Table(heading, headings, tuple(rows), frozenset(range(1, 6)))


def _sparkline(series: Series) -> str:
    values = [point.value for point in series.points]
    middle = sorted(values)[len(values) // 2]
    low, high = min(*values, middle * (1 - CALM)), max(*values, middle * (1 + CALM))
    return level_line(values, low, high, WIDTH)


def _sessions(series: Series, everything: bool) -> Iterator[Line | Table]:
    changes = {change.point: change for change in series.changes}
    first = 0 if everything else max(0, len(series.points) - MOST_ROWS)
    rows = []
    for place, point in enumerate(series.points[first:], first):
        change = changes.get(place)
        outcome = OUTCOMES[change.verdict] if change else "none"
        texts = (
            point.session,
            _date(point),
            metric_text(point.value, series.unit),
            percent_change(change.ratio) if change else "",
            "; ".join(point.changed),
        )
        rows.append(tuple(Judged(outcome, text) for text in texts))
    headings = "session", "began (UTC)", series.metric, "change", "what else changed"
    yield Text(f"{series.name}, {_heading(series)}", "strong")
    yield Text(f"{_sparkline(series)}  band {band_text(series)}")
    yield Table("", headings, tuple(rows), frozenset({1, 2, 3}))
    if first:
        yield Text(f"{first:,} older sessions are not shown: --all shows them")
    if series.why:
        yield Text(series.why)


# Words.


def band_text(series: Series) -> str:
    """How far a session of the newest level may be from it."""
    if series.noise_percent is None or not series.levels:
        return "–"
    newest = series.levels[-1]
    return f"± {digits(100 * (newest.high / newest.value - 1))} %"


def _date(point: Point) -> str:
    return point.at[:16].replace("T", " ")


def change_lines(series: Series) -> Iterator[Judged]:
    """The changes, and the newest signal if it is none yet or no longer one."""
    for change in series.changes:
        yield Judged(OUTCOMES[change.verdict], change_line(series, change))
    for newest in series.signals[-1:]:
        ends = {
            "suspected": "; more sessions confirm or withdraw it",
            "withdrawn": f", by {newest.seen}",
        }
        if newest.state in ends:
            since = f"{newest.state}: a change since {newest.session}"
            yield Judged("undecided", since + ends[newest.state])


def change_line(series: Series, change: Change) -> str:
    """`worse: iops 100k -> 94.9k, -5.1 % (…) since …; with it: …`."""
    ends = (metric_text(end, series.unit) for end in (change.before, change.after))
    interval = f"{percent_change(change.low)} to {percent_change(change.high)}"
    drift, about, cause = "", "", "nothing else that is recorded changed"
    if change.kind == "drift":
        drift, about = "drift of ", "about "
        cause = "gradual, so no single session is the cause"
    elif change.with_it:
        cause = f"{WHEN[change.with_it_off]}: {', '.join(change.with_it)}"
    return (
        f"{change.verdict}: {drift}{series.metric} {' -> '.join(ends)}, "
        f"{percent_change(change.ratio)} ({interval}) since {about}{change.session}; "
        f"{cause}"
    )


def sentence(history: History) -> str:
    """The changes of one or more series, and the promise on false alarms; short series
    have no verdict."""
    judged = [series for series in history.series if not series.why]
    scope = f"{len(history.series)} series of {counted(history.sessions, 'session')}"
    if not judged:
        return f"{scope}: {history.series[0].why}"
    changes = counted(history.changes, "change") if history.changes else "no change"
    suspected = sum(series.is_suspected for series in judged)
    doubt = f", {suspected} suspected" * bool(suspected)
    short = len(history.series) - len(judged)
    left = f", {short} of them too short to call one" * bool(short)
    return f"{changes} confirmed{doubt} in {scope}{left}; {_promise(history, judged)}"


def _promise(history: History, judged: Sequence[Series]) -> str:
    years = 1 / (history.watched * budget(history.watched))
    period = "a year" if years <= 1 else f"in {years:.0f} years"
    promise = f"at most one false alarm {period} over {history.watched:,} series"
    others = [s.correlation or 0.0 for s in judged if not s.is_accounted_for]
    if not others:
        return promise
    sessions = f"sessions too correlated to be modelled ({max(others):.2f})"
    if len(others) == len(judged):
        return f"no promise on false alarms: {sessions}"
    return f"{promise}, without the {len(others)} that have {sessions}"


# A page: the changes on its first screen, the tables, and a picture of each series.

X = Column("x", "session, the oldest first", "")
NAMED = (*(Column(n, n) for n in ("session", "began")), Column("with", "changed"))
UNNAMED = ("", "", "")
MOST_POINTS = 5000
BAND = (
    "line and band: the mean of a level, and where 19 of 20 of its sessions lie; a "
    "level ends where a change was called"
)


def document(history: History, made: str) -> Document:
    changes = [*_changes(history)]
    outcomes = {line.outcome for line in changes}
    dates = [_date(point) for series in history.series for point in series.points]
    sessions = counted(history.sessions, "session")
    line = f"{sessions}, {min(dates)} to {max(dates)} UTC"
    return Document(
        screen=FirstScreen(
            title=f"History of {history.plan}",
            line=f"{line} · series parted by {', '.join(history.by)}",
            outcome=next((v for v in OUTCOMES.values() if v in outcomes), "none"),
            sentence=f"{sentence(history)}.",
            chips=tuple(Chip(o.text, o.tone) for o in changes[:MOST_CHIPS]),
        ),
        made=made,
        blocks=(
            *_tables(history, everything=True),
            *changes[MOST_CHIPS:],
            *map(picture, history.series),
        ),
    )


def picture(series: Series) -> ChartSpec:
    """Points, levels with their bands, and breaks where these change."""
    y = Column("y", NAMES.get(series.metric, series.metric), series.unit)
    first = max(0, len(series.points) - MOST_POINTS)
    rows = [
        (place, own.value, own.session, _date(own), "; ".join(own.changed))
        for place, own in enumerate(series.points[first:], first + 1)
    ]
    bands = (_bands(own, first) for own in series.levels if own.last >= first)
    sides = (Column(key, name, X.unit) for key, name in (("x", "from"), ("x2", "to")))
    ends = (Column(key, key, y.unit) for key in ("mean", "low", "high"))
    notes = [BAND, f"band {band_text(series)}", *filter(None, [series.why])]
    if first:
        notes.append(f"the newest {MOST_POINTS:,} of {len(series.points):,} sessions")
    return ChartSpec(
        kind="history",
        title=f"{series.name}: {y.title}",
        line="",
        frame=Frame((X, y, *NAMED), rows),
        overlay=Frame((*sides, *ends, *NAMED), [*chain.from_iterable(bands)]),
        notes=tuple(notes),
    )


def _bands(level: Level, first: int) -> Iterator[tuple[Value, ...]]:
    """From, to, middle and both ends; of a drift, for each session."""
    first, ends = max(first, level.first), (level.value, level.low, level.high)
    if level.began == level.value:
        yield first + 0.6, level.last + 1.4, *ends, *UNNAMED
        return
    step = (level.value / level.began) ** (1 / (level.last - level.first))
    for at in range(first, level.last + 1):
        factor = step ** (at - level.last)
        yield at + 0.5, at + 1.5, *(factor * end for end in ends), *UNNAMED
