"""Commands that bring ioplan to hosts."""

from __future__ import annotations

from ioplan.cli.interface import shared as use
from ioplan.cli.interface.declare import Command, Parameter, flag, option

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
