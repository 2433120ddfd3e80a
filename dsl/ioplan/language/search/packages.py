"""Suites that are installed as packages: folders of plans, found by their entry points.

    [project.entry-points."ioplan.suites"]
    acme = "ioplan_acme"

`acme/oltp` is then the file `oltp.ioplan` of that package. No code of a package is
imported for it: a plan is a text, and stays one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from ioplan.core.version import listed_entries

GROUP = "ioplan.suites"
NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
"""What a suite may be called: the first part of the names of its files."""
MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class SuiteError(ValueError):
    """The suite of that name cannot be used; the text says why, and what to do."""


class Package(Struct, frozen=True):
    """An entry point: the suite's name, and which distribution has it."""

    name: str
    module: str
    distribution: str
    version: str

    @property
    def folder(self) -> Path:
        """Where its plans are. Raises SuiteError."""
        self.check_words(self.name, self.module)
        top, *below = self.module.split(".")
        spec = find_spec(top)  # imports nothing, as it has no dot
        for place in (spec.submodule_search_locations or ()) if spec else ():
            if (folder := Path(place, *below)).is_dir():
                return folder
        raise SuiteError(
            f"the suite {self.name!r} of {self.distribution} {self.version} has no "
            f"folder of plans: its entry point says {self.module!r}"
        )

    @staticmethod
    def check_words(name: str, module: str) -> None:
        """Whether an entry point can be one. Raises SuiteError."""
        if not (NAME.fullmatch(name) and MODULE.fullmatch(module)):
            raise SuiteError(
                f"{name} = {module!r} is no entry point of a suite: a name has small "
                f"letters, digits, - and _, and stands for a Python package"
            )


def packages() -> list[Package]:
    """All that are installed, in the order of their names."""
    return sorted(_entries(), key=lambda one: (one.name, one.distribution))


def _entries() -> Iterator[Package]:
    for entry in listed_entries(GROUP):
        of = entry.dist
        named = (of.metadata["Name"], of.version) if of else ("a package", "")
        yield Package(entry.name, entry.value, *named)


def packaged_folder(name: str) -> Path | None:
    """The folder of a suite; None where no package has it. Raises SuiteError."""
    if not NAME.fullmatch(name):
        return None
    found = [one for one in packages() if one.name == name]
    if len(found) > 1:
        who = " and ".join(f"{one.distribution} {one.version}" for one in found)
        raise SuiteError(f"two packages have a suite {name!r}: {who}; uninstall one")
    return found[0].folder if found else None
