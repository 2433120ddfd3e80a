"""A text without its syntax error, so that the rest can be parsed.

The clause or statement around the error is blanked out, character by character so that
all other places stay where they are.
"""

from __future__ import annotations

import re

from ioplan.language.errors.clause_repair import depths, wrong_clause
from ioplan.language.errors.diagnostic import Diagnostic
from ioplan.language.errors.hints import diagnose
from ioplan.language.errors.respelling import respelling
from ioplan.language.errors.stop import ITEM, Stop, line_start
from ioplan.language.syntax.grammar import ITEM_WORDS, STATEMENT_WORDS
from ioplan.language.syntax.source import Source, Span

ITEM_START = re.compile(rf"^[ \t]*(?:{ITEM.pattern})", re.M)
STATEMENT_START = re.compile(
    rf"^(?:\w|[ \t]*(?:{'|'.join(ITEM_WORDS + STATEMENT_WORDS)})\b"
    r"|[ \t]*\w+[ \t]*=(?!=))",
    re.M,
)
CLOSING = re.compile(r"^[ \t]*\}", re.M)


def recovered(
    source: Source, text: str, position: int, accepted: set[str]
) -> tuple[Diagnostic, str, Span]:
    """What is wrong where the parser stopped, then what `repair` returns."""
    stop = Stop(source, text, position, accepted)
    return diagnose(stop), *repair(stop)


def repair(stop: Stop) -> tuple[str, Span]:
    """The text without the error, as long as before, and what was given up."""
    if stop.in_open_block:
        return _closed(stop)
    if meant := respelling(stop):
        text = meant.applied(stop.text)
        if text is not None:
            return text, stop.span(meant.start, meant.end)
    at, end = stop.start, stop.end
    if stop.braced:
        first, last = stop.braced.start(), _block_end(stop.text, at)
        return _blank(stop.text, first, last), stop.span(first, last)
    if stop.after_unfinished:
        at = len(stop.text[:at].rstrip()) - 1
        end = at + 1
    elif clause := wrong_clause(stop):
        first, last = clause
        before = len(stop.text[:first].rstrip()) - 1  # what it was a part of
        return _blank(stop.text, first, last), stop.span(before, last)
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
    if _begins_block(text, at):
        start = at
    elif _begins_line(text, at):
        start = line_start(text, at)
    items = [m.start() for m in ITEM_START.finditer(text, at)]
    limit = min((s for s in items if s > at), default=len(text))
    closing = [m.start() for m in CLOSING.finditer(text)]
    starts += _as_far_out(text, start, at)
    closing += _outer_closing(text, start, at, limit)
    stops = [s for s in (*starts, *closing) if at < s < limit] + [limit]
    for stop in sorted(stops):
        if text[start:stop].strip() and _balanced(text[start:stop]):
            return start, stop
    if ITEM_START.match(text, start):
        return (at, end) if text[at : at + 1] == "}" else (start, limit)
    rest = text.find("\n", at)
    return at, max(end, at + 1) if rest < 0 else max(at + 1, rest)


def _block_end(text: str, at: int) -> int:
    """Behind the brace that closes the block around a place."""
    closing = text.find("}", at)
    return len(text) if closing < 0 else closing + 1


def _begins_block(text: str, at: int) -> bool:
    """Whether a word stands first in a block, on the line of its brace."""
    return text[at : at + 1].isalpha() and text[:at].rstrip(" \t")[-1:] in ("{", "}")


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


def _outer_closing(text: str, start: int, at: int, limit: int) -> list[int]:
    """The brace after a place that closes the block in which its statement begins."""
    places = depths(text, start, limit)
    found = next((index for index, _, depth in places if depth < 0), -1)
    return [found] if found > at else []


def _balanced(text: str) -> bool:
    return text.count("{") == text.count("}")


def _blank(text: str, start: int, stop: int) -> str:
    kept = re.sub(r"[^\n]", " ", text[start:stop])
    return text[:start] + kept + text[stop:]
