"""The parser of grammar.lark, and its keywords by what they begin."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ioplan.language.clause_table import BY_WORD, SIMPLE_WORDS
from ioplan.language.syntax.lalr import Parser
from ioplan.language.syntax.parse_tables import tables

KEYWORD = re.compile(r"\(?(?:\?:)?([a-z]+(?:(?:\||\\s\+)[a-z]+)*)\)\(\?.*")
"""A terminal that is one of some words, with a look-ahead."""
GRAMMAR = Path(__file__).with_name("grammar.lark")
ITEM_WORDS = (
    *("plan", "use", "param", "profile", "on failure", "on unsteady", "accept"),
    *("workload", "precondition", "test"),
)
STATEMENT_WORDS = (
    *("after", "run", "idle", "repeat", "vary", "skip", "rounds", "expect"),
    *("seek", "chart", "purge", "write"),
)
PATTERNS = ("random", "sequential")
"""Words that begin a workload, and so are no names either."""
CLAUSE_WORDS = (
    *(word for word in BY_WORD if word not in ("pattern", "random share", "mix")),
    *("for", "warmup", "until", "at least", "at most", "over", "range", "slope"),
)


def text() -> str:
    """The grammar, with the clauses of one word and one value from their table."""
    found = GRAMMAR.read_text("utf-8")
    return found.replace("SIMPLE_WORDS", "|".join(SIMPLE_WORDS))


@cache
def grammar() -> Parser:
    """The parser, made once."""
    return Parser(tables(text()))


@cache
def words_of(terminal: str) -> tuple[str, ...]:
    """The keywords that a terminal stands for; none for names, values and signs."""
    pattern, _ = grammar().terminals.get(terminal, ("", True))
    found = KEYWORD.fullmatch(pattern)
    return tuple(found[1].replace(r"\s+", " ").split("|")) if found else ()
