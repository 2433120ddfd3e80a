"""All commands, in the order of help: the core's, then those of plug-ins."""

from __future__ import annotations

from ioplan.cli.interface.declare import Group, flag
from ioplan.cli.interface.host import HOST_COMMANDS
from ioplan.cli.interface.plans import PLAN_COMMANDS
from ioplan.cli.interface.plugins import with_plugins
from ioplan.cli.interface.results import RESULT_COMMANDS
from ioplan.cli.interface.runs import RUN_COMMANDS
from ioplan.cli.interface.suites import PROJECT_COMMANDS, SUITES
from ioplan.cli.interface.traces import TRACE

READ_STORES = frozenset(
    ("ls", "show", "export", "report", "answer", "compare", "history")
)
"""What reads records once and ends. It keeps most of what it makes until then, so to
look through all of that for garbage again and again takes half of the time."""

IOPLAN = Group(
    "ioplan",
    "Storage test plans as text: precondition, sweep, measure, judge.",
    with_plugins(
        (
            *PLAN_COMMANDS,
            *RUN_COMMANDS,
            *RESULT_COMMANDS,
            *HOST_COMMANDS,
            *PROJECT_COMMANDS,
            SUITES,
            TRACE,
        )
    ),
    (
        flag("--version", "Show it."),
        flag("--install-completion", "Install completion for the current shell."),
        flag(
            "--show-completion",
            "Show completion for the current shell, to copy it or customize the "
            "installation.",
        ),
    ),
    (
        "ioplan new review.ioplan --template depth",
        "ioplan check review.ioplan",
        "ioplan plan review.ioplan --capacity 1TB",
        "ioplan run review.ioplan --target scratch.bin --create 1GiB",
        "ioplan report last -o report.html",
    ),
)
