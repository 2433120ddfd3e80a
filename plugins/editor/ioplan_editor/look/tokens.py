"""Each word of a text by what it is, for colours: as the parser has read it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise

from lark import Token
from msgspec import Struct

from ioplan.language import CLAUSE_WORDS, Reader, Stuck, comments_of, words_of
from ioplan_editor.document import Document
from ioplan_editor.look.occurrences import occurrences

SORTS = (
    *("keyword", "property", "number", "string", "comment", "operator"),
    *("variable", "function", "class", "namespace", "parameter", "enumMember"),
)
"""Names that editors know; clauses are properties, workloads functions."""
OF_TERMINALS = {
    **dict.fromkeys(("QUANTITY", "MIX"), "number"),
    **dict.fromkeys(("OPERATOR", "EQUAL"), "operator"),
    **{"STRING": "string", "NAME": "enumMember"},
    **dict.fromkeys(("BOUND", "SETTING"), "variable"),
}
OF_SYMBOLS = {
    **{
        "param": "variable",
        "trace": "variable",
        "workload": "function",
        "precondition": "class",
    },
    **{
        "alias": "namespace",
        "stream": "parameter",
        "step": "parameter",
        "axis": "parameter",
    },
    **{"profile": "class"},
}
CLAUSES = {word.split()[0] for word in CLAUSE_WORDS} | {
    "random",
    "sequential",
    "replay",
}


class Coloured(Struct, frozen=True):
    """Characters of one sort."""

    start: int
    length: int
    sort: str


def tokens(document: Document) -> list[Coloured]:
    """All words and comments, in their order."""
    found = {one.start: one for one in _read(document)}
    for comment in comments_of(document.text):
        length = len(comment.text)
        found[comment.start] = Coloured(comment.start, length, "comment")
    for one in occurrences(document):
        start, length = one.span.start, one.span.end - one.span.start
        _split(found, start, length)
        found[start] = Coloured(start, length, OF_SYMBOLS[one.symbol.sort])
    return [found[start] for start in sorted(found) if found[start].sort]


def _split(found: dict[int, Coloured], start: int, length: int) -> None:
    """Make room for a part of a name: `pre` and `steady4k` of one word."""
    whole = found.get(start)
    if whole and whole.length > length + 1:
        rest = start + length + 1
        found[rest] = Coloured(rest, whole.length - length - 1, whole.sort)


def _read(document: Document) -> Iterator[Coloured]:
    """The words of each item; those of an item that has not changed are known."""
    text = document.file.parsed
    ends = [item.span.end for item in document.file.items]
    for start, end in pairwise([0, *ends]):
        for one in _words(text[start:end]):
            yield Coloured(start + one.start, one.length, one.sort)


@lru_cache(maxsize=1000)
def _words(text: str) -> tuple[Coloured, ...]:
    """The words of an item's text."""
    reader = Reader(text)
    with suppress(Stuck):
        reader.read()
    return tuple(Coloured(t.start_pos or 0, len(t), _sort(t)) for t in reader.tokens)


def _sort(token: Token) -> str:
    """Words of the language that begin a clause are told from those that lead."""
    if words_of(token.type):
        return "property" if token.split()[0] in CLAUSES else "keyword"
    return OF_TERMINALS.get(token.type, "")
