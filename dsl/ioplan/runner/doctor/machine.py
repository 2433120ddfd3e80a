"""A machine as it is looked at, and what is said of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from msgspec import Struct

from ioplan.backends import Availability
from ioplan.runner.telemetry.procfs import Tree

State = Literal["works", "limited", "no"]
INSTALLERS = {
    "debian": "sudo apt install",
    "ubuntu": "sudo apt install",
    "fedora": "sudo dnf install",
    "rhel": "sudo dnf install",
    "suse": "sudo zypper install",
    "arch": "sudo pacman -S",
    "alpine": "sudo apk add",
}
"""By the names that /etc/os-release has for a system, and for what it is like."""


class Finding(Struct, frozen=True):
    """What was found of one thing; `mend` is a command, empty where all is well."""

    name: str
    state: State
    text: str
    mend: str = ""


class Machine:
    """Files below a root, a user, and what can be asked of programs and packages."""

    def __init__(
        self,
        backend: Callable[[str], Availability],
        *,
        tree: Tree | None = None,
        user: int | None = None,
        groups: tuple[int, ...] | None = None,
        programs: str | None = None,
        has_package: Callable[[str], object] = find_spec,
    ) -> None:
        """`programs` are folders as in PATH; `backend` tells what a backend can do."""
        self.backend = backend
        self.tree = tree or Tree()
        self.user = os.geteuid() if user is None else user
        self.groups = tuple(os.getgroups()) if groups is None else groups
        self.programs = programs
        self.has_package = has_package

    def program(self, *names: str) -> str | None:
        """The first of them that can be run."""
        found = (shutil.which(name, path=self.programs) for name in names)
        return next(filter(None, found), None)

    def may_write(self, path: Path) -> bool:
        """Whether its mode lets this user read and write it."""
        status = path.stat()
        shift = 6 if status.st_uid == self.user else 0
        if not shift and status.st_gid in self.groups:
            shift = 3
        return self.user == 0 or (status.st_mode >> shift) & 6 == 6

    def installing(self, package: str) -> str:
        """The command that installs a package of this system."""
        lines = self.tree.text("etc/os-release").splitlines()
        known = dict(line.split("=", 1) for line in lines if "=" in line)
        names = [known.get("ID", ""), *known.get("ID_LIKE", "").strip('"').split()]
        found = (INSTALLERS[name] for name in names if name in INSTALLERS)
        return f"{next(found, 'install')} {package}"
