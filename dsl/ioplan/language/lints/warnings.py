"""Lints that the plan alone shows, as warnings at their place in the text."""

from __future__ import annotations

from ioplan.language.errors.diagnostic import Diagnostic, in_order
from ioplan.language.lints.lints import lints
from ioplan.language.plan import CheckedPlan


def warnings_of(plan: CheckedPlan) -> list[Diagnostic]:
    """Each once for each run of the text, in its order."""
    found: dict[tuple[str, str, int], Diagnostic] = {}
    for one in lints(plan):
        if not one.parts:
            span = one.run.span
            key = one.kind, span.source.name, span.start
            made = Diagnostic(one.text, span, one.help, "warning")
            found.setdefault(key, made)
    return in_order(found.values())
