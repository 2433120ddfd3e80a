"""A session as text: tables, charts, verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ioplan.language.plan import CheckedPlan
from ioplan.report.chart import terminal_charts
from ioplan.report.line import fits, line
from ioplan.report.remark import remarks_of
from ioplan.report.spark import sparkline
from ioplan.report.steady import steady_line, steady_table, steady_verdict
from ioplan.report.tables import (
    MOST_ROWS,
    final_rounds,
    is_marked,
    prepare_line,
    run_table,
    verdict_lines,
)
from ioplan.results.record import Interval, RunRecord
from ioplan.results.standing import standing
from ioplan.results.store import Store

TIGHT = (0, 1, 0, 0)
"""Above, right, below, left: one blank between columns instead of three."""
REMARKS = {"warning": "yellow", "done instead": "yellow"}
STYLES = {"held": "green", "failed": "red", "undecided": "yellow"}


class Shown(NamedTuple):
    """Where records are shown, and what is known of them."""

    console: Console
    store: Store
    plan: CheckedPlan | None


def show_records(
    console: Console,
    store: Store,
    records: Sequence[RunRecord],
    plan: CheckedPlan | None = None,
) -> None:
    """Print each test with its table and, where the plan is known, its charts."""
    for title, group in groupby(standing(records), key=lambda r: r.asked.test):
        part = list(group)
        console.rule(line(title, style="bold"), align="left", characters="─")
        shown = Shown(console, store, plan)
        console.print(Group(*_test(part, shown)))
        for chart in _charts(part, shown):
            console.print(chart, soft_wrap=isinstance(chart, Text))


def _test(records: list[RunRecord], shown: Shown) -> Iterator[RenderableType]:
    runs = [r for r in records if r.asked.kind == "run"]
    for record in records:
        if record.asked.kind == "prepare":
            yield line(prepare_line(record), style="dim")
    last = final_rounds(runs)
    if last:
        yield _table(last, shown)
    if any(is_marked(record) for record in last[:MOST_ROWS]):
        yield line(
            "! failed or stopped: the figures are of what was done until then",
            style="dim",
        )
    if len(last) > MOST_ROWS:
        yield line(f"… and {len(last) - MOST_ROWS} more: ioplan export", style="dim")
    yield from _steady(runs)
    for remark in remarks_of(records):
        yield line(str(remark), style=REMARKS.get(remark.word, "red"))
    for outcome, text in verdict_lines(records):
        yield line(text, style=STYLES.get(outcome, ""))


def _table(records: list[RunRecord], shown: Shown) -> Table:
    """With the series, where it is to be drawn and there is room for it."""
    if shown.plan:
        sparks = [sparkline(series) for series in _series(records, shown.store)]
        table = run_table(records, sparks)
        if any(sparks) and fits(table, shown.console):
            return table
    table = run_table(records)
    if not fits(table, shown.console):
        table.padding = TIGHT
    return table


def _series(records: list[RunRecord], store: Store) -> Iterator[tuple[Interval, ...]]:
    for record in records[:MOST_ROWS]:
        yield store.detail(record.session, record.seq).series


def _steady(runs: list[RunRecord]) -> Iterator[RenderableType]:
    judged = [r for r in runs if r.steady]
    if judged:
        record = judged[-1]
        assert record.steady
        if record.asked.round:
            yield steady_table(runs)
            yield line(steady_verdict(record.steady, record.asked.round))
        else:
            yield line(steady_line(record.steady))


def _charts(records: list[RunRecord], shown: Shown) -> list[RenderableType]:
    title, plan, store = records[0].asked.test, shown.plan, shown.store
    tests = [test for test in (plan.tests if plan else ()) if test.title == title]
    runs = final_rounds([r for r in records if r.asked.kind == "run"])
    if not tests or not runs:
        return []
    return terminal_charts(
        tests[0], runs, lambda r: store.detail(r.session, r.seq), shown.console
    )
