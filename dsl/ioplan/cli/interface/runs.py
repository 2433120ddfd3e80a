"""Commands that run plans."""

from __future__ import annotations

from ioplan.cli.interface import shared as use
from ioplan.cli.interface.declare import Command, Parameter, flag, option
from ioplan.cli.interface.request_options import REQUEST_OPTIONS

_JOB = Parameter(
    key="key", metavar="JOB", help="An id, a prefix of it, or 'last'.", default="last"
)

RUN_COMMANDS = (
    Command(
        "run",
        "Run a plan. Exit code: 0 expectations met, 1 not met, 2 usage error, 3 a "
        "run failed, 4 passed; upload to the lab pending, 130 interrupted.",
        "ioplan.cli.commands.run:run_command",
        (
            use.PLAN,
            *REQUEST_OPTIONS.values(),
            use.ON,
            use.LIST,
            use.SIM,
            use.STORE,
            use.OVERWRITE_FROM,
            use.DETACH,
            use.QUIET,
            use.JSON_LINES,
            use.LANE,
            use.REQUEST,
            use.JOB_ID,
        ),
        examples=(
            "ioplan run review.ioplan --target scratch.bin --create 1GiB",
            "ioplan run review.ioplan --backend sim --create 1GiB --scale-time 0.01",
            "ioplan run review.ioplan --target fast --overwrite S4EVNX0R123456",
            "ioplan run review.ioplan --test 'Random*' --set run_time=10s",
            "ioplan run review.ioplan --on \"8 x model 'ACME *', life < 20 %\"",
            "ioplan run review.ioplan --target fast --tag nightly --note 'new cable'",
        ),
        needs_linux=True,
    ),
    Command(
        "resume",
        "Continue a session that was killed, stopped or failed.",
        "ioplan.cli.commands.resume:resume_command",
        (
            use.SESSION,
            use.TESTS,
            use.LIST,
            option("--plan", "The plan, if it was moved or edited.", kind="path"),
            use.OVERWRITE,
            use.OVERWRITE_FROM,
            use.OVERWRITE_DATA,
            use.CANNOT_SEE_USERS,
            flag("--trust", "Trust a store that you did not create."),
            use.DETACH,
            use.STORE,
            use.QUIET,
            use.JSON_LINES,
            use.LANE,
        ),
        examples=(
            "ioplan resume",
            "ioplan resume 20261121 --plan review.ioplan",
        ),
        needs_linux=True,
    ),
    Command(
        "undo",
        "Restore the first and last MiB of a target that a session overwrote.",
        "ioplan.cli.commands.undo:undo",
        (
            use.SESSION,
            option("--target", "The target, if its path has changed."),
            use.LAB,
            use.OVERWRITE,
            use.OVERWRITE_DATA,
            use.CANNOT_SEE_USERS,
            use.STORE,
        ),
        examples=("ioplan undo last --overwrite S4EVNX0R123456",),
        needs_linux=True,
    ),
    Command(
        "crosscheck",
        "Run each cell on two backends in turn; exit with 1 unless all agree.",
        "ioplan.cli.commands.crosscheck:crosscheck_command",
        (
            use.PLAN,
            option(
                "--backends", "Two backends, for example io_uring,fio.", required=True
            ),
            use.TARGET,
            use.CREATE,
            option(
                "--rounds",
                "Runs of each cell on each backend.",
                kind="integer",
                default=5,
            ),
            use.SETTINGS,
            use.PROFILE,
            use.SCALE_TIME,
            use.LAB,
            use.OVERWRITE,
            use.OVERWRITE_DATA,
            use.CANNOT_SEE_USERS,
            use.ALLOW,
            use.APPROXIMATE,
            use.STORE,
        ),
        examples=(
            "ioplan crosscheck p.ioplan --backends io_uring,fio --target file.bin",
        ),
        needs_linux=True,
    ),
)
