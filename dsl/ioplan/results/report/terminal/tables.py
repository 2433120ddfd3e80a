"""Runs and rounds as tables; in 80 columns if there is room for no more."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from rich import box
from rich.console import Console
from rich.table import Table

from ioplan.core.text import aligned, fits, flush_right, line
from ioplan.core.units import metric_text
from ioplan.records.record import RunRecord, Steady
from ioplan.results.report.charts.tables import BEYOND_IT, FOUND
from ioplan.results.report.documents import (
    AGAINST,
    DOUBTED,
    FAILED,
    STATUS,
    Column,
    Frame,
    Value,
)
from ioplan.results.report.headlines.doubts import OF_TITLES
from ioplan.results.report.sentences import has_all_values

MOST_CELLS = 64
MOST_ROUNDS = 25
TIGHT = (0, 1, 0, 0)
"""Above, right, below, left: one blank between columns instead of three."""
FIGURES = {
    "iops": "IOPS",
    "bandwidth": "throughput",
    "mean": "mean",
    "p99": "p99",
    "p99.9": "p99.9",
    "max": "max",
    "verified": "verified",
}
"""Columns of `run_frame` that have room, under short names."""
LEFT_OUT = ("max", "p99.9", "bandwidth", "mean")
"""Columns that are left out where there is no room, the first ones first."""
SOUGHT = (FOUND, BEYOND_IT)
PLACES = ("scope", "rounds")


def run_table(
    frame: Frame, axes: Sequence[str], sparks: Sequence[str], console: Console
) -> Table:
    """The rows of `run_frame` in as many columns as there is room for.

    `axes` are the plan's names of its first columns, `sparks` the runs over time, one
    for each row that is shown.
    """
    shown = len(sparks)
    table = _run_table(frame, axes, sparks, shown)
    if any(sparks) and fits(table, console):
        return table
    table = _run_table(frame, axes, (), shown)
    if not fits(table, console):
        table.padding = TIGHT
    for count in range(len(LEFT_OUT) + 1):
        if fits(table, console):
            break
        table = _run_table(frame, axes, (), shown, False, LEFT_OUT[:count])
    return table


def _run_table(
    frame: Frame,
    axes: Sequence[str],
    sparks: Sequence[str],
    shown: int,
    points: bool = True,
    left_out: Sequence[str] = (),
) -> Table:
    """With `points` those of a column's figures are aligned; without, it is narrow."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    if not points:
        table.padding = TIGHT
    keys = [column.key for column in frame.columns]
    places = [*keys[: len(axes)], *(key for key in PLACES if key in keys)]
    for name in (*axes, *places[len(axes) :]):
        table.add_column(line(name), justify="right", overflow="fold")
    found = {key: frame.column(key).title for key in SOUGHT if key in keys}
    named = found | {
        key: name
        for key, name in FIGURES.items()
        if key in keys and key not in left_out
    }
    rows = list(islice(frame.records(), shown))
    columns = [frame.column(key) for key in named]
    shape = aligned if points else flush_right
    by_row = (_figures(row, columns) for row in rows)
    figures = [shape(texts) for texts in zip(*by_row, strict=True)]
    for name, texts in zip(named.values(), figures, strict=True):
        width = max(map(len, texts))
        # from the left, as blanks at the right end would be lost
        table.add_column(name.rjust(width), no_wrap=True)
    if sparks:
        table.add_column("in time", no_wrap=True)
    for number, row in enumerate(rows):
        place = [line(str(row[key])) for key in places]
        some = [texts[number] for texts in figures]
        table.add_row(*place, *some, *sparks[number : number + 1])
    return table


def _figure_text(value: Value, unit: str) -> str:
    assert not isinstance(value, str)
    return metric_text(value, unit)


def _figures(row: dict[str, Value], columns: Sequence[Column]) -> list[str]:
    """Figures, the first of them with the mark of what failed."""
    texts = [
        ""
        if column.key in SOUGHT and row[column.key] is None
        # a stream's row, or a cell without an end
        else _figure_text(row[column.key], column.unit)
        for column in columns
    ]
    status = row.get(STATUS.key, "ok")
    if status == "ok":
        at = [column.key in SOUGHT for column in columns].index(False)
        against = str(row.get(AGAINST.key) or "").split(", ")
        doubted = not set(against) <= {*OF_TITLES}
        texts[at] += f" {DOUBTED}" * doubted
        return texts
    if not row["iops"]:
        return [f"{FAILED} {status}", *[""] * (len(texts) - 1)]
    return [f"{texts[0]} {FAILED}", *texts[1:]]


def steady_table(runs: Sequence[RunRecord]) -> Table:
    """The tracked cell round by round: its value, and the window that ends there."""
    judged = list({r.asked.round: r for r in runs if r.steady}.values())
    first = judged[0].steady
    assert first
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in (
        "round",
        first.metric,
        f"range (<= {first.range_limit_percent:g} %)",
        f"slope (<= {first.slope_limit_percent:g} %)",
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("why not yet", overflow="fold")
    for run in judged[-MOST_ROUNDS:]:
        assert run.steady
        table.add_row(str(run.asked.round), *_assessment(run.steady))
    return table


def _assessment(steady: Steady) -> tuple[str, str, str, str]:
    value = metric_text(steady.values[-1] if steady.values else None, steady.unit)
    if len(steady.values) < steady.window or not has_all_values(steady):
        return value, "", "", steady.why
    spread, slope = steady.range_percent, steady.slope_percent
    return value, f"{spread:.1f} %", f"{slope:.1f} %", steady.why or "steady"
