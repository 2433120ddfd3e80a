"""A session as text: tables, charts, verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ioplan.core.text import fits, line
from ioplan.core.units import metric_text
from ioplan.language.metric import Metric
from ioplan.language.plan import CheckedPlan
from ioplan.measure.steady_state import TOLERANCE
from ioplan.records.record import Interval, RunRecord, Steady
from ioplan.records.superseded import current_records
from ioplan.report.charts.over_time import metric_at
from ioplan.report.terminal.charts import terminal_charts
from ioplan.report.terminal.tables import (
    MOST_ROWS,
    final_rounds,
    is_marked,
    prepare_line,
    run_table,
    verdict_lines,
)
from ioplan.report.verdicts import remarks_of
from ioplan.store.store import Store

MOST_ROUNDS = 25


def steady_line(steady: Steady) -> str:
    """The last value, then the window beside its limits; narrow enough for a line."""
    last = f"{steady.metric} {_last(steady)}"
    if len(steady.values) < steady.window or not steady.mean:
        return f"{last}; {steady.why}"
    spread = _beside(steady.range_percent, steady.range_limit_percent)
    slope = _beside(steady.slope_percent, steady.slope_limit_percent)
    how = "steady" if steady.reached else "not steady"
    return f"{last}, range {spread}, slope {slope}: {how}"


def _last(steady: Steady) -> str:
    return metric_text(steady.values[-1] if steady.values else None, steady.unit)


def _beside(percent: float, limit_percent: float) -> str:
    sign = "<=" if percent <= limit_percent + TOLERANCE else ">"
    return f"{percent:.1f} {sign} {limit_percent:g} %"


def steady_verdict(steady: Steady, rounds: int) -> str:
    """How it ended, and what was missing."""
    if steady.reached:
        first = rounds - steady.window + 1
        return f"steady: rounds {first} to {rounds} are the window"
    return f"not steady after {rounds} rounds: {steady.why}"


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
    for record in judged[-MOST_ROUNDS:]:
        assert record.steady
        table.add_row(str(record.asked.round), *_cells(record.steady))
    return table


def _cells(steady: Steady) -> tuple[str, str, str, str]:
    value = _last(steady)
    if len(steady.values) < steady.window:
        return value, "", "", steady.why
    spread, slope = steady.range_percent, steady.slope_percent
    return value, f"{spread:.1f} %", f"{slope:.1f} %", steady.why or "steady"


BARS = " ▁▂▃▄▅▆▇█"
WIDTH = 8
LEAST = 3
IOPS = Metric(name="iops")


def sparkline(series: Sequence[Interval]) -> str:
    """IOPS over time, from 0 to the largest; empty for fewer than three intervals."""
    values = [metric_at(IOPS, point) or 0.0 for point in series]
    if len(values) < LEAST:
        return ""
    shown = _shortened(values, min(WIDTH, len(values)))
    top = max(shown)
    return "".join(_bar(value / top) for value in shown) if top else ""


def _shortened(values: Sequence[float], width: int) -> list[float]:
    """The means of so many parts, as equal as can be."""
    edges = [round(n * len(values) / width) for n in range(width + 1)]
    parts = [values[a:b] for a, b in pairwise(edges)]
    return [sum(part) / len(part) for part in parts]


def _bar(share: float) -> str:
    """Only nothing at all is shown as nothing."""
    step = round(share * (len(BARS) - 1))
    return BARS[step if step or not share else 1]


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
    for title, group in groupby(current_records(records), key=lambda r: r.asked.test):
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
