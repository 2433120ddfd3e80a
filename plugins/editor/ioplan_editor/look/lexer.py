"""A lexer for Pygments, so that documents show plans in colours."""

from __future__ import annotations

from typing import Any, ClassVar

from pygments.lexer import RegexLexer, words
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
)

from ioplan.language import BY_WORD, CLAUSE_WORDS, UNITS, grammar, words_of

LEADING = {"for", "on hosts", "on targets"}


def _all_words() -> tuple[str, ...]:
    """Each keyword of the grammar."""
    found = (word for one in grammar().terminals for word in words_of(one.name))
    return tuple(sorted({*found}))


CLAUSES = tuple(
    sorted({*CLAUSE_WORDS, "read sizes", "write sizes", *BY_WORD} - LEADING)
)
KEYWORDS = tuple(word for word in _all_words() if word not in CLAUSES)
UNIT = "|".join(sorted((unit for unit in UNITS if unit), key=len, reverse=True))


class IoplanLexer(RegexLexer):  # type: ignore[misc]
    """Colours a plan; a name is what no word of the language is."""

    name = "ioplan"
    aliases: ClassVar[list[str]] = ["ioplan"]
    filenames: ClassVar[list[str]] = ["*.ioplan"]
    tokens: ClassVar[dict[str, Any]] = {
        "root": [
            (r"\s+", Whitespace),
            (r"#.*$", Comment.Single),
            (r'"(\\.|[^"\\\n])*"', String),
            (r"\d[\d_.]*\s*/\s*\d[\d_]*", Number),
            (rf"\d[\d_]*(\.\d+)?([ \t]*({UNIT})(?!\w))?", Number),
            (r"<=|>=|==|!=|<|>|=|\.\.|\+", Operator),
            (r"[{}(),]", Punctuation),
            (words(CLAUSES, prefix=r"\b", suffix=r"\b(?!\.)"), Name.Attribute),
            (words(KEYWORDS, prefix=r"\b", suffix=r"\b(?!\.)"), Keyword),
            (r"[A-Za-z_]\w*(\.\w+)*", Name),
        ]
    }
