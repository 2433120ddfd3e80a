"""What must hold for any text at all: the only error is a PlanError, and it renders.

The one place that says so, for Hypothesis and for the coverage-guided fuzzer.
"""

import json
from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict

from ioplan import PlanError
from ioplan.language import (
    CheckedPlan,
    Source,
    check,
    format_text,
    installed_plans,
    parse,
)
from ioplan.language.syntax.source import Span, comments_of
from ioplan.language.syntax.tree import Node

ROOTS = (installed_plans(),)
NO_SETTINGS: Mapping[str, str] = {}


def survives(text: str, settings: Mapping[str, str] = NO_SETTINGS) -> None:
    """Check and format any text."""
    plan = checked(text, settings)
    written = formatted(text)
    if written is None:
        assert plan is None, "what the checker takes, the formatter takes"
        return
    assert formatted(written) == written
    assert shape(written) == shape(text)
    assert sorted(c.text for c in comments_of(written)) == sorted(
        c.text for c in comments_of(text)
    )
    again = checked(written, settings)
    assert (plan is None) == (again is None)


def checked(text: str, settings: Mapping[str, str] = NO_SETTINGS) -> CheckedPlan | None:
    """The checked plan, or None after errors that can be shown."""
    try:
        return check(Source("fuzz.ioplan", text), ROOTS, settings)
    except PlanError as error:
        shows(error)
        return None


def formatted(text: str) -> str | None:
    """The formatted text, or None after errors that can be shown."""
    try:
        return format_text(text)
    except PlanError as error:
        shows(error)
        return None


def shows(error: PlanError) -> None:
    """Every diagnostic says something, renders and becomes JSON."""
    assert error.diagnostics
    assert str(error)
    for found in error.diagnostics:
        as_json = found.as_json()
        json.dumps(as_json)
        assert found.message
        assert as_json["line"] >= 1 and as_json["column"] >= 1
        assert 0 <= found.span.start <= found.span.end <= len(found.span.source.text)
        assert "\x1b" not in found.render()


def shape(text: str) -> Any:
    """A text's tree without places, and with quantities squeezed."""
    return _bare(parse(Source("", text))[0].items)


def _bare(node: Any) -> Any:
    if isinstance(node, tuple):
        return tuple(_bare(part) for part in node)
    if not isinstance(node, Node):
        return node
    parts = {
        name: _bare(value)
        for name, value in asdict(node).items()
        if not isinstance(value, Span)
    }
    if parts.keys() == {"kind", "text", "parts"}:
        parts["text"] = "".join(parts["text"].split())
    return type(node).__name__, parts
