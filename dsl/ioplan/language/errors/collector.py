"""Collects what is wrong, so that a check ends with all of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ioplan.language.errors.diagnostic import Diagnostic, in_order
from ioplan.language.syntax.source import Span

MOST_FOUND = 100


class EnoughFound(Exception):
    """Nobody reads on; ends a check."""


class Findings:
    """Diagnostics in the making; `damaged` places were not understood at all.

    `error_count` also counts what was found but need not be said: where it grew, what
    was checked is not to be relied on.
    """

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        self.damaged: list[Span] = []
        self.error_count = 0
        self._muted = False
        self._lost: set[str] = set()

    def mark_unparsed(self, spans: Iterable[Span]) -> None:
        """Remember places that were not understood, and the words in them."""
        for span in spans:
            self.damaged.append(span)
            self._lost.update(re.findall(r"\w+", span.text))

    def error(self, message: str, span: Span, help: str = "") -> None:
        """Note an error. Raises EnoughFound."""
        self.error_count += 1
        if self._muted:
            return
        self.found.append(Diagnostic(message, span, help))
        if len(self.found) >= MOST_FOUND:
            raise EnoughFound

    def twice(self, what: str, span: Span, earlier: Span) -> None:
        """Note that something is said again. Raises EnoughFound."""
        line, column = span.source.position(earlier.start)
        self.error(
            f"{what} is given twice; first in line {line}, column {column}",
            span,
            "keep one of them",
        )

    def missing(self, message: str, where: Span, inside: Span, help: str = "") -> None:
        """Note that something lacks, unless it may stand in a damaged place."""
        if not any(span.overlaps(inside) for span in self.damaged):
            self.error(message, where, help)
        else:
            self.error_count += 1

    def unknown(self, name: str, message: str, span: Span, help: str = "") -> None:
        """Note an unknown name, unless a damaged place may define or use it."""
        if not {name.rpartition(".")[2], "use"} & self._lost:
            self.error(message, span, help)
        else:
            self.error_count += 1

    @contextmanager
    def suppressed(self) -> Iterator[None]:
        """Note nothing meanwhile: it is said elsewhere."""
        muted, self._muted = self._muted, True
        try:
            yield
        finally:
            self._muted = muted

    @property
    def errors(self) -> list[Diagnostic]:
        """All errors in the order of the text."""
        return [d for d in in_order(self.found) if d.severity == "error"]
