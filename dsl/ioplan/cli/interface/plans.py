"""Commands on plans, before anything runs."""

from __future__ import annotations

from ioplan.cli.interface import shared as use
from ioplan.cli.interface.declare import Command, Parameter, flag, option

PLAN_COMMANDS = (
    Command(
        "check",
        "Check plans, and report all errors in them.",
        "ioplan.cli.commands.check:check_plans",
        (
            use.PLANS,
            use.TESTS,
            use.LIST,
            use.SETTINGS,
            use.PROFILE,
            option(
                "--format",
                "text, or json for editors.",
                "FORMAT",
                default="text",
                values="text|json",
            ),
            use.LAB,
            use.STDIN_NAME,
        ),
        examples=(
            "ioplan check review.ioplan lib/*.ioplan",
            "ioplan check - --stdin-name review.ioplan < review.ioplan",
        ),
    ),
    Command(
        "fmt",
        "Format plans; comments are kept.",
        "ioplan.cli.commands.check:format_plans",
        (
            use.PLANS,
            flag("--check", "Only check; exit with 1 if a plan is not formatted."),
            use.STDIN_NAME,
        ),
        examples=(
            "ioplan fmt review.ioplan",
            "ioplan fmt --check plans/*.ioplan",
        ),
    ),
    Command(
        "plan",
        "Show the steps of a plan in order, with time, bytes and drive writes.",
        "ioplan.cli.commands.planning.plan:show_plan",
        (
            use.PLAN,
            use.TESTS,
            use.LIST,
            option(
                "--target",
                "Use its capacity; of several or a group, that of the first.",
                "TARGET",
                values="targets",
                key="targets",
                many=True,
            ),
            option("--capacity", "The target's capacity, for example 1TB.", "SIZE"),
            use.SETTINGS,
            use.PROFILE,
            use.SCALE_TIME,
            use.BACKEND,
            use.LAB,
            use.BACKEND_OPTIONS,
            use.SIM,
            use.ALLOW,
            use.APPROXIMATE,
            use.ONLY_EXACT,
            use.STORE,
            flag("--show-native", "Print the backend's native input.", key="native"),
            flag("--rehearse", "Run the plan on the simulated drive."),
            option("--within", "What each test can tell in this time.", "TIME"),
            option(
                "--detect",
                ("How many sessions it takes to detect a change of this size."),
                "SHARE",
            ),
            use.JSON,
            flag("--all", "Every step.", key="everything"),
        ),
        examples=(
            "ioplan plan review.ioplan --capacity 1.6TB",
            "ioplan plan review.ioplan --backend fio --target /dev/nvme1n1",
            "ioplan plan review.ioplan --test 'Random*' --rehearse",
            "ioplan plan review.ioplan --detect 5%",
            "ioplan plan review.ioplan --within 4h",
        ),
    ),
    Command(
        "new",
        "Create a plan from a template; at a terminal it asks which.",
        "ioplan.cli.commands.author.new:new_plan",
        (
            Parameter(
                key="file",
                metavar="FILE",
                help="The plan to write; default: named after the template.",
                kind="output",
            ),
            option(
                "--template",
                "depth, size, application, steady, time or library.",
                "NAME",
                values="templates",
            ),
            option("--title", "Default: from the file name.", "TITLE"),
        ),
        examples=("ioplan new", "ioplan new review.ioplan --template depth"),
    ),
    Command(
        "watch",
        "Check and rehearse a plan whenever it or a file that it uses is saved.",
        "ioplan.cli.commands.author.watch:watch_plan",
        (
            use.PLAN,
            use.TESTS,
            use.SETTINGS,
            use.PROFILE,
            use.SCALE_TIME,
            use.SIM,
            use.LAB,
            flag("--check-only", "Do not rehearse."),
        ),
        examples=(
            "ioplan watch review.ioplan",
            "ioplan watch review.ioplan --test 'Random*' --sim drive.toml",
        ),
    ),
    Command(
        "explain",
        "Explain a clause, statement, metric or error, with an example.",
        "ioplan.cli.commands.author.explain:explain",
        (
            Parameter(
                key="asked",
                metavar="WORD",
                help="A word from a plan, a result or an error, or a fio option.",
                many=True,
                values="words",
            ),
        ),
        examples=("ioplan explain zipf", "ioplan explain no-space", "ioplan explain"),
    ),
)
