"""A comparison as Markdown, for a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioplan.compare.comparison import Comparison, Row
from ioplan.compare.words import (
    base_text,
    cell_text,
    change_text,
    interval_text,
    new_text,
    notes,
    side_text,
    summary_text,
)
from ioplan.printable import printable

HEADINGS = (
    "verdict",
    "test",
    "cell",
    "metric",
    "base",
    "new",
    "change",
    "95 % interval",
)
MARKS = re.compile(r"([\\`*_{}\[\]<>()#+!|~&@])")


def markdown(found: Comparison) -> str:
    """Rows that are not equal as a table, then the notes."""
    return "\n".join(_rows(found)) + "\n"


def _rows(found: Comparison) -> Iterator[str]:
    yield f"**{_shown(summary_text(found))}**"
    yield ""
    yield f"- {_shown(side_text('BASE', found.base))}"
    yield f"- {_shown(side_text('NEW', found.new))}"
    rows = [row for row in found.rows if row.verdict != "equal"]
    if rows:
        yield ""
        yield _joined(HEADINGS)
        yield _joined(("---",) * 4 + ("--:",) * 4)
        yield from (_joined(map(_shown, _cells(row))) for row in rows)
    for number, note in enumerate(notes(found)):
        yield from ("",) if number == 0 else ()
        yield f"- {_shown(note)}"


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.verdict,
        row.test,
        cell_text(row),
        row.metric,
        base_text(row),
        new_text(row),
        change_text(row.ratio),
        interval_text(row),
    )


def _joined(cells: Iterator[str] | tuple[str, ...] | map[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _shown(text: str) -> str:
    """Text that Markdown takes for nothing else."""
    return MARKS.sub(r"\\\1", printable(text))
