"""Where the files are that a plan uses."""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct

from ioplan.core.state_folder import at_home
from ioplan.core.system import HAS_USERS
from ioplan.language.search.file_name import goes_down
from ioplan.language.search.packages import NAME, SuiteError, packaged_folder, packages

# Suites that a project has added: pinned by ioplan.lock, vendored under suites/.
#
# `ioplan.toml` says what is wanted, `ioplan.lock` what was taken: a commit, and the
# SHA-256 of each file. Nothing is fetched here, and a file that has another digest is
# no file of the suite.

LOCK, FOLDER = "ioplan.lock", "suites"
MOST_BYTES = 16 << 20
SHA256 = re.compile(r"[0-9a-f]{64}")
COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


class Locked(Struct, frozen=True):
    """A suite as it was taken; `files` are digests by path below the folder."""

    name: str
    git: str
    ref: str
    folder: str
    commit: str
    files: dict[str, str]


def locked_suites(project: Path) -> dict[str, Locked]:
    """What a project has pinned, by name. Raises SuiteError."""
    path = project / LOCK
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise ValueError("it is too large for one")
        return {
            name: _locked(name, one)
            for name, one in tomllib.loads(text.decode()).items()
        }
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SuiteError(f"cannot read {path}: {error.strerror}") from error
    except (
        *(ValueError, TypeError, KeyError, AttributeError, RecursionError),
    ) as error:
        raise SuiteError(
            f"{path} is not as ioplan writes it ({error}); restore it, or remove it "
            "and add its suites again"
        ) from error


def _locked(name: str, raw: dict[str, Any]) -> Locked:
    words = [raw[key] for key in ("git", "ref", "folder", "commit")]
    git, ref, folder, commit = words
    files = dict(raw["files"])
    right = [NAME.fullmatch(name), COMMIT.fullmatch(raw["commit"])]
    right += [SHA256.fullmatch(digest) for digest in files.values()]
    if (
        not all(right)
        or not all(map(goes_down, files))
        or not all(isinstance(one, str) for one in words)
    ):
        raise ValueError(f"{name!r} is no entry of it")
    return Locked(name, git, ref, folder, commit, files)


def locked_folder(project: Path, name: str) -> Path | None:
    """Where a pinned suite is, if the project has it. Raises SuiteError."""
    found = name in locked_suites(project)
    return project / FOLDER / name if found else None


def check_pinned(path: Path) -> None:
    """Whether a file of a pinned suite is what was taken; others are let through.

    Raises SuiteError, OSError.
    """
    for above in path.parents if path.is_absolute() else ():
        if above.name == FOLDER and (above.parent / LOCK).is_file():
            _check(path, above)


def _check(path: Path, folder: Path) -> None:
    name, *rest = path.relative_to(folder).parts
    suite = locked_suites(folder.parent).get(name)
    if suite is None or not rest:
        return
    wanted = suite.files.get(str(PurePosixPath(*rest)))
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if wanted != found:
        why = "differs from" if wanted else "is not in"
        raise SuiteError(
            f"{path} {why} {suite.git} at {suite.commit[:12]}, which {LOCK} pins; "
            f"undo the change, or add it again: ioplan update {name} --take"
        )


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
