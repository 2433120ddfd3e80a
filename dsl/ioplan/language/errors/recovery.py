"""A text without its syntax error, so that the rest can be parsed.

The statement around the error is blanked out, character by character so that all
other places stay where they are.
"""

from __future__ import annotations

import re
from functools import cached_property

from ioplan.core.value import Value
from ioplan.language.syntax.grammar import ITEM_WORDS, STATEMENT_WORDS
from ioplan.language.syntax.source import Source, Span

ITEM = re.compile(
    r"(?:plan|use|test|accept)\s*\"|on\s+(?:failure|unsteady)\b"
    r"|(?:param|profile|workload|precondition)\s+\w+\s*[={]"
)
ITEM_START = re.compile(rf"^[ \t]*(?:{ITEM.pattern})", re.M)
OPENERS = {
    *(f"_{name.upper().replace(' ', '_')}" for name in ITEM_WORDS),
    *(name.upper() for name in STATEMENT_WORDS),
    *("RBRACE", "$END"),
}
WRONG = re.compile(r'"[^"\n]*"?|[\w.]+|\S')


def line_start(text: str, at: int) -> int:
    """Where the line of a place begins."""
    return text.rfind("\n", 0, at) + 1


class Stop(Value):
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
        word = re.match(r"on (?:failure|unsteady)\b|\w+|\}?", text[at:])
        known = word is not None and word[0] in (*ITEM_WORDS, *STATEMENT_WORDS, "}")
        return begins and known and not (self.accepted & OPENERS)

    def span(self, start: int, end: int) -> Span:
        """A place of the source; the room behind it belongs to its end."""
        last = len(self.source.text)
        return Span(self.source, min(start, last), min(end, last))


def _inside_word(text: str, at: int) -> bool:
    return bool(re.match(r"\w\w", text[at - 1 : at + 1]))


STATEMENT_START = re.compile(
    rf"^(?:\w|[ \t]*(?:{'|'.join(ITEM_WORDS + STATEMENT_WORDS)})\b"
    r"|[ \t]*\w+[ \t]*=(?!=))",
    re.M,
)
CLOSING = re.compile(r"^[ \t]*\}", re.M)


def repair(stop: Stop) -> tuple[str, Span]:
    """The text without the error, as long as before, and what was given up."""
    if stop.in_open_block:
        return _closed(stop)
    at, end = stop.start, stop.end
    if stop.after_unfinished:
        at = len(stop.text[:at].rstrip()) - 1
        end = at + 1
    first, last = _statement(stop.text, at, end)
    return _blank(stop.text, first, last), stop.span(first, last)


def _closed(stop: Stop) -> tuple[str, Span]:
    """Put the missing `}` in the place of a blank before the next item."""
    text = stop.text
    before = len(text[: stop.start].rstrip())
    closed = text[:before] + "}" + text[before + 1 :]
    return closed, stop.span(max(0, before - 1), before + 1)


def _statement(text: str, at: int, end: int) -> tuple[int, int]:
    """From the start of the statement around a place to that of the next.

    A statement with a block is given up whole; a stray `}` alone.
    """
    starts = [m.start() for m in STATEMENT_START.finditer(text)]
    start = max((s for s in starts if s <= at), default=0)
    if _begins_line(text, at):
        start = line_start(text, at)
    items = [m.start() for m in ITEM_START.finditer(text, at)]
    limit = min((s for s in items if s > at), default=len(text))
    closing = [m.start() for m in CLOSING.finditer(text)]
    starts += _as_far_out(text, start, at)
    stops = [s for s in (*starts, *closing) if at < s < limit] + [limit]
    for stop in sorted(stops):
        if text[start:stop].strip() and _balanced(text[start:stop]):
            return start, stop
    if ITEM_START.match(text, start):
        return (at, end) if text[at : at + 1] == "}" else (start, limit)
    rest = text.find("\n", at)
    return at, max(end, at + 1) if rest < 0 else max(at + 1, rest)


def _begins_line(text: str, at: int) -> bool:
    """Whether a statement could begin at a place, were its keyword right."""
    before = text[:at].rstrip(" \t")
    named = text[at : at + 1].isalpha() and not before.rstrip().endswith(",")
    return named and (not before or before.endswith("\n"))


def _as_far_out(text: str, start: int, at: int) -> list[int]:
    """Lines after a place that begin no further in than its statement."""
    row = text[line_start(text, start) :]
    indent = len(row) - len(row.lstrip(" \t"))
    outer = re.compile(rf"^[ \t]{{0,{indent}}}[A-Za-z_]", re.M)
    return [m.start() for m in outer.finditer(text, at) if m.start() > at]


def _balanced(text: str) -> bool:
    return text.count("{") == text.count("}")


def _blank(text: str, start: int, stop: int) -> str:
    kept = re.sub(r"[^\n]", " ", text[start:stop])
    return text[:start] + kept + text[stop:]
