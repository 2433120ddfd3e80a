"""The group of commands on the lab."""

from __future__ import annotations

from ioplan.cli.interface import shared as use
from ioplan.cli.interface.declare import Command, Group, Parameter, flag, option
from ioplan_lab.interface.adopt import ADOPT
from ioplan_lab.interface.consent import CONSENT
from ioplan_lab.interface.desk_times import HOOK, SCHEDULE
from ioplan_lab.interface.keys import KEYS
from ioplan_lab.interface.queue import DRIVE_COMMANDS, QUEUE
from ioplan_lab.interface.serve import SERVE_COMMANDS

_HOSTS = Parameter(
    key="hosts", metavar="HOST", help="Only these hosts of the lab.", many=True
)
WORKER_PORT = "8788"
"""As in `lab.hosts`, whose import takes time; a test holds them together."""

ANSWERS = tuple(
    Command(
        name,
        f"Answer `lab {of}` on another host.",
        f"ioplan_lab.commands.{function}",
        hidden=True,
        extra=extra,
    )
    for name, of, function, extra in (
        ("put-back", "restore", "lab:answer_put_back", ""),
        ("versions", "up", "lab:versions", ""),
        ("greet", "up", "lab_keys:greet_host", "lab"),
        ("take-keys", "up", "lab_keys:take_host_keys", "lab"),
        ("join", "up", "lab_hosts:join", "lab"),
        ("leave", "down", "lab_hosts:leave", "lab"),
    )
)
"""What hosts are asked over ssh."""

LAB = Group(
    "lab",
    "The lab: its file, its hosts, and what runs on them.",
    (
        Command(
            "check",
            "Check the lab file, and list what it defines.",
            "ioplan_lab.commands.lab:check_lab",
            (use.LAB,),
            examples=("ioplan lab check --lab lab.toml",),
        ),
        Command(
            "up",
            "Start the scheduler here, and a worker on each host of the lab, over ssh.",
            "ioplan_lab.commands.lab_hosts:up",
            (
                _HOSTS,
                use.LAB,
                flag("--here", "A lab of this host, with a PostgreSQL of its own."),
            ),
            examples=("ioplan lab up", "ioplan lab up h1 h2", "ioplan lab up --here"),
            needs_linux=True,
            extra="lab",
        ),
        Command(
            "down",
            "Stop the workers and the scheduler; running lanes continue.",
            "ioplan_lab.commands.lab_hosts:down",
            (use.LAB, flag("--here", "Stop the PostgreSQL of `lab up --here`.")),
            examples=("ioplan lab down",),
            needs_linux=True,
            extra="lab",
        ),
        Command(
            "unit",
            "Print a systemd unit for the worker of a host, or for the scheduler.",
            "ioplan_lab.commands.lab:unit",
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
            "ioplan_lab.commands.lab:put_back",
            (use.LAB,),
            examples=("ioplan lab restore",),
        ),
        *SERVE_COMMANDS,
        *ANSWERS,
        Command(
            "scheduler",
            "Run the scheduler until stopped.",
            "ioplan_lab.commands.lab_servers:scheduler",
            (option("--at", required=True),),
            hidden=True,
            extra="lab",
        ),
        Command(
            "worker",
            "Run the worker of a host until stopped.",
            "ioplan_lab.commands.lab_servers:worker",
            (
                option("--name", required=True),
                option("--scheduler", required=True),
                option("--host"),
                option("--port", kind="integer", default=WORKER_PORT),
                option("--store"),
            ),
            hidden=True,
            extra="lab",
        ),
        CONSENT,
        QUEUE,
        *DRIVE_COMMANDS,
        SCHEDULE,
        HOOK,
    ),
)
