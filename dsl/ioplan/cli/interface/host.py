"""Commands on what is here: backends, targets, the schema and the lab."""

from __future__ import annotations

from ioplan.cli.interface import shared as use
from ioplan.cli.interface.adopt import ADOPT
from ioplan.cli.interface.consent import CONSENT
from ioplan.cli.interface.declare import Command, Group, Parameter, flag, option
from ioplan.cli.interface.desk_times import HOOK, SCHEDULE
from ioplan.cli.interface.keys import KEYS, KEYS_ANSWERS
from ioplan.cli.interface.queue import DRIVE_COMMANDS, QUEUE
from ioplan.cli.interface.serve import SERVE_COMMANDS

_HOSTS = Parameter(
    key="hosts", metavar="HOST", help="Only these hosts of the lab.", many=True
)
WORKER_PORT = "8788"
"""As in `lab.hosts`, whose import takes time; a test holds them together."""

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
        (use.LAB, use.JSON),
        examples=(
            "ioplan doctor",
            "ioplan doctor --json",
        ),
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
    ),
    Command(
        "schema",
        "Print the JSON Schema of a run's record.",
        "ioplan.cli.commands.inventory:print_schema",
        examples=("ioplan schema > record.json",),
    ),
)

LAB = Group(
    "lab",
    "The lab: its file, its hosts, and what runs on them.",
    (
        Command(
            "check",
            "Check the lab file, and list what it defines.",
            "ioplan.cli.commands.lab:check_lab",
            (use.LAB,),
            examples=("ioplan lab check --lab lab.toml",),
        ),
        Command(
            "up",
            "Start the scheduler here, and a worker on each host of the lab, over ssh.",
            "ioplan.cli.commands.lab:up",
            (_HOSTS, use.LAB),
            examples=("ioplan lab up", "ioplan lab up h1 h2"),
        ),
        Command(
            "down",
            "Stop the workers and the scheduler; running lanes continue.",
            "ioplan.cli.commands.lab:down",
            (use.LAB,),
            examples=("ioplan lab down",),
        ),
        Command(
            "unit",
            "Print a systemd unit for the worker of a host, or for the scheduler.",
            "ioplan.cli.commands.lab:unit",
            (
                Parameter(key="host", metavar="HOST", help="A host of the lab."),
                flag("--scheduler", "The scheduler's unit, for this machine."),
                use.LAB,
            ),
            examples=(
                "ioplan lab unit h1 > ioplan-worker.service",
                "ioplan lab unit --scheduler > ioplan-scheduler.service",
            ),
        ),
        KEYS,
        *ADOPT,
        Command(
            "restore",
            "Restore the settings that killed sessions changed by [prepare], on all "
            "hosts.",
            "ioplan.cli.commands.lab:put_back",
            (use.LAB,),
            examples=("ioplan lab restore",),
        ),
        *SERVE_COMMANDS,
        Command(
            "put-back",
            "Answer `lab restore` on another host.",
            "ioplan.cli.commands.lab:answer_put_back",
            hidden=True,
        ),
        Command(
            "versions",
            "Answer `lab up` on another host.",
            "ioplan.cli.commands.lab:versions",
            hidden=True,
        ),
        *KEYS_ANSWERS,
        Command(
            "join",
            "Answer `lab up` on another host.",
            "ioplan.cli.commands.lab:join",
            hidden=True,
        ),
        Command(
            "leave",
            "Answer `lab down` on another host.",
            "ioplan.cli.commands.lab:leave",
            hidden=True,
        ),
        Command(
            "scheduler",
            "Run the scheduler until stopped.",
            "ioplan.cli.commands.lab:scheduler",
            (option("--at", required=True),),
            hidden=True,
        ),
        Command(
            "worker",
            "Run the worker of a host until stopped.",
            "ioplan.cli.commands.lab:worker",
            (
                option("--name", required=True),
                option("--scheduler", required=True),
                option("--host"),
                option("--port", kind="integer", default=WORKER_PORT),
                option("--store"),
            ),
            hidden=True,
        ),
        CONSENT,
        QUEUE,
        *DRIVE_COMMANDS,
        SCHEDULE,
        HOOK,
    ),
)
