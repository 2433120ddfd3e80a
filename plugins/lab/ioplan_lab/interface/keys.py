"""Commands on the keys by which a lab's hosts are told from others."""

from __future__ import annotations

from ioplan.cli.interface import shared as use
from ioplan.cli.interface.declare import Command, Group, Parameter

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
