"""Collects what is wrong, so that a check ends with all of it."""

from __future__ import annotations

from ioplan.language.diagnostic import Diagnostic, in_order
from ioplan.language.source import Span


class Findings:
    """Diagnostics in the making; `damaged` places were not understood at all."""

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        self.damaged: list[Span] = []

    def error(self, message: str, span: Span, help: str = "") -> None:
        """Note an error."""
        self.found.append(Diagnostic(message, span, help))

    def missing(self, message: str, where: Span, inside: Span, help: str = "") -> None:
        """Note that something lacks, unless it may stand in a damaged place."""
        if not any(span.overlaps(inside) for span in self.damaged):
            self.error(message, where, help)

    def unknown(self, name: str, message: str, span: Span, help: str = "") -> None:
        """Note an unknown name, unless a damaged place may define it."""
        last = name.rpartition(".")[2]
        if not any(last in damaged.text.split() for damaged in self.damaged):
            self.error(message, span, help)

    @property
    def errors(self) -> list[Diagnostic]:
        """All errors in the order of the text."""
        return [d for d in in_order(self.found) if d.severity == "error"]
