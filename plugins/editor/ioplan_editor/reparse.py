"""The tree of a text of which the tree before an edit is known.

A key changes one item: that one and the item before it are parsed, those in front stay
as they are, and those behind are moved. The places of items in front are then those of
an earlier text, which is the same up to there.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import astuple

from ioplan.language import Builder, Reader, Source, Span, Stuck, without_comments
from ioplan.language.syntax import tree


def reparsed(before: tree.File, source: Source) -> tree.File | None:
    """The tree of a text without errors; None where it has to be parsed as a whole."""
    if before.damaged or not before.items:
        return None
    old, new = before.source.text, source.text
    prefix = _alike(old, new)
    suffix = _alike(old[prefix:][::-1], new[prefix:][::-1])
    row_end = old.find("\n", len(old) - suffix)
    moved_by = len(new) - len(old)
    front = [item for item in before.items if item.span.end < prefix][:-1]
    behind = [i for i in before.items if 0 <= row_end < i.span.start]
    start = front[-1].span.end if front else 0
    end = behind[0].span.start + moved_by if behind else len(new)
    parsed = without_comments(new)
    try:
        text = " " * start + parsed[start:end]
        middle = Builder(source).build(Reader(text).tree())
    except Stuck:
        return None
    rest = (moved(item, moved_by, source) for item in behind)
    return tree.File(source, (*front, *middle.items, *rest), (), parsed)


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def moved(node: Any, by: int, source: Source) -> Any:
    """A part of a tree moved to another place of another text."""
    if isinstance(node, Span):
        return Span(source, node.start + by, node.end + by)
    if isinstance(node, tuple):
        return tuple([moved(one, by, source) for one in node])
    if not isinstance(node, tree.Node):
        return node
    return type(node)(*(moved(one, by, source) for one in astuple(node)))
