"""Text from anywhere, such that it can only be read: it cannot steer a terminal."""

from __future__ import annotations

import unicodedata

INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def printable(text: str) -> str:
    """One line: what is invisible becomes a mark, tabs take one column."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


def printable_lines(text: str) -> str:
    """The same for a text that may have lines."""
    return "\n".join(map(printable, text.split("\n")))


def _shown(char: str) -> str:
    if char == "\t":
        return " "
    hidden = unicodedata.category(char) in INVISIBLE
    return "\N{REPLACEMENT CHARACTER}" if hidden else char
