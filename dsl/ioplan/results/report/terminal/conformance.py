"""Clause by clause in a terminal: what deviates first."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from ioplan.core.text import line
from ioplan.results.report.conformance.conformance import ORDER, Conformance, Row

COLORS = {"deviates": "red", "not recorded": "yellow", "done": "green"}


def print_conformance(console: Console, found: Conformance) -> None:
    """A row a clause, with the reason of what was not done."""
    console.print(line(f"{found.title}, {found.label}: {found.summary}", "bold"))
    console.print(_table(found))


def _table(found: Conformance) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("clause", "is asked", "was done"):
        table.add_column(heading, overflow="fold")
    for row in sorted(found.rows, key=lambda row: ORDER.index(row.finding.outcome)):
        outcome = line(row.finding.outcome, COLORS[row.finding.outcome])
        name = line(row.clause.name).append("\n").append_text(outcome)
        table.add_row(name, line(row.clause.asks), line(_done(row)))
    return table


def _done(row: Row) -> str:
    why = row.finding.why if row.finding.outcome != "done" else ""
    return "; ".join(filter(None, (row.finding.what, why)))
