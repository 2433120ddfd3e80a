"""Collects what is wrong, so that a check ends with all of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from ioplan.language.errors.diagnostic import Diagnostic, in_order
from ioplan.language.syntax.source import Span

MOST_FOUND = 100
MOST_WORK = 2_000_000
"""So many conditions may be looked at in cells, or about a second of CPU time."""
NUMBER = re.compile(r"[0-9._]+")


class EnoughFound(Exception):
    """Nobody reads on; ends a check."""


class Alike:
    """An error that other entries of its list have as well."""

    def __init__(self, index: int) -> None:
        self.index, self.others = index, 0


class Findings:
    """Diagnostics in the making; `damaged` places were not understood at all.

    `error_count` also counts what was found but need not be said: where it grew, what
    was checked is not to be relied on.
    """

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        self.damaged: list[Span] = []
        self.error_count = 0
        self.work = 0
        self._muted = False
        self._alike: dict[str, Alike] | None = None
        self._lost: set[str] = set()
        self._missing: set[str] = set()

    def mark_unparsed(self, spans: Iterable[Span]) -> None:
        """Remember places that were not understood, and the words in them."""
        for span in spans:
            self.damaged.append(span)
            self._lost.update(re.findall(r"\w+", span.text))

    def mark_missing(self, alias: str) -> None:
        """Remember that a file is not there, by its prefix: that is error enough."""
        self._missing.add(alias)

    def error(self, message: str, span: Span, help: str = "") -> None:
        """Note an error. Raises EnoughFound."""
        self.error_count += 1
        if self._muted or self._said_of_another(message):
            return
        self.found.append(Diagnostic(message, span, help))
        if len(self.found) >= MOST_FOUND:
            raise EnoughFound

    def spend(self, work: int, span: Span) -> None:
        """Take so much of what a plan may cost to check. Raises EnoughFound."""
        self.work += work
        if self.work > MOST_WORK:
            self.error(
                "the plan is too large: its tests have too many cells for so many "
                "conditions and limits",
                span,
                "vary less, write fewer or simpler conditions, or make several plans",
            )
            raise EnoughFound

    def twice(
        self, what: str, span: Span, earlier: Span, help: str = "keep one of them"
    ) -> None:
        """Note that something is said again. Raises EnoughFound."""
        line, column = span.source.position(earlier.start)
        self.error(
            f"{what} is given twice; first in line {line}, column {column}",
            span,
            help,
        )

    def missing(self, message: str, where: Span, inside: Span, help: str = "") -> None:
        """Note that something lacks, unless it may stand in a damaged place."""
        if not any(span.overlaps(inside) for span in self.damaged):
            self.error(message, where, help)
        else:
            self.error_count += 1

    def note_damage(self, inside: Span) -> None:
        """What is known of a damaged place is not to be relied on."""
        if any(span.overlaps(inside) for span in self.damaged):
            self.error_count += 1

    def unknown(self, name: str, message: str, span: Span, help: str = "") -> None:
        """Note an unknown name, unless a damaged place may define or use it."""
        lost = {name.rpartition(".")[2], "use"} & self._lost
        if lost or self.may_be_of_missing(name):
            self.error_count += 1
        else:
            self.error(message, span, help)

    def may_be_of_missing(self, name: str) -> bool:
        """Whether a file that is not there may define a name."""
        return name.rpartition(".")[0] in self._missing

    @contextmanager
    def suppressed(self) -> Iterator[None]:
        """Note nothing meanwhile: it is said elsewhere."""
        muted, self._muted = self._muted, True
        try:
            yield
        finally:
            self._muted = muted

    @contextmanager
    def listing(self) -> Iterator[None]:
        """What is wrong with several entries of one list alike is said of the first."""
        outer, self._alike = self._alike, {}
        found = self._alike
        try:
            yield
        finally:
            for alike in found.values():
                if alike.others:
                    first = self.found[alike.index]
                    more = f"(and {alike.others} more in this list)"
                    help = f"{first.help} {more}".strip()
                    self.found[alike.index] = replace(first, help=help)
            self._alike = outer

    def _said_of_another(self, message: str) -> bool:
        """Whether the same was said of an earlier entry, numbers apart."""
        if self._alike is None:
            return False
        shape = NUMBER.sub("", message)
        if shape in self._alike:
            self._alike[shape].others += 1
            return True
        self._alike[shape] = Alike(len(self.found))
        return False

    @property
    def errors(self) -> list[Diagnostic]:
        """All errors in the order of the text."""
        return [d for d in in_order(self.found) if d.severity == "error"]
