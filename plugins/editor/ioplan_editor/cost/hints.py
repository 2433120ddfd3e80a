"""What a plan costs, behind each test and behind the plan's title; and lenses."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ioplan.language.syntax import tree
from ioplan_editor.cost.costs import cost_of
from ioplan_editor.document import Document


class Hint(Struct, frozen=True):
    """A text to show behind a place."""

    offset: int
    text: str


def hints(document: Document, start: int, end: int) -> Iterator[Hint]:
    """Cells, time and drive writes of the tests in a range, and of the plan."""
    cost = cost_of(document)
    if cost is None:
        return
    for item in document.file.items:
        title = item.title if isinstance(item, tree.Plan | tree.Test) else None
        if title is None or not start <= title.span.end <= end:
            continue
        is_plan = isinstance(item, tree.Plan)
        text = cost.of_plan() if is_plan else cost.of_test(title.text)
        if text:
            yield Hint(_row_end(document.text, title.span.end), text)


def _row_end(text: str, at: int) -> int:
    """The end of the row, without the blanks and the comment that are there."""
    row = text.find("\n", at)
    rest = text[at : row if row >= 0 else len(text)]
    return at + len(rest.partition("#")[0].rstrip())


class Lens(Struct, frozen=True):
    """A test that can be rehearsed, at the place of its title."""

    title: str
    span_start: int
    span_end: int


def lenses(document: Document) -> Iterator[Lens]:
    """The tests without errors."""
    sound = {test.title for test in document.plan.tests} if document.plan else set()
    for test in document.items(tree.Test):
        if test.title.text in sound:
            yield Lens(test.title.text, test.span.start, test.title.span.end)
