"""Plans that can be started from a page: those of the lab, the suites, and texts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from ioplan.core.text import did_you_mean
from ioplan.language.check.modules import read_text
from ioplan.language.search.packages import SuiteError
from ioplan.planner.suites.suite import suite_files
from ioplan.runner.guard.output import OutputError, output_file
from ioplan.runner.lab.lab_file import plan_folders
from ioplan_lab.desk.errors import DeskError, Missing

SUFFIX = ".ioplan"
LAB = "of the lab"
MOST_FILES = 2000


class PlanLibrary:
    """Plans by name; a name is looked up in what there is, and never opened itself.

    Methods read folders. Raises DeskError, LabError, OSError.
    """

    def __init__(self, folder: Path, lab_file: Path | None) -> None:
        """`folder` is the desk's, for texts."""
        self.folder, self.lab_file = folder / "plans", lab_file

    def groups(self) -> dict[str, dict[str, Path]]:
        """The lab's plans, then each collection of suites: files by name."""
        found: dict[str, dict[str, Path]] = {}
        for name, path in self._of_lab():
            found.setdefault(LAB, {})[name] = path
        try:
            suites = suite_files()
        except SuiteError as error:
            raise DeskError(str(error)) from error
        for name, (collection, path) in suites.items():
            found.setdefault(collection.name, {})[name] = path
        return {group: dict(sorted(plans.items())) for group, plans in found.items()}

    def _of_lab(self) -> Iterator[tuple[str, Path]]:
        for folder in plan_folders(self.lab_file):
            for count, file in enumerate(sorted(folder.rglob(f"*{SUFFIX}"))):
                if count >= MOST_FILES:
                    return
                yield f"lab/{file.relative_to(folder).with_suffix('')}", file

    def path(self, name: str) -> Path:
        """The file of a plan. Raises Missing."""
        known = {
            n: path for plans in self.groups().values() for n, path in plans.items()
        }
        if name not in known:
            raise Missing(f"there is no plan {name!r}{did_you_mean(name, known)}")
        return known[name]

    def text(self, name: str) -> str:
        """A plan as it is. Raises Missing."""
        return read_text(self.path(name))

    def keep(self, text: str) -> Path:
        """A file of a text; the same text is the same file."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        file = self.folder / f"plan-{digest}{SUFFIX}"
        if not file.exists() or file.read_text("utf-8") != text:
            try:
                with output_file(file, force=True) as out:
                    out.write(text.encode())
            except OutputError as error:
                raise DeskError(str(error)) from error
        return file
