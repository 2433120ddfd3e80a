"""Messages, lines of text and data, such that nothing in them steers a terminal.

Titles of plans, models of drives, messages of programs and records of others are
shown as text, whatever is in them. Into a pipe or a file, data goes as it is.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from ioplan.core.text import printable, printable_lines

ASCII = {
    **dict.fromkeys("─╌–—", "-"),
    **dict.fromkeys("│┊", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯✓", "+"),
    **dict.fromkeys("█▉▊▋▌▇▆", "#"),
    **dict.fromkeys("▍▎▏", " "),
    **dict.fromkeys("▄▅", "="),
    **dict.fromkeys("▃▂▁", "_"),
    **dict.fromkeys(map(chr, range(0x2801, 0x2900)), "*"),
    **{"░": ".", "▒": ":", "▓": "%", "•": "o", "·": ".", "✕": "x", "▲": "!", "…": "~"},
    **{"µ": "u", "×": "x", "±": "+/-", "≥": ">=", "≤": "<=", "→": ">", "↓": "v"},
    **{"\N{BRAILLE PATTERN BLANK}": " ", "\N{THIN SPACE}": " ", "°": "deg"},
}
"""What stands for a character where there is only ASCII: bars stay bars."""
TO_ASCII = str.maketrans(ASCII)


def encodable(text: str, out: Any) -> str:
    """The text in ASCII where the locale, or the encoding of `out`, has no more."""
    names = map(os.environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))
    locale = next(filter(None, names), "")
    encoding = str(getattr(out, "encoding", None) or "utf-8").lower()
    if text.isascii() or (locale not in ("C", "POSIX") and encoding.startswith("utf")):
        return text
    return text.translate(TO_ASCII).encode("ascii", "replace").decode()


def print_message(text: str, end: str = "\n") -> None:
    """A message for people, on standard error."""
    text = encodable(printable_lines(text), sys.stderr)
    print(text, end=end, file=sys.stderr, flush=True)


def print_line(text: str) -> None:
    """A line of text on standard output."""
    print(encodable(printable_lines(text), sys.stdout))


@contextmanager
def data_out() -> Iterator[BinaryIO]:
    """Standard output for data: exactly, unless it is a terminal."""
    if not sys.stdout.isatty():
        yield sys.stdout.buffer
        return
    kept = io.BytesIO()
    yield kept
    sys.stdout.write(printable_lines(kept.getvalue().decode(errors="replace")))


def unprintable(words: Iterable[str]) -> str:
    """The first of some words that no program can take as a name; else nothing."""
    return next((word for word in words if printable(word) != word), "")
