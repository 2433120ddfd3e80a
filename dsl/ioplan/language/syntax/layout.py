"""What a text says, however it is laid out: this no formatting may change."""

from __future__ import annotations

import re
from functools import cache
from itertools import zip_longest

from ioplan.language.syntax.reader import pattern_of
from ioplan.language.syntax.source import Source, comments_of, without_comments

WORDS = (r"\w+(?:\.\w+)*", r"\.\.|[<>=!]=", r"\S")
"""Told apart without keywords, so that what the parser gets wrong shows, too."""
QUOTED_NAME = re.compile(r'"([A-Za-z_]\w*(?:\.\w+)*)"')
SCALE = re.compile(r"^,\n(log\n.+|linear\nand\nlog)\n", re.M)
"""The scales of a chart, which stand at its end."""
NEEDLESS = re.compile(r"^(?:[()]|,(?=\n(?:for|until|\})$)|hotspots(?=\n\{$))\n", re.M)


class WordsChanged(Exception):
    """A defect: a text would say something else once it is laid out."""


def require_same_words(source: Source, written: str) -> None:
    """Compare a text with its layout. Raises WordsChanged."""
    for before, after in zip_longest(
        _words(source.text), _words(written), fillvalue=""
    ):
        if before != after:
            raise WordsChanged(
                f"the layout of {source.name!r} would make {after!r} of {before!r}, "
                "so nothing is written"
            )


def _words(text: str) -> list[str]:
    """The words without what is needless, then the scales, then the comments."""
    found = _word().finditer(without_comments(text))
    row = "".join(f"{_bare(word[0])}\n" for word in found)
    scales = [" ".join(scale.split()) for scale in SCALE.findall(row)]
    words = NEEDLESS.sub("", SCALE.sub("", row)).split("\n")
    return [*words, *scales, *sorted(comment.text for comment in comments_of(text))]


def _bare(word: str) -> str:
    """A quantity without its blank, and a host's name without needless quotes."""
    if word[0] == '"':
        return QUOTED_NAME.sub(r"\1", word)
    return "".join(word.split())


@cache
def _word() -> re.Pattern[str]:
    """A text in quotes, a quantity, a word or a sign."""
    values = pattern_of("STRING"), pattern_of("QUANTITY")
    return re.compile("|".join((*values, *WORDS)))
