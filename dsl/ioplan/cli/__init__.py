"""The command `ioplan`. Most of it is read only once a command is to run."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """The entry point; Ctrl-C ends it in one line while it is still being read."""
    try:
        _main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)


def _main(words: list[str]) -> None:
    from ioplan import __version__  # noqa: PLC0415  these take a second

    if words == ["--version"]:
        print(f"ioplan {__version__}")
        return
    from ioplan.cli.app import app  # noqa: PLC0415
    from ioplan.cli.display.terminal import say, unfit  # noqa: PLC0415
    from ioplan.cli.errors import USAGE  # noqa: PLC0415

    if word := unfit(words):
        say(f"error: the argument {word!a} has characters that cannot be shown; rename")
        sys.exit(USAGE)
    app()
