"""Commands of a lab's queue, and of the drives that it runs on."""

from __future__ import annotations

from ioplan.cli.interface import shared as use
from ioplan.cli.interface.declare import Argument, Command, Group, flag, option

_NUMBER = Argument(
    key="number", metavar="NUMBER", help="As `list` shows it.", required=True
)
_DRIVES = Argument(
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
    "A target or group of the lab.",
    "TARGET",
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
RUN_WORDS = (
    use.BACKEND,
    use.CREATE,
    use.SETTINGS,
    use.TESTS,
    use.PROFILE,
    use.SCALE_TIME,
    use.ALLOW,
)

QUEUE = Group(
    "queue",
    "Plans that wait for their drives; the desk starts them.",
    (
        Command(
            "list",
            "List what runs and what waits, and for what.",
            "desk.queue:list_queue",
            (use.LAB, use.JSON),
            examples=("ioplan lab queue list",),
        ),
        Command(
            "add",
            "Add a plan to the queue.",
            "desk.queue:add",
            (
                use.PLAN,
                LAB_TARGET,
                PRIORITY,
                option("--after", "Not before this.", "DATE"),
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
            "Change the place of what waits.",
            "desk.queue:move",
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
            "Cancel what waits, or end what runs.",
            "desk.queue:cancel",
            (_NUMBER, use.LAB),
            examples=("ioplan lab queue cancel 12",),
        ),
        Command(
            "work",
            "Start what waits, until ended; `ioplan lab serve` does it, too.",
            "desk.queue:work",
            (flag("--once", "Until nothing runs and nothing can."), use.LAB, use.STORE),
            examples=("ioplan lab queue work",),
        ),
    ),
    usual="list",
)

DRIVE_COMMANDS = (
    Command(
        "drives",
        "List the drives of the lab and their state: free, busy, reserved or out.",
        "desk.drives:list_drives",
        (use.LAB, use.JSON),
        examples=("ioplan lab drives",),
    ),
    Command(
        "reserve",
        "Reserve drives: only you can have plans started on them.",
        "desk.drives:reserve",
        (
            _DRIVES,
            option("--until", "When it ends.", "DATE"),
            option("--from", "When it begins; else now.", "DATE", key="since"),
            option("--why", "For others to read.", "TEXT"),
            flag("--release", "End your reservations of them."),
            use.LAB,
        ),
        examples=(
            "ioplan lab reserve gen5-1 --until 3d --why 'firmware'",
            "ioplan lab reserve gen5-1 --release",
        ),
    ),
    Command(
        "drive",
        "Take drives out of service, or put them back.",
        "desk.drives:service",
        (
            _DRIVES,
            option("--out-of-service", "Why nothing may be started on it.", "REASON"),
            flag("--in-service", "They may be used again."),
            use.LAB,
        ),
        examples=("ioplan lab drive gen5-1 --out-of-service 'media errors'",),
    ),
)
