"""The command `ioplan`."""

import sys

from ioplan.cli.app import app
from ioplan.cli.failure import USAGE
from ioplan.cli.terminal import say, unfit


def main() -> None:
    """The entry point."""
    if word := unfit(sys.argv[1:]):
        say(f"error: the argument {word!a} has characters that cannot be shown; rename")
        sys.exit(USAGE)
    app()
