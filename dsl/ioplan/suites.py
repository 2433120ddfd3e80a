"""The suites that come with ioplan: plans, and files of names for other plans."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ioplan.core.value import Value
from ioplan.language.check.modules import installed_plans, read_text
from ioplan.language.syntax import tree
from ioplan.language.syntax.parser import parse
from ioplan.language.syntax.source import Source, comments_of

SUFFIX = ".ioplan"


class Suite(Value):
    """A file that comes with ioplan, as its text describes it.

    `about` is the comment that it begins with, a line each.
    """

    name: str
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


def suite_names() -> list[str]:
    """All suites by name, such as reviews/p3700."""
    root = installed_plans().resolve()
    found = (path.relative_to(root) for path in sorted(root.rglob(f"*{SUFFIX}")))
    return [path.as_posix().removesuffix(SUFFIX) for path in found]


def suite_file(name: str) -> Path | None:
    """The file of a suite, named with or without its suffix."""
    known = name.removesuffix(SUFFIX)
    return installed_plans() / f"{known}{SUFFIX}" if known in suite_names() else None


def suites() -> Iterator[Suite]:
    """All suites in the order of their names."""
    for name in suite_names():
        path = installed_plans() / f"{name}{SUFFIX}"
        text = read_text(path)
        items = parse(Source(str(path), text))[0].items
        yield Suite(name, path, _about(text), items)


def _about(text: str) -> tuple[str, ...]:
    """The rows of comment that a text begins with."""
    rows = text.splitlines()
    end = next((i for i, row in enumerate(rows) if row[:1] != "#"), len(rows))
    head = "\n".join(rows[:end])
    return tuple(comment.text.lstrip("#").strip() for comment in comments_of(head))
