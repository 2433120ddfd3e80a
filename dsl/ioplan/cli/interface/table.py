"""All commands, in the order of help: the core's, then those of plug-ins."""

from __future__ import annotations

from ioplan.cli.interface import shared as use
from ioplan.cli.interface.declare import Command, Group, Parameter, flag, option
from ioplan.cli.interface.plans import PLAN_COMMANDS
from ioplan.cli.interface.plugins import with_plugins
from ioplan.cli.interface.results import RESULT_COMMANDS
from ioplan.cli.interface.runs import RUN_COMMANDS
from ioplan.cli.interface.suites import PROJECT_COMMANDS, SUITES

# Commands on what is here: backends, targets and the schema.


HOST_COMMANDS = (
    Command(
        "backends",
        "List the backends, whether each is usable here, and the features it supports.",
        "ioplan.cli.commands.inventory:print_backends",
        (
            option("--backend", "Only this one.", "NAME", values="backends"),
            use.BACKEND_OPTIONS,
            use.LAB,
        ),
        examples=(
            "ioplan backends",
            "ioplan backends --backend fio --option version=3.42",
        ),
    ),
    Command(
        "doctor",
        "Check what works on this machine, and print how to fix what does not.",
        "ioplan.cli.commands.doctor:examine",
        (
            use.LAB,
            use.JSON,
            flag("--report", "For an issue: versions, this machine, the last session."),
        ),
        examples=(
            "ioplan doctor",
            "ioplan doctor --json",
        ),
        needs_linux=True,
    ),
    Command(
        "targets",
        "List the block devices, what is on each, and whether it may be written to.",
        "ioplan.cli.commands.inventory:print_targets",
        (
            use.LAB,
            option(
                "--map",
                "Read one target, and print what is on it. Nothing is written.",
                "TARGET",
                values="targets",
            ),
            use.JSON,
        ),
        examples=(
            "ioplan targets",
            "ioplan targets --map /dev/nvme0n1",
            "ioplan targets --json",
        ),
        needs_linux=True,
    ),
    Command(
        "schema",
        "Print the JSON Schema of a run's record.",
        "ioplan.cli.commands.inventory:print_schema",
        examples=("ioplan schema > record.json",),
    ),
)


# `ioplan trace …`.

_PATH = Parameter(
    key="path",
    metavar="TRACE",
    help="A trace; its format is recognized by its content.",
    kind="path",
    required=True,
)
_VOLUME = option(
    "--volume", "Of a trace of several devices, this one.", "NAME", default=None
)
_OUTPUT = option("--output -o", "The trace file.", "FILE", kind="output", required=True)

TRACE = Group(
    "trace",
    "Recorded I/O: record a trace, look at it, convert it, cut a part out of it.",
    (
        Command(
            "info",
            "Show what is in a trace: rates, sizes, shares, places.",
            "ioplan.cli.commands.trace.traces:info",
            (_PATH, _VOLUME),
            examples=("ioplan trace info web.blkparse",),
        ),
        Command(
            "convert",
            "Write a trace as a trace file of ioplan.",
            "ioplan.cli.commands.trace.traces:convert_trace",
            (_PATH, _OUTPUT, _VOLUME, use.FORCE),
            examples=("ioplan trace convert msr/prxy_0.csv -o prxy.iotrace",),
        ),
        Command(
            "cut",
            "Write a part of a trace, from one time to another.",
            "ioplan.cli.commands.trace.traces:cut_trace",
            (
                _PATH,
                Parameter(
                    key="part",
                    metavar="FROM..TO",
                    help="As 10min..20min.",
                    required=True,
                ),
                _OUTPUT,
                _VOLUME,
                use.FORCE,
            ),
            examples=("ioplan trace cut web.iotrace 10min..20min -o peak.iotrace",),
        ),
        Command(
            "record",
            "Record what is asked of a block device, until Ctrl-C or for a time.",
            "ioplan.cli.commands.trace.traces:record_trace",
            (
                Parameter(
                    key="device",
                    metavar="DEVICE",
                    help="A block device, but no partition.",
                    kind="path",
                    required=True,
                ),
                _OUTPUT,
                option("--for", "Ends it.", "TIME", key="lasting", default=None),
                use.FORCE,
            ),
            needs_linux=True,
            examples=("ioplan trace record /dev/nvme0n1 -o web.iotrace --for 10min",),
        ),
    ),
)


READ_STORES = frozenset(
    ("ls", "show", "export", "report", "answer", "compare", "history")
)
"""What reads records once and ends. It keeps most of what it makes until then, so to
look through all of that for garbage again and again takes half of the time."""

IOPLAN = Group(
    "ioplan",
    "Storage test plans as text: precondition, sweep, measure, judge.",
    with_plugins(
        (
            *PLAN_COMMANDS,
            *RUN_COMMANDS,
            *RESULT_COMMANDS,
            *HOST_COMMANDS,
            *PROJECT_COMMANDS,
            SUITES,
            TRACE,
        )
    ),
    (
        flag("--version", "Show it."),
        flag("--install-completion", "Install completion for the current shell."),
        flag(
            "--show-completion",
            "Show completion for the current shell, to copy it or customize the "
            "installation.",
        ),
    ),
    (
        "ioplan new review.ioplan --template depth",
        "ioplan check review.ioplan",
        "ioplan plan review.ioplan --capacity 1TB",
        "ioplan run review.ioplan --target scratch.bin --create 1GiB",
        "ioplan report last -o report.html",
    ),
)
