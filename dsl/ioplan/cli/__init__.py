"""The command `ioplan`. Most of it is read only once a command is to run."""

from __future__ import annotations

import sys

from ioplan import __version__
from ioplan.cli.terminal import say, unfit


def main() -> None:
    """The entry point."""
    words = sys.argv[1:]
    if words == ["--version"]:
        print(f"ioplan {__version__}")
        return
    from ioplan.cli.app import app  # noqa: PLC0415  it takes a second
    from ioplan.cli.failure import USAGE  # noqa: PLC0415

    if word := unfit(words):
        say(f"error: the argument {word!a} has characters that cannot be shown; rename")
        sys.exit(USAGE)
    app()
