"""Commands of what the desk does by itself: schedules and web hooks."""

from __future__ import annotations

from ioplan.cli import Command, Group, Parameter, flag, option
from ioplan.cli.interface import shared as use
from ioplan_lab.interface.queue import LAB_TARGET, PRIORITY, RUN_WORDS, SIGNED

_NAME = Parameter(
    key="name", metavar="NAME", help="The schedule's name.", required=True
)

SCHEDULE = Group(
    "schedule",
    "Plans that the desk adds to the queue at scheduled times.",
    (
        Command(
            "list",
            "List the schedules, when each is due, and its last run.",
            "ioplan_lab.commands.desk.schedules:list_schedules",
            (use.LAB, use.JSON),
            examples=("ioplan lab schedule list",),
        ),
        Command(
            "add",
            "Add a plan at the times of a cron expression.",
            "ioplan_lab.commands.desk.schedules:add_schedule",
            (
                _NAME,
                use.PLAN,
                option(
                    "--cron", "For example '0 2 * * *', each night at 2.", required=True
                ),
                option(
                    "--zone", "Its time zone, for example Europe/Berlin.", required=True
                ),
                option(
                    "--missed",
                    "Runs missed while no desk was running: once or skip.",
                    "WHAT",
                    default="skip",
                    values="once|skip",
                ),
                LAB_TARGET,
                PRIORITY,
                SIGNED,
                *RUN_WORDS,
                use.LAB,
            ),
            examples=(
                "ioplan lab schedule add n p.ioplan --target t --cron '0 2 * * *' "
                "--zone UTC",
            ),
        ),
        Command(
            "remove",
            "Remove a schedule; queue entries that it added remain.",
            "ioplan_lab.commands.desk.schedules:remove_schedule",
            (_NAME, use.LAB),
            examples=("ioplan lab schedule remove nightly",),
        ),
    ),
    usual="list",
)

HOOK = Group(
    "hook",
    "Web hooks: addresses that are notified when a job of the queue has ended.",
    (
        Command(
            "list",
            "List the hooks and their last deliveries.",
            "ioplan_lab.commands.desk.hooks:list_hooks",
            (use.LAB, use.JSON),
            examples=("ioplan lab hook list",),
        ),
        Command(
            "add",
            "Add a hook, and print its signing secret; it is shown once.",
            "ioplan_lab.commands.desk.hooks:add_hook",
            (
                Parameter(key="url", metavar="URL", help="https://…", required=True),
                option(
                    "--on",
                    "ended, failed, unmet (an expectation); may be repeated.",
                    "EVENT",
                    key="events",
                    many=True,
                    values="ended|failed|unmet",
                ),
                flag("--inside", "Permit loopback and link-local addresses."),
                use.LAB,
            ),
            examples=("ioplan lab hook add https://chat.example/x --on failed",),
        ),
        Command(
            "remove",
            "Remove a hook.",
            "ioplan_lab.commands.desk.hooks:remove_hook",
            (
                Parameter(
                    key="number",
                    metavar="NUMBER",
                    help="The hook's number.",
                    required=True,
                ),
                use.LAB,
            ),
            examples=("ioplan lab hook remove 1",),
        ),
    ),
    usual="list",
)
