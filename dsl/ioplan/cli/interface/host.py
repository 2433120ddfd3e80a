"""Commands on what is here: backends, targets and the schema."""

from __future__ import annotations

from ioplan.cli.interface import shared as use
from ioplan.cli.interface.declare import Command, Group, Parameter, flag, option

JOURNAL = Group(
    "journal",
    "Keep what `verify` knows of a target on a host that keeps its power.",
    (
        Command(
            "serve",
            "Keep the journals of other hosts, until it is stopped.",
            "ioplan.cli.commands.journal:serve",
            (
                Parameter(
                    key="folder",
                    metavar="FOLDER",
                    help="Where they are kept.",
                    kind="path",
                    required=True,
                ),
                option(
                    "--listen",
                    "Address and port; the port 0 is any.",
                    "HOST:PORT",
                    required=True,
                ),
                option(
                    "--key",
                    "Who has it may write; made where there is none.",
                    "FILE",
                    kind="path",
                    required=True,
                ),
            ),
            examples=(
                "ioplan journal serve journals --listen 10.0.0.2:7007 --key j.key",
            ),
            needs_linux=True,
        ),
    ),
)

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
    JOURNAL,
)
