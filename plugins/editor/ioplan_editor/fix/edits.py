"""Changes of a text: as few as make it into another one."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import accumulate

from msgspec import Struct

from ioplan.language.errors.diagnostic import PlanError
from ioplan.language.syntax.formatter import format_tree
from ioplan_editor.document import Document


class Edit(Struct, frozen=True):
    """Characters `start` to `end` (exclusive) become another text."""

    start: int
    end: int
    text: str


def applied(text: str, edits: list[Edit]) -> str:
    """The text after its changes."""
    for edit in sorted(edits, key=lambda one: -one.start):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def formatting(
    document: Document, start: int = 0, end: int | None = None
) -> list[Edit]:
    """What puts a text in its layout, or the rows of it that touch a range.

    Nothing where it has syntax errors: what cannot be read cannot be laid out.
    """
    text = document.text
    if document.syntax_errors:
        return []
    try:
        wanted = format_tree(document.source, document.file)
    except PlanError:
        return []
    last = len(text) if end is None else end
    changes = _changes(text, wanted)
    return [one for one in changes if one.start <= last and one.end >= start]


def _changes(text: str, wanted: str) -> Iterator[Edit]:
    """Row by row."""
    before, after = text.splitlines(keepends=True), wanted.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, before))]
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            yield Edit(starts[a], starts[b], "".join(after[c:d]))
