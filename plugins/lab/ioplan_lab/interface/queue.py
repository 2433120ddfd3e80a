"""Commands of a lab's queue, and of the drives that it runs on."""

from __future__ import annotations

from ioplan.cli import REQUEST_OPTIONS, Command, Group, Parameter, flag, option
from ioplan.cli.interface import shared as use

_NUMBER = Parameter(
    key="number", metavar="NUMBER", help="The number shown by `list`.", required=True
)
_DRIVES = Parameter(
    key="drives",
    metavar="DRIVE",
    help="Targets or groups of the lab.",
    many=True,
    required=True,
    values="targets",
)
PRIORITIES = "low|normal|high|urgent"
PRIORITY = option(
    "--priority", "low, normal, high or urgent.", "PRIORITY", values=PRIORITIES
)
LAB_TARGET = option(
    "--target",
    "A target or group of the lab; may be repeated.",
    "TARGET",
    key="targets",
    many=True,
    required=True,
    values="targets",
)
SIGNED = option(
    "--overwrite-from",
    "Permit overwriting the drives of a signed list.",
    "FILE",
    key="consent",
    kind="path",
)
OWN_WORDS = (
    *("targets", "lab", "overwrite", "overwrite_data", "cannot_see_users"),
    *("baseline", "person"),
)
"""What an entry of the queue says in another way, or not at all."""
RUN_WORDS = tuple(one for key, one in REQUEST_OPTIONS.items() if key not in OWN_WORDS)

QUEUE = Group(
    "queue",
    "Plans that wait for their drives; the desk starts them.",
    (
        Command(
            "list",
            "List what is running, and what is waiting for what.",
            "ioplan_lab.commands.desk.queue:list_queue",
            (use.LAB, use.JSON),
            examples=("ioplan lab queue list",),
        ),
        Command(
            "add",
            "Add a plan to the queue.",
            "ioplan_lab.commands.desk.queue:add",
            (
                use.PLAN,
                LAB_TARGET._replace(required=False),
                use.ON,
                PRIORITY,
                option("--after", "Do not start before this time.", "DATE"),
                SIGNED,
                *RUN_WORDS,
                use.LAB,
            ),
            examples=(
                "ioplan lab queue add p.ioplan --target fast --overwrite-from c.json",
            ),
        ),
        Command(
            "move",
            "Change the priority of a waiting plan.",
            "ioplan_lab.commands.desk.queue:move",
            (
                _NUMBER,
                PRIORITY,
                flag("--first", "Before all others of its priority."),
                use.LAB,
            ),
            examples=("ioplan lab queue move 12 --priority high",),
        ),
        Command(
            "cancel",
            "Cancel a waiting plan, or stop a running one.",
            "ioplan_lab.commands.desk.queue:cancel",
            (_NUMBER, use.LAB),
            examples=("ioplan lab queue cancel 12",),
        ),
        Command(
            "work",
            "Start queued plans until stopped; `ioplan lab serve` does this, too.",
            "ioplan_lab.commands.desk.queue:work",
            (
                flag("--once", "Exit when nothing is running or can be started."),
                use.LAB,
                use.STORE,
            ),
            examples=("ioplan lab queue work",),
        ),
    ),
    usual="list",
)

DRIVE_COMMANDS = (
    Command(
        "drives",
        "List the drives of the lab and their state: free, busy, reserved or out.",
        "ioplan_lab.commands.desk.chosen:list_drives",
        (use.LAB, use.JSON),
        examples=("ioplan lab drives",),
    ),
    Command(
        "reserve",
        "Reserve drives: only your plans are started on them.",
        "ioplan_lab.commands.desk.chosen:reserve",
        (
            _DRIVES,
            option("--until", "When it expires.", "DATE"),
            option("--from", "When it begins; default: now.", "DATE", key="since"),
            option("--why", "A reason for others to read.", "TEXT"),
            flag("--release", "End your reservations of these drives."),
            use.LAB,
        ),
        examples=(
            "ioplan lab reserve gen5-1 --until 3d --why 'firmware'",
            "ioplan lab reserve gen5-1 --release",
        ),
    ),
    Command(
        "drive",
        "Take drives out of service, put them back, or tag them.",
        "ioplan_lab.commands.desk.chosen:service",
        (
            _DRIVES,
            option(
                "--out-of-service", "The reason; nothing is started on it.", "REASON"
            ),
            flag("--in-service", "Put them back into service."),
            option("--tag", "A tag, for --on tag:TAG; repeatable.", "TAG", many=True),
            option("--untag", "Take a tag away; repeatable.", "TAG", many=True),
            use.LAB,
        ),
        examples=(
            "ioplan lab drive gen5-1 --out-of-service 'media errors'",
            "ioplan lab drive gen5-1 gen5-2 --tag qual",
        ),
    ),
)
