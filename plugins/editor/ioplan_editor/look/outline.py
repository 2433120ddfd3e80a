"""The structure of a file: its items with what is in them, and what can be folded."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import astuple

from ioplan.language import Span, comments_of
from ioplan.language.syntax import tree
from ioplan_editor.document import Document


class Outlined(Struct, frozen=True):
    """An item or a part of it: `name` is where its name stands."""

    title: str
    sort: str
    span: Span
    name: Span
    about: str = ""
    parts: tuple[Outlined, ...] = ()


def outline(document: Document) -> list[Outlined]:
    """The items of a file."""
    return [one for item in document.file.items for one in _item(item)]


def _item(item: tree.Item) -> Iterator[Outlined]:
    sort = type(item).__name__.lower()
    if isinstance(item, tree.Plan | tree.Test):
        word = item.title
        parts = tuple(_statements(item)) if isinstance(item, tree.Test) else ()
        yield Outlined(word.text or " ", sort, item.span, word.span, "", parts)
    elif isinstance(item, tree.Use):
        named = item.alias or item.path
        yield Outlined(named.text or " ", sort, item.span, named.span, item.path.text)
    elif isinstance(item, tree.Trace):
        yield Outlined(item.name.text, sort, item.span, item.name.span, item.path.text)
    elif isinstance(item, tree.Param):
        yield Outlined(item.name.text, sort, item.span, item.name.span, item.value.text)
    elif isinstance(item, tree.Workload | tree.Profile | tree.Precondition):
        parts = tuple(_named_parts(item))
        yield Outlined(item.name.text, sort, item.span, item.name.span, "", parts)


def _named_parts(
    item: tree.Workload | tree.Profile | tree.Precondition,
) -> Iterator[Outlined]:
    """Streams and settings."""
    for part in getattr(item, "streams", ()) or getattr(item, "settings", ()):
        about = part.span.one_line.partition("=")[2].strip()
        yield Outlined(part.name.text, "part", part.span, part.name.span, about)


def _statements(test: tree.Test) -> Iterator[Outlined]:
    for statement in test.statements:
        keyword, _, rest = statement.span.one_line.partition(" ")
        yield Outlined(keyword, "statement", statement.span, statement.span, rest)


class Fold(Struct, frozen=True):
    """Rows, from 0, of which only the first need be shown."""

    first: int
    last: int
    is_comment: bool = False


def folds(document: Document) -> list[Fold]:
    """Blocks, statements of several rows, and comments of several rows."""
    return [*_blocks(document.file), *_comments(document)]


def _blocks(node: object) -> Iterator[Fold]:
    if isinstance(node, tree.Item | tree.Statement):
        first = node.span.source.position(node.span.start)[0] - 1
        last = node.span.source.position(max(node.span.end - 1, 0))[0] - 1
        if last > first:
            yield Fold(first, last - (node.span.text[-1:] == "}"))
    parts = astuple(node) if isinstance(node, tree.Node | tree.File) else node
    for part in parts if isinstance(parts, tuple) else ():
        if isinstance(part, tuple | tree.Node):
            yield from _blocks(part)


def _comments(document: Document) -> Iterator[Fold]:
    """Rows of comment that follow each other."""
    own = [one for one in comments_of(document.text) if not one.trailing]
    rows = [document.source.position(one.start)[0] - 1 for one in own]
    first = 0
    for index in range(1, len(rows) + 1):
        if index == len(rows) or rows[index] != rows[index - 1] + 1:
            if index - first > 1:
                yield Fold(rows[first], rows[index - 1], is_comment=True)
            first = index
