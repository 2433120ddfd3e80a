"""A text, and a place in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

from msgspec import Struct


class Source(Struct, frozen=True, dict=True):
    """A plan's text and the name that messages give it."""

    name: str
    text: str

    @cached_property
    def line_starts(self) -> list[int]:
        """The offset of the first character of each line."""
        return [0] + [i + 1 for i, char in enumerate(self.text) if char == "\n"]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of an offset."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line, without its end."""
        start = self.line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else None].rstrip("\r")


class Span(Struct, frozen=True):
    """Characters `start` to `end` (exclusive) of a source."""

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        """What stands there."""
        return self.source.text[self.start : self.end]

    @property
    def one_line(self) -> str:
        """What stands there, without comments and line ends."""
        code = (line.split("#")[0] for line in self.text.split("\n"))
        return " ".join(" ".join(code).split())

    def overlaps(self, other: Span) -> bool:
        """Whether both share a character of one source."""
        return (
            self.source is other.source
            and self.start < other.end
            and other.start < self.end
        )

    def __repr__(self) -> str:
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"


COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|(#[^\n]*)')


class Comment(Struct, frozen=True):
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
