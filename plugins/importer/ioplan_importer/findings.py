"""What an import tells: what is said differently, what is left out, what is wrong."""

from __future__ import annotations

from typing import Literal

from ioplan.language import Diagnostic, Span

Severity = Literal["error", "warning", "note"]
MOST_CHARS = 400
"""Of a message; a word of a file may be as long as the file."""


class ImportFault(Exception):
    """A file of which nothing can be imported, with the reason at its place."""

    def __init__(self, message: str, span: Span, help: str = "") -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic(message, span, help)
        self.found: list[Diagnostic] = []
        """What was told before it."""


def _cut(message: str) -> str:
    half = MOST_CHARS // 2
    if len(message) <= MOST_CHARS:
        return message
    return f"{message[:half]}…{message[-half:]}"


class Findings:
    """Collects what an import tells, each once.

    An error is something that could not be read, a warning is something said
    differently or left out: both are losses. A note changes nothing that is asked.
    """

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        self._told: set[tuple[str, int, int]] = set()

    def error(self, message: str, span: Span, help: str = "") -> None:
        """Something that the other tool would not take either."""
        self._add(message, span, help, "error")

    def loss(self, message: str, span: Span, help: str = "") -> None:
        """Something said differently, or left out."""
        self._add(message, span, help, "warning")

    def note(self, message: str, span: Span, help: str = "") -> None:
        """Something worth knowing that changes nothing."""
        self._add(message, span, help, "note")

    def _add(self, message: str, span: Span, help: str, severity: Severity) -> None:
        key = message, id(span.source), span.start
        if key not in self._told:
            self._told.add(key)
            self.found.append(Diagnostic(_cut(message), span, help, severity))

    @property
    def losses(self) -> list[Diagnostic]:
        """What makes the plan other than the file."""
        return [one for one in self.found if one.severity != "note"]
