"""Where a name is defined and used, in all files, and what it takes to rename it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ioplan.language import TAKEN, Span, installed_plans
from ioplan.language.syntax import tree
from ioplan_editor.document import Document
from ioplan_editor.fix.fixes import Edit
from ioplan_editor.look.occurrences import (
    Occurrence,
    Symbol,
    occurrence_at,
    occurrences,
)

Place = tuple[Path, Span]
NAME = re.compile(r"[A-Za-z_]\w*")
SHARED = ("param", "trace", "workload", "precondition")
"""What other files can name."""


class RenameError(ValueError):
    """Why a name cannot become another."""


def definition(document: Document, offset: int) -> Place | None:
    """Where what stands at a place is defined; a used file begins at its start."""
    used = _used_file(document, offset)
    if used:
        return used, Span(document.workspace.document(used).source, 0, 0)
    named = occurrence_at(document, offset)
    if named is None or named.symbol.path is None:
        return None
    there = document.workspace.document(named.symbol.path)
    every = (one for one in occurrences(there) if one.is_definition)
    spans = (one.span for one in every if one.symbol == named.symbol)
    span = next(spans, None)
    return (named.symbol.path, span) if span else None


def _used_file(document: Document, offset: int) -> Path | None:
    for use in document.items(tree.Use):
        if use.path.span.start <= offset <= use.path.span.end:
            return document.used_path(use)
    return None


def references(document: Document, offset: int) -> list[Place]:
    """All that stands for the same, in this file and in those that use its file."""
    named = occurrence_at(document, offset)
    return list(_places(document, named.symbol)) if named else []


def _places(document: Document, symbol: Symbol) -> Iterator[Place]:
    for other in _files(document, symbol):
        for one in occurrences(other):
            if one.symbol == symbol:
                yield other.path, one.span


def _files(document: Document, symbol: Symbol) -> Iterator[Document]:
    """The documents in which a symbol can stand."""
    if symbol.sort not in (*SHARED, "stream") or symbol.path is None:
        yield document
        return
    seen: set[Path] = set()
    for other in (document, *document.workspace.documents(document.path)):
        if other.path not in seen and symbol.path in other.modules:
            seen.add(other.path)
            yield other
    if symbol.path not in seen:
        yield document.workspace.document(symbol.path)


def renamable(document: Document, offset: int) -> Occurrence | None:
    """The name at a place, if it is one. Raises RenameError for one of ioplan's own."""
    named = occurrence_at(document, offset)
    path = named.symbol.path if named else None
    if path and path.is_relative_to(installed_plans().resolve()):
        raise RenameError(f"{path.name} comes with ioplan; its names are fixed")
    return named


def renaming(document: Document, offset: int, name: str) -> dict[Path, list[Edit]]:
    """The changes of each file. Raises RenameError."""
    named = renamable(document, offset)
    if named is None:
        raise RenameError("there is no name here")
    _check(name, named, document)
    changes: dict[Path, list[Edit]] = {}
    for path, span in _places(document, named.symbol):
        changes.setdefault(path, []).append(Edit(span.start, span.end, name))
    return changes


def _check(name: str, named: Occurrence, document: Document) -> None:
    if not NAME.fullmatch(name):
        raise RenameError(f"{name!r} is no name: letters, digits and _, a letter first")
    kind = type(named.node) if named.node else tree.Param
    if name in TAKEN.get(kind, ()):
        raise RenameError(f"{name!r} is a word of the language")
    for path, span in _places(document, replaced(named.symbol, name)):
        row = span.source.position(span.start)[0]
        raise RenameError(f"{name!r} is used already, in line {row} of {path.name}")


def replaced(symbol: Symbol, name: str) -> Symbol:
    """A symbol of the same sort and place by another name."""
    return Symbol(symbol.sort, symbol.path, name, symbol.scope)
