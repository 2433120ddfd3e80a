"""The lab's desk: the service, and who may use it."""

from __future__ import annotations

from ioplan.cli import Command, Group, Parameter, flag, option
from ioplan.cli.interface import shared as use

_NAME = Parameter(key="name", metavar="NAME", help="The person's name.", required=True)
_DAYS = option(
    "--days", "How long the token is valid; default: no expiry.", "DAYS", kind="integer"
)

PEOPLE = Group(
    "people",
    "The people who may use the desk, with roles and tokens.",
    (
        Command(
            "list",
            "List the people and when their tokens expire.",
            "ioplan_lab.commands.desk.people:list_people",
            (use.LAB,),
            examples=("ioplan lab people list",),
        ),
        Command(
            "add",
            "Add a person, and print the token to sign in with; it is shown once.",
            "ioplan_lab.commands.desk.people:add_person",
            (
                _NAME,
                option(
                    "--role",
                    "viewer may read, operator also start plans, admin also sign "
                    "lists.",
                    "ROLE",
                    default="viewer",
                    values="viewer|operator|admin",
                ),
                _DAYS,
                use.LAB,
            ),
            examples=("ioplan lab people add ada --role operator --days 90",),
        ),
        Command(
            "token",
            "Create another token for a person, and print it.",
            "ioplan_lab.commands.desk.people:add_token",
            (_NAME, _DAYS, use.LAB),
            examples=("ioplan lab people token ada --days 90",),
        ),
        Command(
            "quota",
            "Limit what the queue starts for a person or @PROJECT, or no longer.",
            "ioplan_lab.commands.desk.people:set_quota",
            (
                _NAME._replace(help="A person, @PROJECT, or '*' for all other people."),
                option("--drives", "Drives at once.", "N", kind="integer"),
                option("--hours", "Drive-hours in 7 days.", "HOURS", kind="number"),
                use.LAB,
            ),
            examples=("ioplan lab people quota ada --drives 8 --hours 200",),
        ),
        Command(
            "project",
            "Put people in a project, for its quota and permissions.",
            "ioplan_lab.commands.desk.people:change_project",
            (
                _NAME._replace(help="The project's name."),
                option("--add", "A person; repeatable.", "NAME", many=True),
                option("--take-out", "A person; repeatable.", "NAME", many=True),
                use.LAB,
            ),
            examples=("ioplan lab people project nand --add ada --add olga",),
        ),
        Command(
            "permit",
            "Say who may use the drives with a tag; without anyone: all.",
            "ioplan_lab.commands.desk.people:permit",
            (
                _NAME._replace(key="tag", metavar="TAG", help="A tag of drives."),
                option("--to", "A person or @PROJECT; repeatable.", "WHO", many=True),
                option("--no-longer", "Whom to leave out.", "WHO", many=True),
                use.LAB,
            ),
            examples=("ioplan lab people permit qual --to @nand --to olga",),
        ),
        Command(
            "revoke",
            "Revoke all tokens of a person; browsers are signed out.",
            "ioplan_lab.commands.desk.people:revoke_tokens",
            (_NAME, use.LAB),
            examples=("ioplan lab people revoke ada",),
        ),
        Command(
            "remove",
            "Remove a person with all tokens.",
            "ioplan_lab.commands.desk.people:remove_person",
            (_NAME, use.LAB),
            examples=("ioplan lab people remove ada",),
        ),
    ),
    usual="list",
)

SERVE_COMMANDS = (
    Command(
        "serve",
        "Serve the desk, a web interface to start, monitor and compare runs.",
        "ioplan_lab.commands.desk.serve:serve_desk",
        (
            option(
                "--listen",
                "Other than loopback only with TLS.",
                "HOST:PORT",
                default="127.0.0.1:8780",
            ),
            flag("--tls", "TLS, with a certificate of the lab's own authority."),
            option("--certificate", "TLS with this certificate.", "FILE", kind="path"),
            option("--key", "The certificate's.", "FILE", kind="path"),
            option(
                "--name",
                "A host name for its certificate; may be repeated.",
                "NAME",
                key="names",
                many=True,
            ),
            option(
                "--oidc", "Sign in by the provider of this file.", "FILE", kind="path"
            ),
            use.LAB,
            use.STORE,
        ),
        examples=(
            "ioplan lab serve",
            "ioplan lab serve --listen 0.0.0.0:8780 --tls --name desk.example",
        ),
        needs_linux=True,
        extra="serve",
    ),
    PEOPLE,
)
