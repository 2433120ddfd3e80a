"""Commands on suites: plans that are shared."""

from __future__ import annotations

from ioplan.cli.interface import shared as use
from ioplan.cli.interface.declare import Command, Group, Parameter, flag, option

_FOLDER = Parameter(
    key="folder",
    metavar="FOLDER",
    help="The package's folder, with its pyproject.toml.",
    kind="folder",
    default=".",
)

PROJECT_COMMANDS = (
    Command(
        "add",
        "Add a suite from a git repository to this project, pinned by digests.",
        "ioplan.cli.commands.share.add:add_suite",
        (
            Parameter(
                key="address",
                metavar="ADDRESS",
                help="As git+https://host/path.git@v1.2//plans.",
                required=True,
            ),
            Parameter(key="word", metavar="as", help="The word 'as'.", required=True),
            Parameter(
                key="name",
                metavar="NAME",
                help="Its name in plans, for example acme.",
                required=True,
            ),
        ),
        examples=("ioplan add git+https://git.example/disks.git@v1.2//plans as acme",),
    ),
    Command(
        "update",
        "Show updates of added suites in files, runs and ids; exit 1 if there are any.",
        "ioplan.cli.commands.share.add:update_suites",
        (
            Parameter(
                key="names",
                metavar="NAME",
                help="These suites; default: all.",
                many=True,
            ),
            option("--to", "Another tag, branch or commit.", "VERSION"),
            flag("--take", "Install the update, and pin it."),
        ),
        examples=("ioplan update", "ioplan update acme --to v1.3 --take"),
    ),
)

SUITES = Group(
    "suites",
    "The suites of ioplan and of packages: list, create, publish and check them.",
    (
        Command(
            "list",
            "List the installed suites, or describe one; the default of 'suites'.",
            "ioplan.cli.commands.share.suites:print_suites",
            (
                Parameter(
                    key="suite",
                    metavar="SUITE",
                    help="Describe this one.",
                    values="suites",
                ),
                use.PROFILE,
                option("--capacity", "Of the target.", default="1TB"),
            ),
            examples=(
                "ioplan suites list",
                "ioplan suites list pts/pts_iops --capacity 1.6TB",
            ),
        ),
        Command(
            "new",
            "Create a package of suites from a template: plans, a test and a README.",
            "ioplan.cli.commands.share.new_suite:new_suite",
            (
                Parameter(
                    key="name", metavar="NAME", help="For example acme.", required=True
                ),
                option(
                    "--output -o", "Its folder; default: ioplan-NAME.", kind="folder"
                ),
            ),
            examples=("ioplan suites new acme",),
        ),
        Command(
            "publish",
            "Write a package's table of costs, and the index of its runs.",
            "ioplan.cli.commands.share.new_suite:publish_suite",
            (_FOLDER,),
            examples=("ioplan suites publish ioplan-acme",),
        ),
        Command(
            "check",
            "Check that a suite's runs are those that were published; else exit 1.",
            "ioplan.cli.commands.share.suites:check_suite",
            (
                Parameter(
                    key="suite",
                    metavar="SUITE",
                    help="For example acme; or the folder of a package.",
                    required=True,
                ),
                option(
                    "--index",
                    "The published index; default: the suite's.",
                    "FILE",
                    kind="path",
                ),
                option(
                    "--session",
                    "Instead, show which versions a session's runs match.",
                    "SESSION",
                    values="sessions",
                ),
                use.ANY_STORE,
            ),
            examples=(
                "ioplan suites check acme",
                "ioplan suites check acme --session last",
            ),
        ),
    ),
    examples=(
        "ioplan suites",
        "ioplan suites pts/pts_iops --capacity 1.6TB",
        "ioplan suites new acme",
    ),
    usual="list",
)
