"""A history in words: what the terminal and the page have in common."""

from __future__ import annotations

from ioplan.core.text import counted
from ioplan.core.units import digits, metric_text
from ioplan.results.compare.blocks import change_text
from ioplan.results.history.limits import budget
from ioplan.results.history.model import Change, History, Point, Series

DATE = slice(0, 10)
NOTHING_ELSE = "nothing else that is recorded changed"
NO_SESSION = "little by little, of which no single session is the cause"


def group_text(series: Series) -> str:
    """What the series is parted by."""
    return ", ".join(text for text in series.group.values() if text) or "all sessions"


def band_text(series: Series) -> str:
    """How far a session of the newest level may lie off it."""
    if series.noise_percent is None or not series.levels:
        return "–"
    newest = series.levels[-1]
    return f"± {digits(100 * (newest.high / newest.value - 1))} %"


def value_text(series: Series, value: float) -> str:
    """A figure of the series."""
    return metric_text(value, series.unit)


def percent_text(ratio: float) -> str:
    """`+5.1 %`."""
    return change_text(ratio, is_ratio=False)


def change_line(series: Series, change: Change) -> str:
    """`worse: iops 100k -> 94.9k, -5.1 % (…) since …; with it: …`."""
    percent = f"{percent_text(change.low)} to {percent_text(change.high)}"
    figures = (
        f"{value_text(series, change.before)} -> {value_text(series, change.after)}"
    )
    drifts = change.kind == "drift"
    since = f"since about {change.session}" if drifts else f"since {change.session}"
    return (
        f"{change.verdict}: {'drift of ' if drifts else ''}{series.metric} {figures}, "
        f"{percent_text(change.ratio)} ({percent}) {since}; {with_it(change)}"
    )


def with_it(change: Change) -> str:
    """What else changed, and when."""
    if change.kind == "drift":
        return NO_SESSION
    if not change.with_it:
        return NOTHING_ELSE
    when = {-1: "the session before", 0: "with it", 1: "the session after"}
    return f"{when[change.with_it_off]}: {', '.join(change.with_it)}"


def signal_text(series: Series) -> str:
    """The newest signal, if it is no change yet or no longer one; empty otherwise."""
    if not series.signals or series.signals[-1].state == "confirmed":
        return ""
    newest = series.signals[-1]
    since = f"a change since {newest.session}"
    if series.is_suspected:
        return f"suspected: {since}; more sessions confirm or withdraw it"
    return f"withdrawn: {since}, by {newest.seen}"


def budget_text(found: History) -> str:
    """How often a change is confirmed where there is none."""
    years = 1 / (found.watched * budget(found.watched))
    period = "a year" if years <= 1 else f"in {years:.0f} years"
    text = f"at most one false alarm {period} over {found.watched:,} series"
    judged = [one for one in found.series if not one.why]
    others = [one for one in judged if not one.is_accounted_for]
    if not others:
        return text
    most = max(one.correlation or 0.0 for one in others)
    how = f"which resemble each other otherwise (correlation {most:.2f})"
    if len(others) == len(judged):
        return f"no promise on false alarms: of sessions {how} there is none"
    return f"{text}, but for {len(others)} with sessions {how}"


def summary_text(found: History) -> str:
    """One sentence; of series that are too short nothing is said to be unchanged."""
    judged = [one for one in found.series if not one.why]
    whole = f"{len(found.series)} series of {counted(found.sessions, 'session')}"
    if not judged:
        why = found.series[0].why if found.series else "nothing was measured"
        return f"{whole}: {why}"
    changes = counted(found.changes, "change") if found.changes else "no change"
    suspected = sum(one.is_suspected for one in judged)
    doubt = f" confirmed, {suspected} suspected" if suspected else " confirmed"
    short = len(found.series) - len(judged)
    left = f", {short} of them too short to call one" if short else ""
    return f"{changes}{doubt} in {whole}{left}; {budget_text(found)}"


def date_text(point: Point) -> str:
    """The day and the minute."""
    return point.at[:16].replace("T", " ")
