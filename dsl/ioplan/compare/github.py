"""A comparison as annotations of GitHub Actions, one a line on standard output."""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.compare.comparison import Comparison, Row, Word
from ioplan.compare.words import cell_text, notes, row_text, summary_text
from ioplan.printable import printable

LEVELS: dict[Word, str] = {"worse": "error", "better": "notice"}
MOST_SHOWN = 10
"""GitHub shows ten of a level for each step, and drops the rest silently."""


def github(found: Comparison) -> str:
    """Errors for what is worse, notices for what is better, then the summary."""
    return "\n".join(_annotations(found)) + "\n"


def _annotations(found: Comparison) -> Iterator[str]:
    for word, level in LEVELS.items():
        rows = [row for row in found.rows if row.verdict == word]
        most = MOST_SHOWN - 1 if word == "better" else MOST_SHOWN
        for row in rows[:most]:
            yield _command(level, _title(row), row_text(row))
    for note in notes(found):
        yield _command("warning", "ioplan compare", note)
    yield _command("notice", "ioplan compare", summary_text(found))


def _title(row: Row) -> str:
    return f"{row.test} {cell_text(row)}".strip()


def _command(level: str, title: str, message: str) -> str:
    named = _escaped(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={named}::{_escaped(message)}"


def _escaped(text: str) -> str:
    """Line ends cannot come through `printable`; percent signs can."""
    return printable(text).replace("%", "%25")
