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
        "Write plans in the one layout; comments stay.",
        "check:format_plans",
        (
            use.PLANS,
            flag("--check", "Only tell; exit with 1 if one is not."),
            use.STDIN_NAME,
        ),
        examples=(
            "ioplan fmt review.ioplan",
            "ioplan fmt --check plans/*.ioplan",
        ),
    ),
    Command(
        "plan",
        "Show what would happen: steps in order, time, bytes, drive writes.",
        "planning.plan:show_plan",
        (
            use.PLAN,
            use.TESTS,
            use.LIST,
            option("--target", "Take its capacity.", "TARGET", values="targets"),
            option("--capacity", "Of the target, as 1TB.", "SIZE"),
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
            option("--detect", "How many sessions find a change of so much.", "SHARE"),
            use.JSON,
            flag("--all", "Every step.", key="everything"),
        ),
        examples=(
            "ioplan plan review.ioplan --capacity 1.6TB",
            "ioplan plan review.ioplan --backend fio --target /dev/nvme1n1",
            "ioplan plan review.ioplan --test 'Random*' --rehearse",
            "ioplan plan review.ioplan --detect 5%",
        ),
    ),
    Command(
        "new",
        "Begin a plan from a template; at a terminal it asks which.",
        "author.new:new_plan",
        (
            Argument(
                key="file",
                metavar="FILE",
                help="The plan to write; else named like the template.",
                kind="path",
            ),
            option(
                "--template",
                "depth, size, application, steady, time or library.",
                "NAME",
                values="templates",
            ),
            option("--title", "Else from the name of the file.", "TITLE"),
        ),
        examples=("ioplan new", "ioplan new review.ioplan --template depth"),
    ),
    Command(
        "watch",
        "Check and rehearse a plan on each save, its libraries included.",
        "author.watch:watch_plan",
        (
            use.PLAN,
            use.TESTS,
            use.SETTINGS,
            use.PROFILE,
            use.SCALE_TIME,
            use.SIM,
            use.LAB,
            flag("--check-only", "Without the rehearsal."),
        ),
        examples=(
            "ioplan watch review.ioplan",
            "ioplan watch review.ioplan --test 'Random*' --sim drive.toml",
        ),
    ),
    Command(
        "explain",
        "Tell what a clause, a statement, a metric or an error is, with an example.",
        "author.explain:explain",
        (
            Argument(
                key="word",
                metavar="WORD",
                help="As plans, results and errors have it, or a word of fio's.",
                values="words",
            ),
        ),
        examples=("ioplan explain zipf", "ioplan explain no-space", "ioplan explain"),
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
                help="Of fio (jobs, JSON), FioSynth or vdbench.",
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
        examples=("ioplan import jobs.fio -o jobs.ioplan",),
    ),
)
