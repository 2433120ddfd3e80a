"""Where the files are that a plan uses."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path, PurePosixPath

from ioplan.core.home import at_home
from ioplan.core.system import HAS_USERS
from ioplan.language.search.locked import check_pinned, locked_folder, locked_suites
from ioplan.language.search.packages import SuiteError, packaged_folder, packages

VARIABLE = "IOPLAN_PATH"
PROJECT = "ioplan.toml"
"""A file of this name makes the folder that it is in a root for all plans below it."""
MOST_KNOWN = 1000

Folders = Callable[[], tuple[Path, ...]]


def no_folders() -> tuple[Path, ...]:
    """The folders where no lab is."""
    return ()


def project_folder(plan: Path) -> tuple[Path, ...]:
    """The nearest folder around a plan that has an ioplan.toml of this user or root."""
    for folder in plan.absolute().parents:
        try:
            owner = (folder / PROJECT).stat().st_uid
        except OSError:
            continue
        return (folder,) if not HAS_USERS or owner in (0, os.getuid()) else ()
    return ()


def named_folders() -> tuple[Path, ...]:
    """The folders of IOPLAN_PATH, with colons between them as in PATH."""
    named = os.environ.get(VARIABLE, "").split(os.pathsep)
    return tuple(at_home(name) for name in named if name)


class SearchPath:
    """Folders that are searched in turn, then suites, then `more` folders.

    What comes after the folders is asked for only where it is needed.
    """

    def __init__(self, roots: tuple[Path, ...], more: Folders = no_folders) -> None:
        self.first = tuple(root.resolve() for root in roots)
        self._more = more

    @cached_property
    def all(self) -> tuple[Path, ...]:
        """All roots."""
        return (*self.first, *(root.resolve() for root in self._more()))

    def find(self, text: str) -> Path | None:
        """The file of that name below a root, or in a suite. Raises SuiteError."""
        found = self._below(self.first, text) or self._in_suite(text)
        return found or self._below(self.all[len(self.first) :], text)

    def find_from(self, user: str, text: str) -> tuple[str, Path] | None:
        """What a used file means by a name, and the name of it from everywhere.

        What is beside the file that uses it comes first: so a suite's files find
        each other, whoever uses them.
        """
        beside = str(PurePosixPath(user).parent / text)
        for name in dict.fromkeys((beside, text)):
            if found := self.find(name):
                return name, found
        return None

    def _in_suite(self, text: str) -> Path | None:
        name, *rest = PurePosixPath(text).parts
        folder = self._suite(name) if rest else None
        return self._at(folder.resolve(), "/".join(rest)) if folder else None

    def _suite(self, name: str) -> Path | None:
        """What a project has pinned comes before what is installed."""
        pinned = (locked_folder(root, name) for root in self.first)
        return next(filter(None, pinned), None) or packaged_folder(name)

    def _below(self, roots: tuple[Path, ...], text: str) -> Path | None:
        return next((path for root in roots if (path := self._at(root, text))), None)

    def _at(self, root: Path, text: str) -> Path | None:
        """The file below one root; a link counts if it leads to something below one.

        Raises SuiteError for a file of a pinned suite that was changed.
        """
        try:
            found = (root / text).resolve()
            inside = found.is_relative_to(root) or any(
                found.is_relative_to(other) for other in self.all
            )
            if not (found.is_file() and inside):
                return None
            check_pinned(root / text)  # what the name means, link or not
            return found
        except (OSError, RuntimeError):
            return None

    def link_out(self, text: str) -> Path | None:
        """What a name leads to that is found, but by a link out of all roots."""
        for root in self.all:
            try:
                if (root / text).is_file():
                    return (root / text).resolve()
            except (OSError, RuntimeError):
                continue
        return None

    def known(self) -> list[str]:
        """The plans that could have been meant, a bounded number of them."""
        found = [name for root in self.all for name in _plans_below(root)]
        return [*found, *_pinned(self.first), *_packaged()][:MOST_KNOWN]


class RecordedFiles(SearchPath):
    """The files of a record, by the names that its plan uses them by."""

    def __init__(self, names: Collection[str]) -> None:
        super().__init__(())
        self.names = names

    def find(self, text: str) -> Path | None:
        """The name, as a path."""
        return Path(text) if text in self.names else None


def _pinned(roots: tuple[Path, ...]) -> Iterator[str]:
    for root in roots:
        with suppress(SuiteError):
            for one in locked_suites(root).values():
                yield from (f"{one.name}/{name}" for name in one.files)


def _packaged() -> Iterator[str]:
    for one in packages():
        with suppress(SuiteError):
            yield from (f"{one.name}/{plan}" for plan in _plans_below(one.folder))


def _plans_below(root: Path) -> Iterator[str]:
    for pattern in ("*.ioplan", "*/*.ioplan"):
        for path in sorted(root.glob(pattern)):
            yield str(path.relative_to(root))
