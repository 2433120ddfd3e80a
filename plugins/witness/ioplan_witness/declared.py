"""The entry point of `ioplan.commands`: what the command line knows of the device."""

from __future__ import annotations

from ioplan.cli import Command, Group, Parameter, option
from ioplan.cli.interface import shared as use

_FOLDER = Parameter(
    key="folder", metavar="FOLDER", help="The device's.", kind="path", required=True
)

DEVICE = Group(
    "device",
    "A test device: a file that logs each I/O, and behaves by a script.",
    (
        Command(
            "start",
            "Start a device; it runs until it is stopped.",
            "ioplan_witness.commands.device:start",
            (
                Parameter(
                    key="script",
                    metavar="SCRIPT",
                    help="Its behaviour, in TOML.",
                    kind="path",
                    required=True,
                ),
                option(
                    "--output -o",
                    "An empty or new folder, in which the file `disk` appears.",
                    "FOLDER",
                    kind="folder",
                    required=True,
                ),
                option(
                    "--log", "Its log; default: FOLDER.iolog.", "FILE", kind="output"
                ),
            ),
            examples=("ioplan device start examples/slow.toml -o /tmp/slow",),
            needs_linux=True,
        ),
        Command(
            "stop",
            "End a device; its log remains.",
            "ioplan_witness.commands.device:stop",
            (_FOLDER,),
            examples=("ioplan device stop /tmp/slow",),
            needs_linux=True,
        ),
        Command(
            "cut",
            "Cut a device's power: what is in its volatile cache is lost.",
            "ioplan_witness.commands.device:cut",
            (_FOLDER,),
            examples=("ioplan device cut /tmp/slow",),
            needs_linux=True,
        ),
        Command(
            "off",
            "Take a device's power: it loses its cache, and answers no I/O.",
            "ioplan_witness.commands.device:off",
            (_FOLDER,),
            examples=("ioplan device off /tmp/slow",),
            needs_linux=True,
        ),
        Command(
            "on",
            "Give a device its power back.",
            "ioplan_witness.commands.device:on",
            (_FOLDER,),
            examples=("ioplan device on /tmp/slow",),
            needs_linux=True,
        ),
        Command(
            "log",
            "Show the I/O that arrived: by kind, and over time.",
            "ioplan_witness.commands.device:show_log",
            (
                Parameter(
                    key="path",
                    metavar="LOG",
                    help="A log, or the folder of its device.",
                    kind="path",
                    required=True,
                ),
                option(
                    "--parquet", "Write all I/Os as Parquet.", "FILE", kind="output"
                ),
                use.JSON,
            ),
            examples=(
                "ioplan device log /tmp/slow",
                "ioplan device log /tmp/slow --parquet slow.parquet",
            ),
        ),
    ),
)

WITNESS = Command(
    "witness",
    "Compare what a backend does with what a plan asks, on a test device.",
    "ioplan_witness.commands.plan:witness_plan",
    (
        use.PLAN,
        use.BACKEND,
        use.BACKEND_OPTIONS,
        use.LAB,
        use.SETTINGS,
        use.PROFILE,
        use.TESTS,
        use.SCALE_TIME,
        use.JSON_LINES,
    ),
    examples=("ioplan witness plan.ioplan --backend fio",),
    needs_linux=True,
)

COMMANDS = (DEVICE, WITNESS)
