"""The tables of grammar.lark, and its keywords by what they begin."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from lark import Lark

ITEM_WORDS = (
    *("plan", "use", "param", "profile", "on failure", "workload", "precondition"),
    "test",
)
STATEMENT_WORDS = (
    *("after", "run", "idle", "repeat", "vary", "skip", "rounds", "expect"),
    *("chart", "purge", "write"),
)
CLAUSE_WORDS = (
    *("size", "read", "sizes", "qd", "threads", "rate", "region", "align", "data"),
    *("hotspots", "zipf", "pareto", "normal", "trim", "sync", "verify"),
    *("for", "warmup", "until", "at least", "at most", "over", "range", "slope"),
    "on hosts",
)

PATTERNS = ("random", "sequential")
"""Words that begin a workload, and so are no names either."""


@cache
def grammar() -> Lark:
    """The parser's tables, made once."""
    text = files("ioplan.language.syntax").joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        text,
        parser="lalr",
        lexer="contextual",
        propagate_positions=True,
        maybe_placeholders=True,
    )
