"""Messages, lines of text and data, such that nothing in them steers a terminal.

Titles of plans, models of drives, messages of programs and records of others are
shown as text, whatever is in them. Into a pipe or a file, data goes as it is.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from ioplan.core.text import printable, printable_lines


def print_message(text: str, end: str = "\n") -> None:
    """A message for people, on standard error."""
    print(printable_lines(text), end=end, file=sys.stderr, flush=True)


def print_line(text: str) -> None:
    """A line of text on standard output."""
    print(printable_lines(text))


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
