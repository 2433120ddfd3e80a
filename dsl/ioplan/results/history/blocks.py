"""A history as blocks: a row for each series, or for each session of one series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ioplan.core.text import counted
from ioplan.core.units import digits, metric_text
from ioplan.results.compare.blocks import change_text
from ioplan.results.history.model import Change, History, Point, Series
from ioplan.results.history.monitor import budget
from ioplan.results.report.blocks import Table, Text, Tone
from ioplan.results.report.terminal.sparkline import level_line

WIDTH = 16
CALM = 0.1
"""A sparkline reaches this share up and down at least: little noise is to look so."""
MOST_ROWS = 40
TONES: dict[str, Tone] = {"worse": "bad", "better": "good"}
NO_OTHER = "nothing else that is recorded changed"
GRADUAL = "gradual, so no single session is the cause"
WHEN = {-1: "the session before", 0: "with it", 1: "the session after"}


def blocks(history: History, everything: bool) -> Iterator[Text | Table]:
    """Tables by group, the changes, and one sentence."""
    is_single = len(history.series) == 1
    if is_single:
        yield from _sessions(history.series[0], everything)
    else:
        for heading, group in groupby(history.series, key=_heading):
            yield _table(heading, list(group))
    for series in history.series:
        for text in change_texts(series):
            name = "" if is_single else f"{series.name}: "
            yield Text(f"{name}{text.text}", text.tone)
    yield Text(sentence(history), "strong")


def _heading(series: Series) -> str:
    return f"{series.metric}: {group_text(series)}"


def _table(heading: str, group: Sequence[Series]) -> Table:
    rows = [
        (
            series.name,
            _sparkline(series),
            str(len(series.points)),
            value_text(series, series.points[-1].value),
            band_text(series),
            ", ".join(_percent(one.ratio) for one in series.changes[-2:]) or "–",
        )
        for series in group
    ]
    headings = ("cell", "history", "sessions", "newest", "band", "changes")
    return Table(
        heading,
        headings,
        tuple(tuple(map(Text, row)) for row in rows),
        frozenset(range(1, len(headings))),
    )


def _sparkline(series: Series) -> str:
    values = [point.value for point in series.points]
    middle = sorted(values)[len(values) // 2]
    low, high = min(*values, middle * (1 - CALM)), max(*values, middle * (1 + CALM))
    return level_line(values, low, high, WIDTH)


def _sessions(series: Series, everything: bool) -> Iterator[Text | Table]:
    changes = {change.point: change for change in series.changes}
    first = 0 if everything else max(0, len(series.points) - MOST_ROWS)
    rows = []
    for place, point in list(enumerate(series.points))[first:]:
        change = changes.get(place)
        tone = TONES[change.verdict] if change else "plain"
        texts = (
            point.session,
            date_text(point),
            value_text(series, point.value),
            _percent(change.ratio) if change else "",
            "; ".join(point.changed),
        )
        rows.append(tuple(Text(text, tone) for text in texts))
    headings = "session", "began (UTC)", series.metric, "change", "what else changed"
    yield Text(f"{series.name}, {_heading(series)}", "strong")
    yield Text(f"{_sparkline(series)}  band {band_text(series)}")
    yield Table("", headings, tuple(rows), frozenset({1, 2, 3}))
    if first:
        yield Text(f"{first:,} older sessions are not shown: --all shows them")
    if series.why:
        yield Text(series.why)


# Words that the terminal and the page have in common.


def group_text(series: Series) -> str:
    return ", ".join(filter(None, series.group.values())) or "all sessions"


def band_text(series: Series) -> str:
    """How far a session of the newest level may be from it."""
    if series.noise_percent is None or not series.levels:
        return "–"
    newest = series.levels[-1]
    return f"± {digits(100 * (newest.high / newest.value - 1))} %"


def value_text(series: Series, value: float) -> str:
    return metric_text(value, series.unit)


def _percent(ratio: float) -> str:
    return change_text(ratio, is_ratio=False)


def date_text(point: Point) -> str:
    return point.at[:16].replace("T", " ")


def change_texts(series: Series) -> Iterator[Text]:
    """The changes, and the newest signal if it is none yet or no longer one."""
    for change in series.changes:
        yield Text(change_line(series, change), TONES[change.verdict])
    newest = series.signals[-1] if series.signals else None
    if newest and newest.state == "suspected":
        since = f"a change since {newest.session}"
        text = f"suspected: {since}; more sessions confirm or withdraw it"
        yield Text(text, "warning")
    elif newest and newest.state == "withdrawn":
        text = f"withdrawn: a change since {newest.session}, by {newest.seen}"
        yield Text(text, "warning")


def change_line(series: Series, change: Change) -> str:
    """`worse: iops 100k -> 94.9k, -5.1 % (…) since …; with it: …`."""
    before, after = (value_text(series, one) for one in (change.before, change.after))
    interval = f"{_percent(change.low)} to {_percent(change.high)}"
    is_drift = change.kind == "drift"
    return (
        f"{change.verdict}: {'drift of ' if is_drift else ''}{series.metric} {before} "
        f"-> {after}, {_percent(change.ratio)} ({interval}) since "
        f"{'about ' if is_drift else ''}{change.session}; {_cause(change)}"
    )


def _cause(change: Change) -> str:
    if change.kind == "drift":
        return GRADUAL
    if not change.with_it:
        return NO_OTHER
    return f"{WHEN[change.with_it_off]}: {', '.join(change.with_it)}"


def sentence(history: History) -> str:
    """The changes, and the promise on false alarms; short series have no verdict."""
    judged = [series for series in history.series if not series.why]
    scope = f"{len(history.series)} series of {counted(history.sessions, 'session')}"
    if not judged:
        why = history.series[0].why if history.series else "nothing was measured"
        return f"{scope}: {why}"
    changes = counted(history.changes, "change") if history.changes else "no change"
    suspected = sum(series.is_suspected for series in judged)
    doubt = f", {suspected} suspected" if suspected else ""
    short = len(history.series) - len(judged)
    left = f", {short} of them too short to call one" if short else ""
    return f"{changes} confirmed{doubt} in {scope}{left}; {_promise(history, judged)}"


def _promise(history: History, judged: Sequence[Series]) -> str:
    years = 1 / (history.watched * budget(history.watched))
    period = "a year" if years <= 1 else f"in {years:.0f} years"
    promise = f"at most one false alarm {period} over {history.watched:,} series"
    others = [series for series in judged if not series.is_accounted_for]
    if not others:
        return promise
    most = max(series.correlation or 0.0 for series in others)
    sessions = f"sessions too correlated to be modelled ({most:.2f})"
    if len(others) == len(judged):
        return f"no promise on false alarms: {sessions}"
    return f"{promise}, without the {len(others)} that have {sessions}"
