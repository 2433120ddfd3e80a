"""Commands on the results of runs."""

from __future__ import annotations

from ioplan.cli.interface import shared as use
from ioplan.cli.interface.declare import Argument, Command, flag, option

RESULT_COMMANDS = (
    Command(
        "ls",
        "List sessions, the newest first.",
        "sessions:list_sessions",
        (use.FORMAT, use.OUTPUT, use.FORCE, use.ANY_STORE),
        examples=(
            "ioplan ls",
            "ioplan ls --format csv -o sessions.csv",
        ),
    ),
    Command(
        "show",
        "Show a session's results as tables and charts, or export them.",
        "sessions:show_session",
        (
            use.SESSION,
            option("--test", "Only this test.", "TITLE"),
            flag("--plan", "Print the plan as it was run."),
            use.FORMAT,
            use.OUTPUT,
            use.FORCE,
            use.ANY_STORE,
        ),
        examples=(
            "ioplan show",
            "ioplan show 20261121 --test 'Read share'",
            "ioplan show last --plan > as_run.ioplan",
        ),
    ),
    Command(
        "export",
        "Export a session's records.",
        "sessions:export_records",
        (
            use.SESSION,
            option(
                "--format",
                use.FORMAT.help,
                "FORMAT",
                default="json",
                values=use.FORMAT.values,
            ),
            use.OUTPUT,
            use.FORCE,
            flag("--series", "A row for each interval."),
            flag("--detail", "With histograms (json only)."),
            use.ANY_STORE,
        ),
        examples=(
            "ioplan export last --format parquet -o runs.parquet",
            "ioplan export last --format jsonl --series",
        ),
    ),
    Command(
        "report",
        "Write an HTML report; several sessions overlay in its charts.",
        "sessions:write_report",
        (
            Argument(
                key="sessions",
                metavar="SESSION",
                help="Ids, their beginnings, or 'last'.",
                many=True,
                values="sessions",
            ),
            option(
                "--output -o",
                "The HTML file.",
                "FILE",
                kind="path",
                default="report.html",
            ),
            use.FORCE,
            use.ANY_STORE,
        ),
        examples=(
            "ioplan report last -o report.html",
            "ioplan report 20261120 20261121 -o both.html",
        ),
    ),
    Command(
        "compare",
        "Tell what is better or worse; exit with 1 if anything is worse.",
        "compare:compare_sessions",
        (
            Argument(
                key="base",
                metavar="BASE",
                help="A session, or several: ID,ID.",
                required=True,
                values="sessions",
            ),
            Argument(
                key="new",
                metavar="NEW",
                help="The same; what is judged.",
                default="last",
                values="sessions",
            ),
            option(
                "--threshold", "What is smaller counts as equal.", "SHARE", default="2%"
            ),
            option(
                "--metric",
                "Else iops, mean and p99; may be repeated.",
                "NAME",
                key="metrics",
                many=True,
            ),
            option(
                "--noise",
                "Run-to-run noise to assume if it cannot be estimated.",
                "SHARE",
            ),
            option(
                "--format",
                "text, json, markdown, junit or github.",
                "FORMAT",
                default="text",
                values="text|json|markdown|junit|github",
            ),
            use.OUTPUT,
            use.FORCE,
            flag("--all", "Also what is equal (text).", key="everything"),
            use.ANY_STORE,
        ),
        examples=(
            "ioplan compare 20261120 last",
            "ioplan compare 20261120 last --metric p99.9 --format junit -o cmp.xml",
        ),
    ),
    Command(
        "push",
        "Send this host's results to the store that the lab shares; what is missing.",
        "push:push_sessions",
        (
            Argument(
                key="sessions",
                metavar="SESSION",
                help="Some of them; else all.",
                many=True,
            ),
            option("--to", "postgresql://HOST/DATABASE; else the lab's."),
            use.LAB,
            use.STORE,
        ),
        examples=("ioplan push --to postgresql://lab@10.0.0.1/ioplan",),
    ),
)
