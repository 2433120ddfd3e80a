"""Commands that follow what runs on a group of targets."""

from __future__ import annotations

from ioplan.cli import Command, Parameter, flag, option
from ioplan.cli.interface import shared as use

_JOB = Parameter(
    key="key", metavar="JOB", help="An id, a prefix of it, or 'last'.", default="last"
)

JOB_COMMANDS = (
    Command(
        "status",
        "Show the state of a job's lanes. Exit code 1: some have failed.",
        "ioplan_lab.commands.jobs.follow:status",
        (_JOB, use.STORE),
        examples=("ioplan status last",),
        needs_linux=True,
    ),
    Command(
        "attach",
        "Watch a job until it ends; Ctrl-C only stops watching.",
        "ioplan_lab.commands.jobs.follow:attach",
        (_JOB, use.STORE),
        examples=("ioplan attach",),
        needs_linux=True,
    ),
    Command(
        "cancel",
        "Stop the lanes of a job; completed runs are kept.",
        "ioplan_lab.commands.jobs.follow:cancel",
        (
            Parameter(key="key", metavar="JOB", help=_JOB.help, required=True),
            use.STORE,
            option("--person", hidden=True, default=""),
        ),
        examples=("ioplan cancel last",),
        needs_linux=True,
    ),
    Command(
        "jobs",
        "List the jobs of this host, also while no database answers.",
        "ioplan_lab.commands.jobs.follow:list_jobs",
        (use.STORE, flag("--json", "Print a line of JSON for each.")),
        examples=("ioplan jobs",),
        needs_linux=True,
    ),
)
