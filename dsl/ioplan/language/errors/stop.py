"""A place at which a text cannot go on."""

from __future__ import annotations

import re
from functools import cached_property

from msgspec import Struct

from ioplan.language.syntax.grammar import ITEM_WORDS, STATEMENT_WORDS
from ioplan.language.syntax.source import Source, Span

ITEM = re.compile(
    r"(?:plan|use|test|accept)\s*\"|on\s+(?:failure|unsteady|nothing\s+found)\b"
    r"|(?:param|profile|workload|precondition)\s+\w+\s*[={]"
)
OPENERS = {
    *(f"_{name.upper().replace(' ', '_')}" for name in ITEM_WORDS),
    *(name.upper() for name in STATEMENT_WORDS),
    *("RBRACE", "$END"),
}
BRACED = re.compile(r"\bworkload\s+(\w+)\s*\{\s*\Z")
STREAM = re.compile(r"\w+\s*=")
WRONG = re.compile(r'"[^"\n]*"?|[\w.]+|\S')


def line_start(text: str, at: int) -> int:
    """Where the line of a place begins."""
    return text.rfind("\n", 0, at) + 1


class Stop(Struct, frozen=True, dict=True):
    """A place at which a text cannot go on.

    `text` is what was parsed: the source, with blanks in the place of comments and
    of earlier errors, and some room behind it. `accepted` are the grammar's names of
    what may stand there.
    """

    source: Source
    text: str
    position: int
    accepted: set[str]

    @cached_property
    def start(self) -> int:
        """Where the wrong word begins, even where the lexer stopped inside it."""
        text, start = self.text, self.position
        while 0 < start < len(text) and _inside_word(text, start):
            start -= 1
        return start

    @cached_property
    def end(self) -> int:
        """Where the wrong word ends."""
        found = WRONG.match(self.text, self.start)
        return found.end() if found else self.start

    @cached_property
    def braced(self) -> re.Match[str] | None:
        """`workload NAME {` before clauses, where only named streams can stand."""
        found = BRACED.search(self.text, 0, self.start)
        unnamed = found and not STREAM.match(self.text, self.start)
        return found if unnamed and self.word[:1].isalnum() else None

    @property
    def word(self) -> str:
        """What is wrong."""
        return self.text[self.start : self.end]

    @property
    def at_end(self) -> bool:
        """Whether nothing follows."""
        return self.start >= len(self.text.rstrip())

    @cached_property
    def in_open_block(self) -> bool:
        """Whether an item begins, or the text ends, where a `}` was due."""
        text, at = self.text, self.start
        ends = self.at_end or ITEM.match(text, at) is not None
        room = text[len(text[:at].rstrip()) :][:1].isspace()
        return ends and room and "RBRACE" in self.accepted

    @cached_property
    def after_unfinished(self) -> bool:
        """Whether the statement before lacks its end.

        That is so where the next statement begins though none can begin here.
        """
        text, at = self.text, self.start
        begins = text[line_start(text, at) : at].strip() == ""
        word = re.match(r"on (?:failure|unsteady|nothing found)\b|\w+|\}?", text[at:])
        known = word is not None and word[0] in (*ITEM_WORDS, *STATEMENT_WORDS, "}")
        return begins and known and not (self.accepted & OPENERS)

    def span(self, start: int, end: int) -> Span:
        """A place of the source; the room behind it belongs to its end."""
        last = len(self.source.text)
        return Span(self.source, min(start, last), min(end, last))


def _inside_word(text: str, at: int) -> bool:
    return bool(re.match(r"\w\w", text[at - 1 : at + 1]))
