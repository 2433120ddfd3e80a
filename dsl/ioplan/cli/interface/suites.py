"""Commands on suites: plans that are shared."""

from __future__ import annotations

from ioplan.cli.interface import shared as use
from ioplan.cli.interface.declare import Argument, Command, Group, flag, option

_FOLDER = Argument(
    key="folder",
    metavar="FOLDER",
    help="The package's, with its pyproject.toml.",
    kind="path",
    default=".",
)

PROJECT_COMMANDS = (
    Command(
        "add",
        "Add a suite of a git repository to this project, pinned by its digests.",
        "share.add:add_suite",
        (
            Argument(
                key="address",
                metavar="ADDRESS",
                help="As git+https://host/path.git@v1.2//plans.",
                required=True,
            ),
            Argument(key="word", metavar="as", help="The word 'as'.", required=True),
            Argument(
                key="name",
                metavar="NAME",
                help="What plans call it, such as acme.",
                required=True,
            ),
        ),
        examples=("ioplan add git+https://git.example/disks.git@v1.2//plans as acme",),
    ),
    Command(
        "update",
        "Show what is new in added suites, in files, runs and ids; exit 1 if any is.",
        "share.add:update_suites",
        (
            Argument(
                key="names",
                metavar="NAME",
                help="Of these suites; else all.",
                many=True,
            ),
            option("--to", "Another tag, branch or commit.", "VERSION"),
            flag("--take", "Take it, and pin it."),
        ),
        examples=("ioplan update", "ioplan update acme --to v1.3 --take"),
    ),
)

SUITES = Group(
    "suites",
    "The suites of ioplan and of packages: what each does and costs, and new ones.",
    (
        Command(
            "list",
            "List the suites that are here, or describe one; what 'suites' alone does.",
            "share.suites:print_suites",
            (
                Argument(
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
            "Begin a package of suites: plans, a test, a README, all to be filled.",
            "share.new_suite:new_suite",
            (
                Argument(
                    key="name", metavar="NAME", help="Such as acme.", required=True
                ),
                option("--output -o", "Its folder; else ioplan-NAME.", kind="path"),
            ),
            examples=("ioplan suites new acme",),
        ),
        Command(
            "publish",
            "Write a package's table of costs, and which runs its version stands for.",
            "share.new_suite:publish_suite",
            (_FOLDER,),
            examples=("ioplan suites publish ioplan-acme",),
        ),
        Command(
            "check",
            "Tell whether a suite's runs are those that were published; else exit 1.",
            "share.check_suite:check_suite",
            (
                Argument(
                    key="suite",
                    metavar="SUITE",
                    help="As acme; or the folder of a package.",
                    required=True,
                ),
                option(
                    "--index", "The published one; else its own.", "FILE", kind="path"
                ),
                option(
                    "--session",
                    "Which versions its runs are of, instead.",
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
