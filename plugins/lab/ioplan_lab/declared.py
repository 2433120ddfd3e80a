"""The entry point of `ioplan.commands`: what the command line knows of the lab."""

from __future__ import annotations

from functools import partial

from ioplan.cli import REQUEST_OPTIONS, Command, Group, Parameter, flag, option
from ioplan.cli.interface import shared as use

_word = partial(Parameter, required=True)
_command = partial(Command, extra="lab")
_host_command = partial(_command, needs_linux=True)
_HERE = flag("--here", "That is what it is for.")
_JOB = Parameter(
    key="key", metavar="JOB", help="An id, a prefix of it, or 'last'.", default="last"
)

SCHEDULE = Group(
    "schedule",
    "Plans that are run at given times.",
    (
        _command(
            "add",
            "Add a plan, on the drives that --on takes now.",
            "ioplan_lab.people.schedules:add",
            (
                _word("name", "NAME", "What it is called."),
                use.PLAN,
                *(
                    one
                    for name, one in REQUEST_OPTIONS.items()
                    if name not in ("targets", "baseline")
                ),
                use.ON,
                option("--cron", "When, as '0 2 * * *'.", "TEXT", required=True),
                option("--zone", "Of these times.", "ZONE", default="UTC"),
                option(
                    "--missed",
                    "What was missed: skip it, or run it once.",
                    "WORD",
                    default="skip",
                    values="skip|once",
                ),
            ),
            examples=(
                "ioplan lab schedule add night p --on 'tag qual' --cron '0 2 * * *'",
            ),
        ),
        _command(
            "list",
            "List them, with what came of the last time.",
            "ioplan_lab.people.schedules:show",
            (use.LAB, use.JSON),
            examples=("ioplan lab schedule list",),
        ),
        _command(
            "remove",
            "Remove one; its jobs go on.",
            "ioplan_lab.people.schedules:remove",
            (_word("name", "NAME", "Its name."), use.LAB),
            examples=("ioplan lab schedule remove nightly",),
        ),
    ),
    usual="list",
)

CONSENT = Group(
    "consent",
    "Signed lists of the drives that may be overwritten, for --overwrite-from.",
    (
        Command(
            "key",
            "Create your key, if there is none, and print its line for the lab file.",
            "ioplan_lab.people.consent:print_key",
            (option("--name", "Your name in the lab file; else your login.", "NAME"),),
            examples=("ioplan lab consent key --name ada",),
        ),
        Command(
            "sign",
            "Sign lists of `ioplan targets --json`, of one or several hosts.",
            "ioplan_lab.people.consent:sign_list",
            (
                _word(
                    "files",
                    "FILE",
                    "Lists of drives, of one or several hosts.",
                    "path",
                    many=True,
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
            examples=("ioplan lab consent sign d.json --until 7d --plan p -o c.json",),
        ),
        Command(
            "show",
            "Show whether a list is valid, who signed it, until when and for what.",
            "ioplan_lab.people.consent:show_list",
            (
                _word("file", "FILE", "A list.", "path"),
                use.LAB,
            ),
            examples=("ioplan lab consent show c.json",),
        ),
    ),
)

LAB = Group(
    "lab",
    "The lab file; drives of several hosts, with PostgreSQL.",
    (
        Command(
            "check",
            "Check the lab file, and list what it defines.",
            "ioplan_lab.people.lab_file:check_lab",
            (use.LAB,),
            examples=("ioplan lab check --lab lab.toml",),
        ),
        _command(
            "init",
            "Make the lab's tables and roles in a database, or bring them up to date.",
            "ioplan_lab.database.initialize:init",
            (
                _word(
                    "address",
                    "ADDRESS",
                    "A database, as a user who may create roles.",
                ),
                option("--host", "A host of the lab.", "NAME", key="hosts", many=True),
                option("--person", "A person.", "NAME", key="people", many=True),
                option("--admin", "An admin.", "NAME", key="admins", many=True),
            ),
            examples=("ioplan lab init postgresql://db/ioplan --host h1 --admin ada",),
        ),
        _host_command(
            "up",
            "Start a lab of this host, with a PostgreSQL and a worker of its own.",
            "ioplan_lab.here.up:up",
            (_HERE, use.LAB),
            examples=("ioplan lab up --here",),
        ),
        _host_command(
            "down",
            "Stop the lab of this host; what runs goes on.",
            "ioplan_lab.here.up:down",
            (_HERE,),
            examples=("ioplan lab down --here",),
        ),
        _host_command(
            "worker",
            "Run the drive jobs of this host's queue, until it is stopped.",
            "ioplan_lab.commands:worker",
            (use.LAB,),
            examples=("ioplan lab worker",),
        ),
        _command(
            "status",
            "Show how a job is. Exit code: that of the job once it has ended.",
            "ioplan_lab.commands:status",
            (
                _JOB,
                use.LAB,
                use.STORE,
                flag("--all", "List the latest jobs."),
                use.JSON,
            ),
            examples=("ioplan lab status", "ioplan lab status --all"),
        ),
        _command(
            "drives",
            "List the drives of the lab: what they are, and who uses them.",
            "ioplan_lab.commands:drives",
            (
                use.ON,
                use.LAB,
                use.JSON,
                flag("--propose", "This host's unused drives, as a lab file has them."),
            ),
            examples=("ioplan lab drives --on 'tag qual'",),
        ),
        _command(
            "reserve",
            "Reserve drives, release or tag them, or take them out of service.",
            "ioplan_lab.commands:reserve",
            (
                _word("keys", "HOST/DRIVE", "Drives of the lab.", many=True),
                option("--until", "Until when; other people's plans wait.", "DATE"),
                option("--why", "For what.", "TEXT"),
                flag("--release", "End the reservation."),
                option("--tag", "A word for --on.", "WORD", many=True),
                option("--untag", "Take a word off.", "WORD", many=True),
                option("--out-of-service", "Start nothing on it.", "REASON"),
                flag("--in-service", "It may be used again."),
                use.LAB,
            ),
            examples=("ioplan lab reserve h1/gen5-1 --until 3d --why firmware",),
        ),
        SCHEDULE,
        CONSENT,
        _command(
            "page",
            "Show the lab in a browser: what runs, drives, hosts, queue, sessions.",
            "ioplan_lab.page.server:serve_page",
            (
                option("--listen", "Where.", "HOST:PORT", default="127.0.0.1:8780"),
                option("--name", "Browsers may call it so.", key="names", many=True),
                flag("--behind-proxy", "Only a proxy that signs people in reaches it."),
                use.LAB,
            ),
            examples=("ioplan lab page",),
        ),
        _command(
            "cancel",
            "Stop a job; completed runs are kept.",
            "ioplan_lab.commands:cancel",
            (
                _word("key", "JOB", _JOB.help),
                use.LAB,
                use.STORE,
            ),
            examples=("ioplan lab cancel last",),
        ),
        Command(
            "restore",
            "Restore what killed sessions changed on this host by [prepare].",
            "ioplan_lab.people.lab_file:put_back",
            examples=("ioplan lab restore",),
        ),
    ),
)

PARTICIPANT = Command(
    "participant",
    "Do this host's part of a session of several hosts, as the messages on stdin say.",
    "ioplan_lab.together.participant:participant",
    (_word("session", "SESSION", "Its id."),),
    hidden=True,
    needs_linux=True,
)

COMMANDS = (LAB, PARTICIPANT)
