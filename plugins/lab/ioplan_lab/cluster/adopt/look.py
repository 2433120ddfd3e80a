"""What is on a host before it is adopted or upgraded."""

from __future__ import annotations

import platform
from pathlib import Path, PurePosixPath
from typing import Literal

from pydantic import ValidationError

from ioplan.core import ClusterFault, Model
from ioplan.runner import LabHost
from ioplan_lab.cluster.adopt import look_at_host
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.hosts.programs import Programs
from ioplan_lab.cluster.hosts.service import UNIT_FILE
from ioplan_lab.cluster.hosts.ssh import run_there
from ioplan_lab.cluster.hosts.worker_api import versions


class Look(Model):
    """What `look_at_host` prints.

    `pythons` are versions by path, of those that can make a folder for packages;
    `versions` those of what is installed in ioplan's folder. That is `own` where Python
    made it, `used` where something else is in it. `unit` is the text of the worker's
    unit, `lanes` how many run.
    """

    machine: str
    pythons: dict[str, str]
    versions: dict[str, str]
    folder: Literal["own", "used", ""]
    root: bool
    systemd: bool
    unit: str
    lanes: int

    @property
    def up_to_date(self) -> bool:
        """Whether all that must be the same on all hosts is."""
        return self.versions == versions()

    @property
    def same_python(self) -> bool:
        """Whether the folder has the coordinator's Python."""
        return self.versions.get("python") == platform.python_version()

    def fault(self, folder: str) -> str:
        """Why ioplan cannot be installed there; empty if it can."""
        own = platform.python_version()
        if self.machine != platform.machine():
            return f"it is {self.machine}, and the wheels here are {platform.machine()}"
        if own not in self.pythons.values():
            there = ", ".join(sorted(set(self.pythons.values()))) or "none"
            return (
                f"it has no Python {own} with venv (found: {there}), as on this host; "
                "install it, on Debian with apt install python3-venv"
            )
        if self.folder == "used":
            return f"{folder} has other files in it; name another folder with --folder"
        return ""

    def python_for_here(self) -> str:
        """The path of the Python that is the coordinator's version."""
        own = platform.python_version()
        return next(path for path, found in self.pythons.items() if found == own)


def folder_of(host: LabHost) -> str:
    """The folder that has the host's Python. Raises ClusterError for another one's."""
    python = PurePosixPath(host.python)
    if not python.is_absolute() or python.parent.name != "bin":
        raise ClusterError(
            f"its python is {host.python}, which is in no folder of ioplan's; write "
            f'for example python = "/opt/ioplan/bin/python" into the lab file',
            ClusterFault.INSTALL_FAILED,
        )
    return str(python.parent.parent)


def look(name: str, host: LabHost, programs: Programs) -> Look:
    """Raises ClusterError."""
    program = Path(look_at_host.__file__).read_bytes()
    said_of = [folder_of(host), UNIT_FILE, host.store or "", programs.cli]
    said = run_there(name, host, ["python3", "-", *said_of], program)
    try:
        return Look.model_validate_json(said)
    except ValidationError as error:
        raise ClusterError(
            f"the host {name} does not report its content: {said[:200]!r}",
            ClusterFault.HOST_UNREACHABLE,
        ) from error
