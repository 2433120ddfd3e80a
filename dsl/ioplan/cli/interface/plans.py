"""Commands on plans, before anything runs."""

from __future__ import annotations

from ioplan.cli.interface import shared as use
from ioplan.cli.interface.declare import Argument, Command, flag, option

PLAN_COMMANDS = (
    Command(
        "check",
        "Tell whether plans are right, and if not, all that is wrong with them.",
        "check:check_plans",
        (
            use.PLANS,
            use.TESTS,
            use.LIST,
            use.SETTINGS,
            use.PROFILE,
            option("--format", "text, or json for editors.", default="text"),
            use.LAB,
            use.STDIN_NAME,
        ),
    ),
    Command(
        "fmt",
        "Write plans in the one layout; comments stay.",
        "check:format_plans",
        (
            use.PLANS,
            flag("--check", "Only tell; exit with 1 if one is not."),
            use.STDIN_NAME,
        ),
    ),
    Command(
        "plan",
        "Show what would happen: steps in order, time, bytes, drive writes.",
        "plan:show_plan",
        (
            use.PLAN,
            use.TESTS,
            use.LIST,
            option("--target", "Take its capacity."),
            option("--capacity", "For example 1TB."),
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
            flag("--show-native", "What the backend would be told.", key="native"),
            flag("--rehearse", "Run it all on the simulated drive."),
            use.JSON,
            flag("--all", "Every step.", key="everything"),
        ),
    ),
    Command(
        "lsp",
        "Answer an editor: a language server on standard input and output.",
        "lsp:serve_editor",
    ),
    Command(
        "import",
        "Make plans of other tools' jobs, store their results; exit 1 on losses.",
        "import_files:import_files",
        (
            Argument(
                key="files",
                metavar="FILE",
                help="Job files and JSON of fio.",
                kind="path",
                many=True,
                required=True,
            ),
            option(
                "--output -o",
                "The plan's file, or a folder for several; else stdout.",
                "FILE",
                kind="path",
            ),
            option("--suite", "Plans over one library of workloads.", "NAME"),
            flag("--prove", "Compare with what fio makes of the plan."),
            option(
                "--set",
                "A variable of the job file.",
                "NAME=VALUE",
                key="settings",
                many=True,
            ),
            use.FORCE,
            option("--drive", "What the results are of; else fio's filename.", "NAME"),
            option("--tag", "A word that is kept with the results.", "TAG"),
            use.STORE,
        ),
    ),
)
