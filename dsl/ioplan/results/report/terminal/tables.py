"""Tables of a session's runs and rounds; in 80 columns if there is room for no more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from ioplan.core.text import aligned, fits, flush_right, line
from ioplan.core.units import metric_text, told_apart
from ioplan.records.record import RunRecord, Steady
from ioplan.results.report.blocks import Table, Text
from ioplan.results.report.charts.tables import BEYOND_IT, FOUND
from ioplan.results.report.documents import (
    DOUBTED,
    FAILED,
    STATUS,
    Column,
    Frame,
    Value,
)
from ioplan.results.report.headlines.doubts import doubts_of
from ioplan.results.report.sentences import has_all_values

MOST_CELLS = 64
MOST_ROUNDS = 25
WIDE, TIGHT = (0, 1, 0, 1), (0, 1, 0, 0)
"""Above, right, below, left: three blanks between columns, or one."""
SOUGHT = (FOUND, BEYOND_IT)
FIGURES = {
    "iops": "IOPS",
    "bandwidth": "throughput",
    **{name: name for name in ("mean", "p99", "p99.9", "max", "verified")},
}
"""Columns of `run_frame` that have room, under short names."""
LEFT_OUT = ("bandwidth", "max", "p99.9", "mean")
"""Columns that are left out where there is no room, the first ones first: throughput
is IOPS times a size."""
PLACES = ("scope", "rounds")

Row = dict[str, Value]
Padding = tuple[int, int, int, int]
Align = Callable[[Sequence[str]], list[str]]


def run_table(
    frame: Frame, axes: Sequence[str], sparks: Sequence[str], console: Console
) -> RichTable:
    """The rows of `run_frame` in as many columns as there is room for.

    `axes` are the plan's names of its first columns, `sparks` the runs over time, one
    for each row that is printed. These are left out first, then blanks, then figures.
    """
    rows = list(islice(frame.records(), len(sparks)))
    by_key = {column.key: column for column in frame.columns}
    titles = {key: by_key[key].title for key in SOUGHT if key in by_key} | FIGURES
    columns = {title: by_key[key] for key, title in titles.items() if key in by_key}
    places = dict(zip(by_key, axes, strict=False))
    places |= {key: key for key in PLACES if key in by_key}

    def table(
        sparks: Sequence[str], padding: Padding, align: Align, left_out: int
    ) -> RichTable:
        few = {t: c for t, c in columns.items() if c.key not in LEFT_OUT[:left_out]}
        texts = [_figure_texts(row, [*few.values()]) for row in rows]
        figures = [align(column) for column in zip(*texts, strict=True)]
        table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=padding)
        for name in places.values():
            table.add_column(line(name), justify="right", overflow="fold")
        for title, column in zip(few, figures, strict=True):
            # from the left, as blanks at the right end would be lost
            table.add_column(title.rjust(max(map(len, column))), no_wrap=True)
        if sparks:
            table.add_column("in time", no_wrap=True)
        for row, *cells in zip(rows, *figures, *([sparks] * bool(sparks)), strict=True):
            table.add_row(*(line(str(row[key])) for key in places), *cells)
        return table

    layouts: list[tuple[Sequence[str], Padding, Align, int]] = [
        *([(sparks, WIDE, aligned, 0)] if any(sparks) else ()),
        *(((), padding, aligned, 0) for padding in (WIDE, TIGHT)),
        *(((), TIGHT, flush_right, count) for count in range(len(LEFT_OUT) + 1)),
    ]
    tables = (table(*layout) for layout in layouts)
    return next((own for own in tables if fits(own, console)), table(*layouts[-1]))


def _figure_texts(row: Row, columns: Sequence[Column]) -> list[str]:
    """Figures, the first of them with the mark of what failed."""
    texts = [_text(row[column.key], column) for column in columns]
    status = row.get(STATUS.key, "ok")
    if status == "ok":
        at = [column.key in SOUGHT for column in columns].index(False)
        texts[at] += f" {DOUBTED}" * bool(doubts_of(row))
    elif row["iops"]:
        texts[0] += f" {FAILED}"
    else:
        texts = [f"{FAILED} {status}", *[""] * (len(texts) - 1)]
    return texts


def _text(value: Value, column: Column) -> str:
    """Empty in the row of a stream, and of a cell without an end."""
    assert not isinstance(value, str)
    is_empty = column.key in SOUGHT and value is None
    return "" if is_empty else metric_text(value, column.unit)


def steady_table(runs: Sequence[RunRecord]) -> Table:
    """The tracked cell round by round: its value, and the window that ends there."""
    by_round = {run.asked.round: run.steady for run in runs if run.steady}
    first = next(iter(by_round.values()))
    spread = f"range (limit {first.range_limit_percent:g} %)"
    slope = f"slope (limit {first.slope_limit_percent:g} %)"
    rows = [(str(n), *_assessment(own)) for n, own in by_round.items()][-MOST_ROUNDS:]
    headings = "round", first.metric, spread, slope, "why not yet"
    texts = tuple(tuple(map(Text, row)) for row in rows)
    return Table("", headings, texts, frozenset(range(4)))


def _assessment(steady: Steady) -> tuple[str, str, str, str]:
    value = metric_text(steady.values[-1] if steady.values else None, steady.unit)
    if len(steady.values) < steady.window or not has_all_values(steady):
        return value, "", "", steady.why
    spread = told_apart(steady.range_percent, steady.range_limit_percent, "%")
    slope = told_apart(steady.slope_percent, steady.slope_limit_percent, "%")
    return value, spread, slope, steady.why or "steady"
