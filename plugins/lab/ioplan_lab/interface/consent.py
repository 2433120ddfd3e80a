"""Commands of a lab that many people use."""

from __future__ import annotations

from ioplan.cli.interface import shared as use
from ioplan.cli.interface.declare import Command, Group, Parameter, flag, option

CONSENT = Group(
    "consent",
    "Signed lists of the drives that may be overwritten, for --overwrite-from.",
    (
        Command(
            "key",
            "Create your key, if there is none, and print its line for the lab file.",
            "ioplan_lab.commands.desk.consent:print_key",
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
            "ioplan_lab.commands.desk.consent:sign_list",
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
            "ioplan_lab.commands.desk.consent:show_list",
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
