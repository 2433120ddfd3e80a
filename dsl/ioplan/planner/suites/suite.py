"""Suites: plans, and files of names for other plans, of ioplan and of packages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath

from msgspec import Struct

from ioplan.core.version import __version__
from ioplan.language.checker.modules import installed_plans, read_text
from ioplan.language.search.file_name import goes_down
from ioplan.language.search.packages import packaged_folder, packages
from ioplan.language.search.search_path import (
    FOLDER,
    Locked,
    SearchPath,
    locked_folder,
    locked_suites,
    project_folder,
)
from ioplan.language.syntax import tree
from ioplan.language.syntax.parser import parse
from ioplan.language.syntax.source import Source, comments_of

SUFFIX = ".ioplan"
OWN = "ioplan"
"""The collection that comes with ioplan."""


class Collection(Struct, frozen=True):
    """Plans that come together: a name, a version, and where they came from.

    One that is `pinned` was added from git, and its version is a tag and a commit.
    The files of ioplan's own are called as they lie in the folder, those of others by
    the collection's name and a slash before it.
    """

    name: str
    version: str
    origin: str
    folder: Path
    pinned: bool = False

    def files(self) -> Iterator[tuple[str, Path]]:
        """All plans by their names, without the suffix."""
        root, before = self.folder.resolve(), f"{self.name}/" * (self.name != OWN)
        for path in sorted(root.rglob(f"*{SUFFIX}")):
            below = path.relative_to(root).as_posix()
            yield f"{before}{below.removesuffix(SUFFIX)}", path


class Suite(Struct, frozen=True):
    """A file of a collection, as its text describes it.

    `about` is the comment that it begins with, a line each.
    """

    name: str
    collection: Collection
    path: Path
    about: tuple[str, ...]
    items: tuple[tree.Item, ...]

    @property
    def title(self) -> str:
        """The plan's title, else the first line about it."""
        titles = [i.title.text for i in self.items if isinstance(i, tree.Plan)]
        return (*titles, *self.about, "")[0]

    @property
    def is_plan(self) -> bool:
        """Whether it can be run; other files only define names."""
        return any(isinstance(item, tree.Test) for item in self.items)

    @property
    def names(self) -> list[str]:
        """What it defines for plans that use it."""
        kinds = tree.Param | tree.Workload | tree.Precondition
        return [item.name.text for item in self.items if isinstance(item, kinds)]

    @property
    def profiles(self) -> list[str]:
        """Its profiles, besides the full one."""
        return [i.name.text for i in self.items if isinstance(i, tree.Profile)]


def collections() -> Iterator[Collection]:
    """ioplan's own, this project's, then those of packages. Raises SuiteError."""
    yield Collection(OWN, __version__, "comes with ioplan", installed_plans())
    for project in here():
        yield from map(
            partial(pinned_collection, project), locked_suites(project).values()
        )
    for one in packages():
        folder = packaged_folder(one.name)
        assert folder  # it is one of them, or the error is raised
        origin = f"package {one.distribution}"
        yield Collection(one.name, one.version, origin, folder)


def here() -> tuple[Path, ...]:
    """The folder of the project that this process is in, if it is in one."""
    return project_folder(Path("plan.ioplan"))


def pinned_collection(project: Path, one: Locked) -> Collection:
    """What a project has added."""
    version = f"{one.ref} ({one.commit[:7]})"
    folder = project / FOLDER / one.name
    return Collection(one.name, version, one.git, folder, pinned=True)


def suite_files() -> dict[str, tuple[Collection, Path]]:
    """All suites by name, such as reviews/p3700. Raises SuiteError."""
    found: dict[str, tuple[Collection, Path]] = {}
    for one in collections():
        for name, path in one.files():
            found.setdefault(name, (one, path))
    return found


def suite_names() -> list[str]:
    """The names of all suites. Raises SuiteError."""
    return list(suite_files())


def suite_file(name: str) -> Path | None:
    """The file of a suite, named with or without its suffix. Raises SuiteError."""
    known = f"{name.removesuffix(SUFFIX)}{SUFFIX}"
    if not goes_down(known):
        return None
    if (own := installed_plans() / known).is_file():
        return own
    name, *rest = PurePosixPath(known).parts
    for project in here():
        if rest and (folder := locked_folder(project, name)):
            return SearchPath((folder,)).find("/".join(rest))
    return SearchPath(()).find(known)


def suites() -> Iterator[Suite]:
    """All suites, those of a collection together. Raises SuiteError."""
    for name, (collection, path) in suite_files().items():
        yield _suite(name, collection, path)


def suites_of(collection: Collection) -> Iterator[Suite]:
    """The suites of one collection."""
    for name, path in collection.files():
        yield _suite(name, collection, path)


def _suite(name: str, collection: Collection, path: Path) -> Suite:
    text = read_text(path)
    items = parse(Source(str(path), text))[0].items
    return Suite(name, collection, path, _about(text), items)


def _about(text: str) -> tuple[str, ...]:
    """The rows of comment that a text begins with."""
    rows = text.splitlines()
    end = next((i for i, row in enumerate(rows) if row[:1] != "#"), len(rows))
    head = "\n".join(rows[:end])
    return tuple(comment.text.lstrip("#").strip() for comment in comments_of(head))
