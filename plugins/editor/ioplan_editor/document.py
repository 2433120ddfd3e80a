"""A plan that is being written: its text, right or wrong, and what is made of it.

Everything is made when it is first asked for, and kept as long as the text is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from msgspec.structs import astuple

from ioplan.language import (
    FULL,
    CheckedPlan,
    Diagnostic,
    EnoughFound,
    Examined,
    Findings,
    Loader,
    Module,
    Scope,
    SearchPath,
    Source,
    Span,
    SuiteError,
    Test,
    examine,
    library_roots,
    parse,
    read_text,
    warnings_of,
)
from ioplan.language.syntax import tree
from ioplan.runner import LabError, plan_folders
from ioplan_editor.known_tests import KnownTests
from ioplan_editor.reparse import reparsed

Made = TypeVar("Made")
Kind = TypeVar("Kind", bound=tree.Node)
Parsed = tuple[tree.File, list[Diagnostic]]
MOST_PARSED = 64
"""Texts whose trees are kept."""
MOST_FILES = 500
"""The most files of a folder that are searched for a name."""
MOST_FOLDERS = 2000
LEFT = {"node_modules", "__pycache__", "target"}
"""Folders in which no plans are."""


def lab_folders() -> tuple[Path, ...]:
    """The lab's folders of plans; none where its file is wrong, which `check` says."""
    try:
        return plan_folders(None)
    except LabError:
        return ()


class Workspace:
    """The texts as they are on the screen, and the profile that is checked."""

    def __init__(self) -> None:
        self.texts: dict[Path, str] = {}
        self.roots: list[Path] = []
        self.profile = FULL
        self._parsing = Lock()  # a check runs beside what is asked meanwhile
        self.known_tests = KnownTests()
        self._latest: dict[str, tree.File] = {}
        self._parsed: dict[tuple[str, str], Parsed] = {}
        self._documents: dict[Path, Document] = {}

    def open(self, path: Path, text: str) -> None:
        """A text is on the screen now, or another one than before."""
        self.texts[path] = text
        self.forget()

    def close(self, path: Path) -> None:
        """What is on the disk counts again."""
        self.texts.pop(path, None)
        self.forget()

    def forget(self) -> None:
        """What files say together may be otherwise now; their trees are kept."""
        self._documents.clear()

    def read(self, path: Path) -> str:
        """The text of a file, as it is on the screen. Raises OSError, ValueError."""
        return self.texts[path] if path in self.texts else read_text(path)

    def parse(self, source: Source) -> Parsed:
        """The tree of a text, made once."""
        key = source.name, source.text
        with self._parsing:
            found = self._parsed.pop(key, None) or self._parse(source)
            self._parsed[key] = found
            if len(self._parsed) > MOST_PARSED:
                self._parsed.pop(next(iter(self._parsed)))
            return found

    def _parse(self, source: Source) -> Parsed:
        """From the tree of the text before, where that can be."""
        before = self._latest.get(source.name)
        file = reparsed(before, source) if before else None
        found = (file, []) if file else parse(source)
        if not found[1]:
            self._latest[source.name] = found[0]
        return found

    def document(self, path: Path) -> Document:
        """The file of that path. Raises OSError, ValueError."""
        if path not in self._documents:
            self._documents[path] = Document(path, self.read(path), self)
        return self._documents[path]

    def documents(self, near: Path) -> Iterator[Document]:
        """All plans of the open folders, else of the folder of a file."""
        roots = self.roots or [near.parent]
        found = (path for root in roots for path in plans_below(root))
        seen = {near: None, **dict.fromkeys(self.texts), **dict.fromkeys(found)}
        for path in list(seen)[:MOST_FILES]:
            with suppress(OSError, ValueError):
                yield self.document(path)


def plans_below(root: Path) -> Iterator[Path]:
    """The plans of a folder, which may be somebody's whole home."""
    for walked, (folder, folders, names) in enumerate(os.walk(root)):
        if walked == MOST_FOLDERS:
            return
        folders[:] = sorted(one for one in folders if one[0] != "." and one not in LEFT)
        yield from (Path(folder, n) for n in sorted(names) if n.endswith(".ioplan"))


