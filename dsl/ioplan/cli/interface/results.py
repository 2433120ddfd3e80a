"""Commands on the results of runs."""

from __future__ import annotations

from ioplan.cli.interface import shared as use
from ioplan.cli.interface.declare import Argument, Command, flag, option

RESULT_COMMANDS = (
    Command(
        "ls",
        "List sessions, the newest first.",
        "ls:list_sessions",
        (
            option(
                "--drive",
                "Its serial number, WWN, name in the lab, or path; '*' for any part.",
                "NAME",
            ),
            option("--host", "Where it was started.", "NAME"),
            option("--plan", "The plan's name, as 'Review*'.", "NAME"),
            option("--job", "The lanes of a job.", "ID"),
            option(
                "--tag", "With this tag; may be repeated.", "TAG", key="tags", many=True
            ),
            option(
                "--status",
                "running, ok, failed or interrupted.",
                "WORD",
                values="running|ok|failed|interrupted",
            ),
            option(
                "--verdict",
                "Of its expectations: held, failed, undecided, or none.",
                "WORD",
                values="held|failed|undecided|none",
            ),
            option(
                "--since",
                "Started since then (UTC), or so long ago: 2026-11-21, 12h, 7d.",
                "TIME",
            ),
            option("--limit", "At most so many.", "NUMBER", kind="integer"),
            use.FORMAT,
            use.OUTPUT,
            use.FORCE,
            use.ANY_STORE,
        ),
        examples=(
            "ioplan ls --limit 20",
            "ioplan ls --drive fast1 --verdict failed --since 7d",
            "ioplan ls --plan 'Review*' --tag nightly --format csv -o sessions.csv",
        ),
    ),
    Command(
        "show",
        "Show a session's results as tables and charts, or export them.",
        "sessions:show_session",
        (
            Argument(
                key="session",
                metavar="SESSION",
                help="An id, its beginning, 'last', a bundle, or a job for its lanes.",
                default="last",
                values="sessions",
            ),
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
                help="Ids, their beginnings, 'last', jobs, or bundles.",
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
            flag(
                "--conformance",
                "Instead, print what SNIA's PTS asks, clause by clause, and what was "
                "done; exit with 1 if anything deviates.",
            ),
            flag("--pdf", "Write a PDF, printed by Chromium. [default: report.pdf]"),
            option(
                "--sponsor", "Who had the test done, on each sheet.", "TEXT", default=""
            ),
            option("--vendor", "Who made the drive.", "TEXT", default=""),
            use.ANY_STORE,
        ),
        examples=(
            "ioplan report last -o report.html",
            "ioplan report last --conformance",
            "ioplan report last --pdf --sponsor 'ACME Labs' -o pts.pdf",
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
                help="A session, or several: ID,ID; or a job, or a bundle.",
                required=True,
                values="sessions",
            ),
            Argument(
                key="new",
                metavar="NEW",
                help="The same; what is judged. Else 'last'.",
                values="sessions",
            ),
            option("--to", "Compare with this instead: NEW --to BASE.", "BASE"),
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
            flag("--all", "Also what is equal, and all rows (text).", key="everything"),
            use.ANY_STORE,
        ),
        examples=(
            "ioplan compare 20261120 last",
            "ioplan compare last --to theirs.ioplan-bundle",
            "ioplan compare 20261120 last --metric p99.9 --format junit -o cmp.xml",
        ),
    ),
    Command(
        "history",
        "Show all sessions that did the same, and where their figures changed.",
        "history:show_history",
        (
            use.SESSION,
            option("--test", "Only tests with such a title.", "GLOB"),
            option(
                "--cell",
                "Only cells with this value; may be repeated.",
                "AXIS=VALUE",
                key="cells",
                many=True,
            ),
            option(
                "--metric",
                "Else iops; may be repeated.",
                "NAME",
                key="metrics",
                many=True,
            ),
            option(
                "--by",
                "What parts series: drive, firmware, host, kernel, backend, ioplan; "
                "else drive, host and backend.",
                "NAME",
                many=True,
                values="drive|firmware|host|kernel|backend|ioplan",
            ),
            option(
                "--only",
                "Only sessions with this, as drive=S4X1.",
                "NAME=TEXT",
                many=True,
            ),
            flag("--preparations", "Of the preparations, not of the runs."),
            option(
                "--format",
                "text, json, html, otava or bencher.",
                "FORMAT",
                default="text",
                values="text|json|html|otava|bencher",
            ),
            use.OUTPUT,
            use.FORCE,
            flag("--all", "All sessions of a single series (text).", key="everything"),
            use.ANY_STORE,
        ),
        examples=(
            "ioplan history",
            "ioplan history last --test 'Random*' --cell qd=32 --metric p99",
            "ioplan history --by firmware --format html -o history.html",
        ),
    ),
    Command(
        "tag",
        "Add tags and a note to a session, or take tags away.",
        "tag:tag_session",
        (
            use.SESSION,
            Argument(key="tags", metavar="TAG", help="Words to find it by.", many=True),
            option(
                "--remove", "Take this tag away; may be repeated.", "TAG", many=True
            ),
            option("--note", "A remark, instead of the one that it has.", "TEXT"),
            use.ANY_STORE,
        ),
        examples=(
            "ioplan tag last nightly lab2",
            "ioplan tag 20261121 --remove nightly --note 'the cable was loose'",
        ),
    ),
    Command(
        "bundle",
        "Write sessions into one file with all that it takes to repeat them.",
        "share.bundle:bundle_sessions",
        (
            Argument(
                key="sessions",
                metavar="SESSION",
                help="Ids, their beginnings, or 'last'.",
                many=True,
                values="sessions",
            ),
            option("--output -o", "The bundle; else ID.ioplan-bundle.", kind="path"),
            option("--sign", "By this SSH key, with ssh-keygen.", "KEY", kind="path"),
            flag("--redact", "Pseudonyms for hosts, serials, paths and users."),
            use.FORCE,
            use.ANY_STORE,
        ),
        examples=(
            "ioplan bundle last -o x.ioplan-bundle",
            "ioplan bundle 20261121 --redact --sign ~/.ssh/id_ed25519",
        ),
    ),
    Command(
        "unbundle",
        "Check a bundle, and put its sessions into the store, or into files.",
        "share.unbundle:unbundle",
        (
            Argument(
                key="bundle",
                metavar="BUNDLE",
                help="The file.",
                kind="path",
                required=True,
            ),
            option("--signers", "One of these must have signed it.", kind="path"),
            option("--output -o", "A new folder, instead of the store.", kind="path"),
            flag("--check", "Only check, and tell what is in it."),
            use.STORE,
        ),
        examples=(
            "ioplan unbundle x.ioplan-bundle",
            "ioplan unbundle x.ioplan-bundle --signers ~/.ssh/allowed_signers --check",
            "ioplan unbundle x.ioplan-bundle -o theirs",
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
                help="Some of them, else all; or a job, whose hosts then send.",
                many=True,
            ),
            option("--to", "postgresql://HOST/DATABASE; else the lab's."),
            flag("--drop", "Do not send these sessions; they stay in this store."),
            use.LAB,
            use.STORE,
        ),
        examples=(
            "ioplan push --to postgresql://lab@10.0.0.1/ioplan",
            "ioplan push 20261121-051500-k3f9",
            "ioplan push 20261121-051500-k3f9 --drop",
        ),
    ),
)
