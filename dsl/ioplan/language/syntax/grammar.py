"""The text of grammar.lark, and its keywords by what they begin."""

from __future__ import annotations

from pathlib import Path

from ioplan.language.clause_table import BY_WORD, SIMPLE_WORDS

GRAMMAR = Path(__file__).with_name("grammar.lark")
ITEM_WORDS = (
    *("plan", "use", "trace", "param", "profile", "on failure", "on unsteady"),
    *("on nothing found", "accept", "workload", "precondition", "test"),
)
STATEMENT_WORDS = (
    *("after", "run", "idle", "repeat", "vary", "skip", "rounds", "expect"),
    *("seek", "headline", "chart", "purge", "write"),
)
PATTERNS = ("random", "sequential", "replay")
"""Words that begin a workload, and so are no names either."""
OF_UNTIL = ("at least", "at most", "over", "range", "slope")
"""What nothing but `until steady` has."""
CLAUSE_WORDS = (
    *(word for word in BY_WORD if word not in ("pattern", "random share", "mix")),
    *("for", "warmup", "interval", "cut", "event", "until", *OF_UNTIL),
)


def text() -> str:
    """The grammar, with the clauses of one word and one value from their table."""
    found = GRAMMAR.read_text("utf-8")
    return found.replace("SIMPLE_WORDS", "|".join(SIMPLE_WORDS))
