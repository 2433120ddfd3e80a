"""What is wrong, where, and what to write instead; rendered in one place."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any, Literal

from msgspec import Struct

from ioplan.core.text import printable
from ioplan.language.syntax.source import Source, Span

SHOWN_COLUMNS = 160
LEAD_COLUMNS = 60


Severity = Literal["error", "warning", "note"]


class Diagnostic(Struct, frozen=True):
    """One finding about a plan's text."""

    message: str
    span: Span
    help: str = ""
    severity: Severity = "error"

    def render(self) -> str:
        """The finding with its line and carets, as a person reads it."""
        line_number, column = self.span.source.position(self.span.start)
        line = self.span.source.line(line_number)
        margin = " " * len(str(line_number))
        line, shown_column = _window(line, column)
        before, marked = _marked(line, shown_column, self.span)
        rows = [
            f"{self.severity}: {printable(self.message)}",
            f" {margin}--> {printable(self.span.source.name)}:{line_number}:{column}",
            f" {margin} |",
            f" {line_number} | {printable(line)}".rstrip(),
            f" {margin} | {' ' * before}{'^' * max(1, marked)}",
        ]
        if self.help:
            rows.append(f" {margin} = help: {printable(self.help)}")
        return "\n".join(rows)

    def as_json(self) -> dict[str, Any]:
        """For editors: lines and columns from 1, the end exclusive."""
        line, column = self.span.source.position(self.span.start)
        end_line, end_column = self.span.source.position(self.span.end)
        return {
            "severity": self.severity,
            "message": self.message,
            "help": self.help,
            "file": self.span.source.name,
            "line": line,
            "column": column,
            "end_line": end_line,
            "end_column": end_column,
            "start": self.span.start,
            "end": self.span.end,
        }


def too_deep(source: Source) -> Diagnostic:
    """What to say of a text whose blocks or conditions no stack can hold."""
    where = Span(source, 0, min(1, len(source.text)))
    return Diagnostic(
        "the plan is nested too deeply",
        where,
        "nest fewer blocks, brackets and definitions",
    )


class PlanError(Exception):
    """A plan that cannot be used, with everything that is wrong with it."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(render_all(self.diagnostics))


def render_all(diagnostics: Iterable[Diagnostic]) -> str:
    """All findings in the order of the text, a blank line between them."""
    return "\n\n".join(found.render() for found in in_order(diagnostics))


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """By file, then by place; each finding once."""
    unique = dict.fromkeys(diagnostics)
    return sorted(unique, key=lambda d: (d.span.source.name, d.span.start))


def _window(line: str, column: int) -> tuple[str, int]:
    """What is shown of an overlong line, and the mark's column in it."""
    if len(line) <= SHOWN_COLUMNS:
        return line, column
    start = max(0, min(column - 1 - LEAD_COLUMNS, len(line) - SHOWN_COLUMNS))
    end = start + SHOWN_COLUMNS
    before, after = "…" if start else "", "…" if end < len(line) else ""
    return before + line[start:end] + after, column - start + len(before)


def _marked(line: str, column: int, span: Span) -> tuple[int, int]:
    """The terminal columns before the mark, and those under it."""
    before = line[: column - 1]
    under = line[column - 1 : column - 1 + span.end - span.start].rstrip("…")
    return _width(before), _width(under.rstrip())


def _width(text: str) -> int:
    """Terminal columns: wide characters take two, combining ones none."""
    return sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
