"""Sound tests that need not be checked again: nothing of what decides them changed."""

from __future__ import annotations

import re
from collections.abc import Hashable

from msgspec import Struct
from msgspec.structs import replace

from ioplan.language import (
    RepeatTemplate,
    RunTemplate,
    Scope,
    Source,
    Span,
    StepTemplate,
    Test,
    checked,
)
from ioplan.language.syntax import tree

MOST_KEPT = 1000
OF_ANOTHER = re.compile(r"\bof\s+\"")
"""A test that depends on another one."""


class Kept(Struct, frozen=True):
    """A test, and where it stood."""

    test: Test
    source: Source
    start: int


class KnownTests:
    """Tests that were right, by their text and by what they are decided by."""

    def __init__(self) -> None:
        self.kept: dict[Hashable, Kept] = {}

    def checked(
        self, node: tree.Test, scope: Scope, time_scale: float, common: Hashable
    ) -> Test | None:
        """What the checker makes of a test. `common` is all else that decides it."""
        text = node.span.text
        before = sum(1 for i in scope.module.file.items if _stands_before(i, node))
        key = text, before, common
        known = self.kept.get(key)
        if known and not OF_ANOTHER.search(text):
            return _moved(known, node)
        errors = scope.findings.error_count
        made = checked(node, scope, time_scale)
        if made and scope.findings.error_count == errors:
            if len(self.kept) >= MOST_KEPT:
                self.kept.clear()
            self.kept[key] = Kept(made, node.span.source, node.span.start)
        return made


def _stands_before(item: tree.Item, node: tree.Test) -> bool:
    return not isinstance(item, tree.Test) and item.span.start < node.span.start


def _moved(known: Kept, node: tree.Test) -> Test:
    """The test where it stands now: warnings tell of its runs."""
    by = node.span.start - known.start
    if not by:
        return known.test
    source = node.span.source
    steps = tuple(_moved_step(step, by, source) for step in known.test.steps)
    return replace(known.test, steps=steps)


def _moved_step(step: StepTemplate, by: int, source: Source) -> StepTemplate:
    if isinstance(step, RunTemplate):
        span = Span(source, step.span.start + by, step.span.end + by)
        return replace(step, span=span)
    if isinstance(step, RepeatTemplate):
        inner = tuple(_moved_step(one, by, source) for one in step.steps)
        return replace(step, steps=inner)
    return step
