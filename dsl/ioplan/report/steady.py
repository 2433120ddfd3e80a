"""Steady state in words and as a table: what there is, what is asked, what lacks."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from ioplan.report.units import metric_text
from ioplan.results.record import RunRecord, Steady
from ioplan.runner.steady import TOLERANCE

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
