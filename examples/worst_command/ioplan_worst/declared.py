"""What the command line knows of `ioplan worst`; imported at each start."""

from ioplan.cli import Command, option
from ioplan.cli.interface import shared as use

COMMANDS = (
    Command(
        "worst",
        "Show the cells of a session with the longest I/Os.",
        "ioplan_worst.command:worst",
        (
            use.SESSION,
            option(
                "--count -n", "How many; default 3.", "N", kind="integer", default=3
            ),
            use.ANY_STORE,
        ),
        examples=("ioplan worst last -n 5",),
    ),
)
