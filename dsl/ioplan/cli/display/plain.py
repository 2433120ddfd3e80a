"""Where a session's lines go: by rich at a terminal only.

Importing rich takes as long as four starts of Python, and a pipe needs none of it.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Protocol

from ioplan.cli.display.output import print_line
from ioplan.core.text import printable

DECIDING = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""Variables by which a user has rich take anything for a terminal."""


class LineOutput(Protocol):
    """What takes lines; `ioplan.cli.display.terminal.Terminal` is one."""

    @property
    def is_terminal(self) -> bool: ...

    def say(self, text: str, style: str = "", whole: bool = True) -> None:
        """A line; one that is not to stay whole is wrapped by words."""


class Plain:
    """A pipe or a file: lines as they are, each at once."""

    is_terminal = False

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet

    def say(self, text: str, style: str = "", whole: bool = True) -> None:
        """A line, without its style. Ends ioplan, as rich does, if nobody reads."""
        if self.quiet:
            return
        try:
            print_line(printable(text))
            sys.stdout.flush()
        except BrokenPipeError:
            self.quiet = True
            with suppress(BrokenPipeError):
                sys.stdout.close()
            raise SystemExit(1) from None


def line_output(quiet: bool) -> LineOutput:
    """What fits standard output."""
    if quiet or not (sys.stdout.isatty() or os.environ.keys() & set(DECIDING)):
        return Plain(quiet)
    from ioplan.cli.display.terminal import Terminal  # noqa: PLC0415

    return Terminal()
