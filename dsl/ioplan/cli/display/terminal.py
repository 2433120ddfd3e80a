"""The one door to the terminal: nothing that steers it gets through.

Titles of plans, models of drives, messages of programs and records of others are
shown as text, whatever is in them. Only rich's own colours and cursor moves pass.
Into a pipe or a file, data goes as it is.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from ioplan.core.text import printable, printable_lines


class Terminal(Console):
    """A console that takes no markup, and that shows text as text."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """All that is printed comes by here."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable_lines(segment.text), segment.style)


def say(text: str, end: str = "\n") -> None:
    """A message for people, on standard error."""
    print(printable_lines(text), end=end, file=sys.stderr, flush=True)


def tell(text: str) -> None:
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


def unfit(words: Iterable[str]) -> str:
    """The first of some words that no program can take as a name; else nothing.

    The messages on a wrong call are not ours, and would print it as it is.
    """
    return next((word for word in words if printable(word) != word), "")
