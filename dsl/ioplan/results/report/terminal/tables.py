"""Tables of a session's runs and rounds; in 80 columns if there is room for no more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from rich import box
from rich.console import Console
from rich.table import Table

from ioplan.core.text import aligned, fits, flush_right, line
from ioplan.core.units import metric_text, told_apart
from ioplan.records.record import RunRecord, Steady
from ioplan.results.report.charts.tables import BEYOND_IT, FOUND
from ioplan.results.report.conformance.conformance import ORDER, Conformance, Row
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
SOUGHT = (FOUND, BEYOND_IT)
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
PLACES = ("scope", "rounds")
Cells = dict[str, Value]


def run_table(
    frame: Frame, axes: Sequence[str], sparks: Sequence[str], console: Console
) -> Table:
    """The rows of `run_frame` in as many columns as there is room for.

    `axes` are the plan's names of its first columns, `sparks` the runs over time, one
    for each row that is printed.
    """
    rows = list(islice(frame.records(), len(sparks)))
    for table in _narrower(frame, axes, rows, sparks):
        if fits(table, console):
            break
    return table


def _narrower(
    frame: Frame,
    axes: Sequence[str],
    rows: Sequence[Cells],
    sparks: Sequence[str],
) -> Iterator[Table]:
    """Without the runs over time, without blanks, and with fewer and fewer columns."""
    columns = list(_figure_columns(frame))
    if any(sparks):
        yield _run_table(frame, axes, rows, columns, sparks)
    yield _run_table(frame, axes, rows, columns)
    yield _run_table(frame, axes, rows, columns, is_tight=True)
    for count in range(len(LEFT_OUT) + 1):
        few = [pair for pair in columns if pair[1].key not in LEFT_OUT[:count]]
        yield _run_table(frame, axes, rows, few, is_tight=True, is_aligned=False)


def _figure_columns(frame: Frame) -> Iterator[tuple[str, Column]]:
    """The columns with their headings: what a search found, then figures."""
    columns = {column.key: column for column in frame.columns}
    names = {key: columns[key].title for key in SOUGHT if key in columns} | FIGURES
    yield from ((name, columns[key]) for key, name in names.items() if key in columns)


def _run_table(
    frame: Frame,
    axes: Sequence[str],
    rows: Sequence[Cells],
    columns: Sequence[tuple[str, Column]],
    sparks: Sequence[str] = (),
    is_tight: bool = False,
    is_aligned: bool = True,
) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    if is_tight:
        table.padding = TIGHT
    keys = [column.key for column in frame.columns]
    places = dict(zip(keys, axes, strict=False))
    places |= {key: key for key in PLACES if key in keys}
    for name in places.values():
        table.add_column(line(name), justify="right", overflow="fold")
    texts = [_figure_texts(row, [column for _, column in columns]) for row in rows]
    align = aligned if is_aligned else flush_right
    figures = [align(column) for column in zip(*texts, strict=True)]
    for (name, _), column_texts in zip(columns, figures, strict=True):
        # from the left, as blanks at the right end would be lost
        table.add_column(name.rjust(max(map(len, column_texts))), no_wrap=True)
    if sparks:
        table.add_column("in time", no_wrap=True)
    for number, row in enumerate(rows):
        place = [line(str(row[key])) for key in places]
        row_texts = (column[number] for column in figures)
        table.add_row(*place, *row_texts, *sparks[number : number + 1])
    return table


def _figure_texts(row: Cells, columns: Sequence[Column]) -> list[str]:
    """Figures, the first of them with the mark of what failed."""
    texts = [_text(row[column.key], column) for column in columns]
    status = row.get(STATUS.key, "ok")
    if status == "ok":
        at = [column.key in SOUGHT for column in columns].index(False)
        doubts = {*str(row.get(AGAINST.key) or "").split(", ")}
        texts[at] += f" {DOUBTED}" * (not doubts <= {*OF_TITLES})
        return texts
    if not row["iops"]:
        return [f"{FAILED} {status}", *[""] * (len(texts) - 1)]
    return [f"{texts[0]} {FAILED}", *texts[1:]]


def _text(value: Value, column: Column) -> str:
    """Empty in the row of a stream, and of a cell without an end."""
    assert not isinstance(value, str)
    is_empty = column.key in SOUGHT and value is None
    return "" if is_empty else metric_text(value, column.unit)


def steady_table(runs: Sequence[RunRecord]) -> Table:
    """The tracked cell round by round: its value, and the window that ends there."""
    by_round = {run.asked.round: run.steady for run in runs if run.steady}
    first = next(iter(by_round.values()))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in (
        "round",
        first.metric,
        f"range (limit {first.range_limit_percent:g} %)",
        f"slope (limit {first.slope_limit_percent:g} %)",
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("why not yet", overflow="fold")
    for number, steady in list(by_round.items())[-MOST_ROUNDS:]:
        table.add_row(str(number), *_assessment(steady))
    return table


def _assessment(steady: Steady) -> tuple[str, str, str, str]:
    value = metric_text(steady.values[-1] if steady.values else None, steady.unit)
    if len(steady.values) < steady.window or not has_all_values(steady):
        return value, "", "", steady.why
    spread, slope = steady.range_percent, steady.slope_percent
    return (
        value,
        told_apart(spread, steady.range_limit_percent, "%"),
        told_apart(slope, steady.slope_limit_percent, "%"),
        steady.why or "steady",
    )


# Clause by clause: what deviates from a specification first.

COLORS = {"deviates": "red", "not recorded": "yellow", "done": "green"}


def print_conformance(console: Console, session: Conformance) -> None:
    """A row a clause, with the reason of what was not done."""
    title = f"{session.title}, {session.label}: {session.summary}"
    console.print(line(title, "bold"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("clause", "is asked", "was done"):
        table.add_column(heading, overflow="fold")
    for row in _gravest_first(session.rows):
        outcome, why = row.finding.outcome, row.finding.why
        name = line(row.clause.name).append("\n").append(outcome, COLORS[outcome])
        texts = (row.finding.what, why if outcome != "done" else "")
        done = "; ".join(filter(None, texts))
        table.add_row(name, line(row.clause.asks), line(done))
    console.print(table)


def _gravest_first(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: ORDER.index(row.finding.outcome))
