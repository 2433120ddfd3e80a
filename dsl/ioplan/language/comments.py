"""Comments: from `#` to the end of the line, but not inside a text in quotes."""

from __future__ import annotations

import re
from dataclasses import dataclass

COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|(#[^\n]*)')


@dataclass(frozen=True)
class Comment:
    """A comment, and whether code stands before it on its row."""

    text: str
    start: int
    end: int
    trailing: bool


def comments_of(text: str) -> list[Comment]:
    """All comments of a text, without the blanks that end them."""
    return [
        Comment(found[1].rstrip(), found.start(1), found.end(1), _trailing(text, found))
        for found in COMMENT.finditer(text)
        if found[1]
    ]


def _trailing(text: str, found: re.Match[str]) -> bool:
    before = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
    return bool(before.strip())


def without_comments(text: str) -> str:
    """The text with blanks in the place of its comments."""
    return COMMENT.sub(lambda m: " " * len(m[0]) if m[1] else m[0], text)
