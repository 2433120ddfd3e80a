"""The group of commands on the lab."""

from __future__ import annotations

from ioplan.cli import Command, Group, Parameter, flag, option
from ioplan.cli.interface import shared as use
from ioplan_lab.interface.desk_times import HOOK, SCHEDULE
from ioplan_lab.interface.queue import DRIVE_COMMANDS, QUEUE
from ioplan_lab.interface.serve import SERVE_COMMANDS

# Commands of a lab that many people use.

CONSENT = Group(
    "consent",
    "Signed lists of the drives that may be overwritten, for --overwrite-from.",
    (
        Command(
            "key",
            "Create your key, if there is none, and print its line for the lab file.",
            "ioplan_lab.commands.desk.chosen:print_key",
            (option("--name", "Your name in the lab file; else your login.", "NAME"),),
            examples=("ioplan lab consent key --name ada",),
        ),
        Command(
            "drives",
            "List the drives of targets that may be overwritten, as their hosts say.",
            "ioplan_lab.commands.desk.drives_to_write:print_drives",
            (
                Parameter(
                    key="targets",
                    metavar="TARGET",
                    help="Targets or groups of the lab.",
                    many=True,
                    required=True,
                    values="targets",
                ),
                use.LAB,
                use.OUTPUT,
                use.FORCE,
            ),
            examples=("ioplan lab consent drives all-gen5 -o d.json",),
            needs_linux=True,
        ),
        Command(
            "sign",
            "Sign lists of `ioplan lab consent drives` or `ioplan targets --json`.",
            "ioplan_lab.commands.desk.chosen:sign_list",
            (
                Parameter(
                    key="files",
                    metavar="FILE",
                    help="Lists of drives, of one or several hosts.",
                    kind="path",
                    many=True,
                    required=True,
                ),
                option("--until", "When it expires.", "DATE", required=True),
                option(
                    "--plan",
                    "Only for this version of this plan; may be repeated.",
                    "PLAN",
                    key="plans",
                    many=True,
                    values="plans",
                ),
                flag("--any-plan", "For any plan."),
                use.LAB,
                use.OUTPUT,
                use.FORCE,
            ),
            examples=(
                "ioplan lab consent sign d.json --until 7d --plan p.ioplan -o c.json",
            ),
        ),
        Command(
            "show",
            "Show whether a list is valid, who signed it, until when and for what.",
            "ioplan_lab.commands.desk.chosen:show_list",
            (
                Parameter(
                    key="file",
                    metavar="FILE",
                    help="A list.",
                    kind="path",
                    required=True,
                ),
                use.LAB,
            ),
            examples=("ioplan lab consent show c.json",),
        ),
    ),
)


# Commands that bring ioplan to hosts.

_WHEELS = option(
    "--wheels", "Look for wheels here first.", "FOLDER", kind="path", values="files"
)
_YES = flag("--yes -y", "Do not ask.")

ADOPT = (
    Command(
        "adopt",
        "Install ioplan on hosts over ssh, give them keys, and add them and their "
        "drives to the lab file. Asks before it changes anything; idempotent.",
        "ioplan_lab.commands.lab_adopt:adopt",
        (
            Parameter(
                key="hosts",
                metavar="HOST",
                help="NAME of the lab, or NAME=[USER@]ADDRESS[:PORT].",
                many=True,
                required=True,
            ),
            use.LAB,
            option(
                "--folder",
                "Where ioplan is installed on the host.",
                "FOLDER",
                default="/opt/ioplan",
            ),
            _WHEELS,
            flag("--no-units", "Install no systemd units."),
            _YES,
        ),
        examples=(
            "ioplan lab adopt h1=root@10.0.0.11 h2=root@10.0.0.12",
            "ioplan lab adopt h1 --yes",
        ),
        extra="lab",
    ),
    Command(
        "upgrade",
        "Bring hosts to this version of ioplan, where no lanes run.",
        "ioplan_lab.commands.lab_adopt:upgrade",
        (
            Parameter(
                key="hosts",
                metavar="HOST",
                help="Hosts of the lab; default: all.",
                many=True,
            ),
            use.LAB,
            _WHEELS,
            _YES,
        ),
        examples=("ioplan lab upgrade", "ioplan lab upgrade h1 --yes"),
        extra="lab",
    ),
)


# Commands on the keys by which a lab's hosts are told from others.

_SOME = Parameter(
    key="hosts", metavar="HOST", help="Hosts of the lab; default: all.", many=True
)
_NAMED = Parameter(
    key="hosts", metavar="HOST", help="Hosts of the lab.", many=True, required=True
)

KEYS = Group(
    "keys",
    "The lab's keys: list, renew and revoke them.",
    (
        Command(
            "list",
            "List the certificates of the desk, the scheduler and the hosts.",
            "ioplan_lab.commands.lab_keys:show",
            (use.JSON,),
            examples=("ioplan lab keys list", "ioplan lab keys list --json"),
            extra="lab",
        ),
        Command(
            "renew",
            "Give hosts new keys; their workers restart, running lanes continue.",
            "ioplan_lab.commands.lab_keys:renew",
            (_SOME, use.LAB),
            examples=("ioplan lab keys renew", "ioplan lab keys renew h1"),
            extra="lab",
        ),
        Command(
            "revoke",
            "Revoke a host's keys; the scheduler and the desk no longer accept them.",
            "ioplan_lab.commands.lab_keys:revoke",
            (_NAMED, use.LAB),
            examples=("ioplan lab keys revoke h1",),
            extra="lab",
        ),
        Command(
            "take-over",
            "Move hosts from another desk to this one; the other desk loses them.",
            "ioplan_lab.commands.lab_keys:take_over",
            (_NAMED, use.LAB),
            examples=("ioplan lab keys take-over h1",),
            extra="lab",
        ),
    ),
    usual="list",
)


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
            "ioplan_lab.commands.lab_hosts:scheduler",
            (option("--at", required=True),),
            hidden=True,
            extra="lab",
        ),
        Command(
            "worker",
            "Run the worker of a host until stopped.",
            "ioplan_lab.commands.lab_hosts:worker",
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