class Document:
    """One text of a workspace."""

    def __init__(
        self, path: Path, text: str, workspace: Workspace | None = None
    ) -> None:
        self.path, self.text = path, text
        self.workspace = workspace or Workspace()
        self.source = Source(str(path), text)
        self._made: dict[str, Any] = {}

    @cached_property
    def file(self) -> tree.File:
        """The tree of what could be parsed."""
        return self.workspace.parse(self.source)[0]

    @property
    def syntax_errors(self) -> list[Diagnostic]:
        """What could not be parsed."""
        return self.workspace.parse(self.source)[1]

    def _loader(self) -> Loader:
        shared, roots = self.workspace, library_roots(self.path)
        return Loader(roots, Findings(), shared.read, shared.parse, lab_folders)

    @cached_property
    def _loaded(self) -> tuple[Module, dict[Path, Module]]:
        loader = self._loader()
        main = Module(self.source, self.file)
        with suppress(EnoughFound, RecursionError):
            main = loader.module(self.source, self.path)
        return main, {self.path: main} | loader.loaded

    @property
    def module(self) -> Module:
        """The file with the names of those that it uses, unchecked."""
        return self._loaded[0]

    @property
    def modules(self) -> dict[Path, Module]:
        """It and all that it uses."""
        return self._loaded[1]

    def path_of(self, source: Source) -> Path | None:
        """The file that a place in some text is in, perhaps in the text before."""
        names = {module.source.name: path for path, module in self.modules.items()}
        return names.get(source.name)

    @property
    def profile(self) -> str:
        """The profile that is chosen, where the text has it."""
        named = {one.name.text for one in self.items(tree.Profile)}
        chosen = self.workspace.profile
        return chosen if chosen in named else FULL

    @cached_property
    def examined(self) -> Examined:
        """What the checker makes of it."""
        known, common = self.workspace.known_tests, self.common

        def check_test(node: tree.Test, scope: Scope, time_scale: float) -> Test | None:
            return known.checked(node, scope, time_scale, common)

        return examine(
            self._loader(),
            self.source,
            path=self.path,
            profile=self.profile,
            check_test=check_test,
        )

    @cached_property
    def common(self) -> Hashable:
        """What decides beside a test: all definitions, and the profile."""
        own = (i.span.text for i in self.file.items if not isinstance(i, tree.Test))
        used = (m.source.text for p, m in self.modules.items() if p != self.path)
        return self.profile, *own, "", *used

    @property
    def plan(self) -> CheckedPlan | None:
        """The tests without errors."""
        return self.examined.plan

    @cached_property
    def diagnostics(self) -> list[Diagnostic]:
        """All errors; where there are none, what is right and not meant."""
        found = self.examined.errors
        if found or self.plan is None:
            return found
        return warnings_of(self.plan)

    def module_of(self, node: tree.Node) -> Module:
        """The file that a definition is in."""
        own = (one for one in self.modules.values() if node in one.file.items)
        return next(own, self.module)

    @cached_property
    def search(self) -> SearchPath:
        """Where `use` looks."""
        return SearchPath(library_roots(self.path), lab_folders)

    def used_path(self, use: tree.Use) -> Path | None:
        """The file that a `use` means, if it could be loaded."""
        with suppress(SuiteError):
            found = self.search.find(use.path.text)
            return found if found in self.modules else None
        return None

    def once(self, key: str, make: Callable[[], Made]) -> Made:
        """What others make of this text, kept with it."""
        if key not in self._made:
            self._made[key] = make()
        made: Made = self._made[key]
        return made

    def items(self, kind: type[Kind]) -> Iterator[Kind]:
        """The items of a kind."""
        return (one for one in self.file.items if isinstance(one, kind))

    def span(self, start: int, end: int) -> Span:
        """A place in its text."""
        return Span(self.source, start, end)


def nodes_at(node: object, offset: int) -> list[tree.Node]:
    """The nodes around a place, from the outside in."""
    parts = astuple(node) if isinstance(node, tree.Node | tree.File) else node
    found = [node] if isinstance(node, tree.Node) else []
    if not isinstance(parts, tuple):
        return found
    for part in parts:
        if isinstance(part, tuple):
            inner = nodes_at(part, offset)
            if inner:
                return found + inner
        elif isinstance(part, tree.Node) and covers(part.span, offset):
            return found + nodes_at(part, offset)
    return found


def covers(span: Span, offset: int) -> bool:
    """Whether a place is in or at the end of another."""
    return span.start <= offset <= span.end
