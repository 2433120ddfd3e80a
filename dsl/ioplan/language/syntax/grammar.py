"""The tables of grammar.lark, and its keywords by what they begin."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from lark import Lark

from ioplan.language.clause_table import BY_WORD, SIMPLE_WORDS

ITEM_WORDS = (
    *("plan", "use", "param", "profile", "on failure", "workload", "precondition"),
    "test",
)
STATEMENT_WORDS = (
    *("after", "run", "idle", "repeat", "vary", "skip", "rounds", "expect"),
    *("chart", "purge", "write"),
)
PATTERNS = ("random", "sequential")
"""Words that begin a workload, and so are no names either."""
CLAUSE_WORDS = (
    *(word for word in BY_WORD if word not in ("pattern", "mix")),
    *("for", "warmup", "until", "at least", "at most", "over", "range", "slope"),
)


@cache
def grammar() -> Lark:
    """The parser's tables, made once."""
    text = files("ioplan.language.syntax").joinpath("grammar.lark").read_text("utf-8")
    text = text.replace("SIMPLE_WORDS", "|".join(SIMPLE_WORDS))
    return Lark(
        text,
        parser="lalr",
        lexer="contextual",
        propagate_positions=True,
        maybe_placeholders=True,
    )
