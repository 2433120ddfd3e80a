"""A session as text: tables, charts, verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import Console, Group, RenderableType
from rich.text import Text

from ioplan.language.plan import CheckedPlan
from ioplan.report.chart import Canvas, terminal_charts
from ioplan.report.tables import (
    MOST_ROWS,
    final_rounds,
    prepare_line,
    run_table,
    verdict_lines,
)
from ioplan.results.record import RunRecord
from ioplan.results.store import Store

STYLES = {"held": "green", "failed": "red", "undecided": "yellow"}


def show_records(
    console: Console,
    store: Store,
    records: Sequence[RunRecord],
    plan: CheckedPlan | None = None,
) -> None:
    """Print each test with its table and, where the plan is known, its charts."""
    for title, group in groupby(records, key=lambda r: r.asked.test):
        part = list(group)
        console.rule(Text(title, style="bold"), align="left", characters="─")
        console.print(Group(*_test(part)))
        for chart in _charts(console, store, part, plan):
            console.print(Text.from_ansi(chart), soft_wrap=True)


def _test(records: list[RunRecord]) -> Iterator[RenderableType]:
    runs = [r for r in records if r.asked.kind == "run"]
    for record in records:
        if record.asked.kind == "prepare":
            yield Text(prepare_line(record), style="dim")
    last = final_rounds(runs)
    if last:
        yield run_table(last)
    if len(last) > MOST_ROWS:
        yield Text(f"… and {len(last) - MOST_ROWS} more: ioplan export", style="dim")
    yield from _steady(runs)
    for record in records:
        yield from _remarks(record)
    for outcome, line in verdict_lines(records):
        yield Text(line, style=STYLES.get(outcome, ""))


def _steady(runs: list[RunRecord]) -> Iterator[RenderableType]:
    judged = [r for r in runs if r.steady]
    if judged:
        record = judged[-1]
        steady = record.steady
        assert steady
        how = "steady" if steady.reached else f"not steady: {steady.why}"
        yield Text(
            f"round {record.asked.round}: {how}; {steady.metric} range "
            f"{steady.range_percent:.1f} %, slope {steady.slope_percent:.1f} %"
        )


def _remarks(record: RunRecord) -> Iterator[RenderableType]:
    if record.status != "ok":
        yield Text(f"{record.status}: {record.message}", style="red")
    for warning in record.warnings:
        yield Text(f"warning: {warning}", style="yellow")


def _charts(
    console: Console,
    store: Store,
    records: list[RunRecord],
    plan: CheckedPlan | None,
) -> list[str]:
    title = records[0].asked.test
    tests = [test for test in (plan.tests if plan else ()) if test.title == title]
    runs = final_rounds([r for r in records if r.asked.kind == "run"])
    if not tests or not runs:
        return []
    canvas = Canvas(min(console.width, 100) - 2, console.is_terminal)
    return terminal_charts(
        tests[0], runs, lambda r: store.detail(r.session, r.seq), canvas
    )
