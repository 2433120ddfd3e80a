"""Commands on the results of runs."""

from __future__ import annotations

from ioplan.cli.interface import shared as use
from ioplan.cli.interface.declare import Command, Parameter, flag, option
from ioplan.core.formats import COMPARISON, HISTORY, RECORDS

RESULT_COMMANDS = (
    Command(
        "ls",
        "List sessions, newest first.",
        "ioplan.cli.commands.ls:list_sessions",
        (
            option(
                "--drive",
                "Its serial number, WWN, name in the lab, or path; '*' matches any "
                "part.",
                "NAME",
            ),
            option("--host", "The host where it was started.", "NAME"),
            option("--plan", "The plan's name, for example 'Review*'.", "NAME"),
            option("--job", "Only the sessions of this job.", "ID"),
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
                "Its expectations: passed, failed, undecided, not measured, no "
                "baseline, or none.",
                "WORD",
                values="passed|failed|undecided|none",
            ),
            option(
                "--since",
                "Started since this time (UTC) or within this period: 2026-11-21, "
                "12h, 7d.",
                "TIME",
            ),
            option("--limit", "The maximum number.", "NUMBER", kind="integer"),
            use.format_of(RECORDS),
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
        "Show a session's results, or export them.",
        "ioplan.cli.commands.sessions:show_session",
        (
            Parameter(
                key="sessions",
                metavar="SESSION",
                help=(
                    "A session id or prefix, 'last' (the default), a bundle, or a job "
                    "for all of it; several are compared."
                ),
                many=True,
                values="sessions",
            ),
            option("--test", "Only tests with a matching title.", "GLOB"),
            option(
                "--during",
                "Only this time of each run, since its measured part began: figures "
                "of the intervals that begin in it, from their histograms.",
                "FROM..TO",
            ),
            option(
                "--metric",
                "Only this figure, as an expectation names it; may be repeated.",
                "NAME",
                key="metrics",
                many=True,
            ),
            flag("--tables", "Print the tables and all charts of each test."),
            flag("--plan", "Print the plan as it was run."),
            use.format_of(RECORDS),
            use.OUTPUT,
            use.FORCE,
            use.ANY_STORE,
        ),
        examples=(
            "ioplan show",
            "ioplan show --tables",
            "ioplan show 20261121 --test 'Read share'",
            "ioplan show last --during 10s..20s",
            "ioplan show last --metric 'intervals of p99 above 5ms'",
            "ioplan show last --plan > as_run.ioplan",
        ),
    ),
    Command(
        "export",
        "Export a session's records.",
        "ioplan.cli.commands.sessions:export_records",
        (
            use.SESSION,
            use.format_of(RECORDS, "json"),
            use.OUTPUT,
            use.FORCE,
            flag("--series", "One row per interval of the time series."),
            flag("--streams", "With --series, one for each stream and direction."),
            flag("--phases", "One row per phase of each run (csv, parquet)."),
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
        "Write an HTML report; its charts compare several sessions.",
        "ioplan.cli.commands.report:write_report",
        (
            Parameter(
                key="sessions",
                metavar="SESSION",
                help="Session ids or prefixes, 'last', jobs, or bundles.",
                many=True,
                values="sessions",
            ),
            option(
                "--output -o",
                "The HTML file.",
                "FILE",
                kind="output",
                default="report.html",
            ),
            use.FORCE,
            flag(
                "--conformance",
                "Instead, print conformance with SNIA's PTS, clause by clause; exit "
                "with 1 if anything deviates.",
            ),
            option(
                "--chart",
                "Write this chart alone, by its name or a part of it, as an SVG or a "
                "PNG, using Chromium. [default: report.svg]",
                "NAME",
            ),
            flag("--badge", "Write the outcome as a badge. [default: report.svg]"),
            option(
                "--sponsor", "The test sponsor, shown on each page.", "TEXT", default=""
            ),
            option("--vendor", "The drive's vendor.", "TEXT", default=""),
            use.ANY_STORE,
        ),
        examples=(
            "ioplan report last -o report.html",
            "ioplan report last --conformance",
            "ioplan report last --sponsor 'ACME Labs' -o pts.html",
            "ioplan report last --chart 'IOPS by queue depth' -o iops.svg",
            "ioplan report 20261120 20261121 -o both.html",
        ),
    ),
    Command(
        "compare",
        "Show what is better or worse; exit with 1 if anything is worse.",
        "ioplan.cli.commands.compare:compare_sessions",
        (
            Parameter(
                key="base",
                metavar="BASE",
                help="A session, or several: ID,ID; or a job, or a bundle.",
                required=True,
                values="sessions",
            ),
            Parameter(
                key="new",
                metavar="NEW",
                help="The new side, in the same form. Default: 'last'.",
                values="sessions",
            ),
            option("--to", "Compare with this instead: NEW --to BASE.", "BASE"),
            option(
                "--threshold",
                "Smaller differences count as equal.",
                "SHARE",
                default="2%",
            ),
            option(
                "--metric",
                "Default: iops, mean and p99; may be repeated.",
                "NAME",
                key="metrics",
                many=True,
            ),
            option(
                "--noise",
                "Run-to-run noise to assume if it cannot be estimated.",
                "SHARE",
            ),
            use.format_of(COMPARISON, "text"),
            use.OUTPUT,
            use.FORCE,
            flag(
                "--all",
                "Also show equal metrics, and all rows (text).",
                key="everything",
            ),
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
        "Show the cells of a session over all sessions, and where metrics changed.",
        "ioplan.cli.commands.history:show_history",
        (
            use.SESSION,
            option("--test", "Only tests with a matching title.", "GLOB"),
            option(
                "--cell",
                "Only cells with this value; may be repeated.",
                "AXIS=VALUE",
                key="cells",
                many=True,
            ),
            option(
                "--metric",
                "Default: iops; may be repeated.",
                "NAME",
                key="metrics",
                many=True,
            ),
            option(
                "--by",
                "What to group by: drive, firmware, host, kernel, backend, ioplan; "
                "default: drive, host and backend.",
                "NAME",
                many=True,
                values="drive|firmware|host|kernel|backend|ioplan",
            ),
            option(
                "--only",
                "Only sessions with this, for example drive=S4X1.",
                "NAME=TEXT",
                many=True,
            ),
            option(
                "--threshold",
                "Smaller changes are none.",
                "SHARE",
                default="1%",
            ),
            flag("--preparations", "Show the preconditions, not the runs."),
            use.format_of(HISTORY, "text"),
            use.OUTPUT,
            use.FORCE,
            flag("--all", "Show all sessions of a series (text).", key="everything"),
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
        "Add tags and a note to a session, or remove tags.",
        "ioplan.cli.commands.tag:tag_session",
        (
            use.SESSION,
            Parameter(key="tags", metavar="TAG", help="Tags to find it by.", many=True),
            option("--remove", "Remove this tag; may be repeated.", "TAG", many=True),
            option("--note", "A note; it replaces the present one.", "TEXT"),
            use.ANY_STORE,
        ),
        examples=(
            "ioplan tag last nightly lab2",
            "ioplan tag 20261121 --remove nightly --note 'the cable was loose'",
        ),
    ),
    Command(
        "bundle",
        "Write sessions and everything needed to repeat them to one file.",
        "ioplan.cli.commands.share.bundle:bundle_sessions",
        (
            Parameter(
                key="sessions",
                metavar="SESSION",
                help="Session ids or prefixes, or 'last'.",
                many=True,
                values="sessions",
            ),
            option(
                "--output -o", "The bundle; default: ID.ioplan-bundle.", kind="output"
            ),
            option(
                "--sign",
                "Sign with this SSH key, using ssh-keygen.",
                "KEY",
                kind="path",
            ),
            flag("--redact", "Leave out whose drive, host and plan file it was."),
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
        "Check a bundle, and import its sessions into the store or write them to "
        "files.",
        "ioplan.cli.commands.share.unbundle:unbundle",
        (
            Parameter(
                key="bundle",
                metavar="BUNDLE",
                help="The file.",
                kind="path",
                required=True,
            ),
            option("--signers", "Require a signature by one of these.", kind="path"),
            option(
                "--output -o",
                "Write to a new folder instead of the store.",
                kind="folder",
            ),
            flag("--check", "Only check, and list its content."),
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
        "Send results that the lab's shared store does not have yet.",
        "ioplan.cli.commands.push:push_sessions",
        (
            Parameter(
                key="sessions",
                metavar="SESSION",
                help="Sessions, default: all; or a job, whose hosts then send theirs.",
                many=True,
            ),
            option("--to", "postgresql://HOST/DATABASE; default: the lab's."),
            flag("--drop", "Do not send these sessions; they stay in this store."),
            use.LAB,
            use.STORE,
        ),
        examples=(
            "ioplan push --to postgresql://lab@10.0.0.1/ioplan",
            "ioplan push 20261121-051500-k3f9ab",
            "ioplan push 20261121-051500-k3f9ab --drop",
        ),
        needs_linux=True,
    ),
)
