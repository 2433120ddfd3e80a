"""A history in the terminal: a line for each series, or the sessions of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich import box
from rich.console import RenderableType
from rich.rule import Rule
from rich.table import Table

from ioplan.core.text import line
from ioplan.results.history.model import History, Series
from ioplan.results.history.wording import (
    band_text,
    change_line,
    date_text,
    group_text,
    percent_text,
    signal_text,
    summary_text,
    value_text,
)
from ioplan.results.report.terminal.sparkline import level_line

WIDTH = 16
CALM = 0.1
"""The line is of this share up and down at least, so that little noise looks little."""
MOST_ROWS = 40
STYLES = {"worse": "red", "better": "green"}


def text(found: History, everything: bool) -> Iterator[RenderableType]:
    """Tables by group, then what changed."""
    if len(found.series) == 1:
        yield from _single(found.series[0], everything)
    else:
        for name, group in groupby(found.series, key=_heading):
            yield Rule(line(name, style="bold"), align="left", characters="─")
            yield _table(list(group))
    for series in found.series:
        yield from _told(series, len(found.series) > 1)
    yield line(summary_text(found), style="bold")


def _heading(series: Series) -> str:
    return f"{series.metric}: {group_text(series)}"


def _told(series: Series, named: bool) -> Iterator[RenderableType]:
    """Its changes, and what may become one."""
    name = f"{series.name}: " if named else ""
    for change in series.changes:
        yield line(f"{name}{change_line(series, change)}", STYLES[change.verdict])
    if signal := signal_text(series):
        yield line(f"{name}{signal}", "yellow")


def _columns(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(headings[0], overflow="fold")
    for heading in headings[1:]:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _table(group: Sequence[Series]) -> Table:
    table = _columns("cell", "history", "sessions", "newest", "band", "changes")
    for series in group:
        table.add_row(
            line(series.name),
            spark(series),
            str(len(series.points)),
            value_text(series, series.points[-1].value),
            band_text(series),
            ", ".join(percent_text(one.ratio) for one in series.changes[-2:]) or "–",
        )
    return table


def spark(series: Series) -> str:
    """The values, the oldest first."""
    values = [point.value for point in series.points]
    middle = sorted(values)[len(values) // 2]
    low, high = min(*values, middle * (1 - CALM)), max(*values, middle * (1 + CALM))
    return level_line(values, low, high, WIDTH)


def _single(series: Series, everything: bool) -> Iterator[RenderableType]:
    """The newest sessions, one a row."""
    yield Rule(line(f"{series.name}, {_heading(series)}", style="bold"), align="left")
    yield line(f"{spark(series)}  band {band_text(series)}")
    table = _columns("session", "began (UTC)", series.metric, "change")
    table.add_column("what else changed", overflow="fold")
    changes = {one.point: one for one in series.changes}
    first = 0 if everything else max(0, len(series.points) - MOST_ROWS)
    for place, point in list(enumerate(series.points))[first:]:
        change = changes.get(place)
        table.add_row(
            point.session,
            date_text(point),
            value_text(series, point.value),
            percent_text(change.ratio) if change else "",
            line("; ".join(point.changed)),
            style=STYLES[change.verdict] if change else "",
        )
    yield table
    if first:
        yield line(f"{first} older sessions are not shown: --all shows them")
    if series.why:
        yield line(series.why)


def as_json(found: History) -> bytes:
    """All that is known."""
    return f"{found.model_dump_json(indent=2)}\n".encode()
