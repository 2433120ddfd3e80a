"""Lints that the plan alone shows, as warnings at their place in the text."""

from __future__ import annotations

from ioplan.language.bind.references import runs_in
from ioplan.language.errors.diagnostic import Diagnostic, Severity, in_order
from ioplan.language.lints.lints import lints
from ioplan.language.plan import CheckedPlan, WriteStep


def warnings_of(plan: CheckedPlan) -> list[Diagnostic]:
    """Each once for each run of the text, in its order."""
    found: dict[tuple[str, str, int], Diagnostic] = {}
    for one in lints(plan):
        if not one.parts:
            span = one.run.span
            severity: Severity = "error" if one.is_error else "warning"
            key = one.kind, span.source.name, span.start
            made = Diagnostic(one.text, span, one.help, severity)
            found.setdefault(key, made)
    return in_order(found.values())


def errors_of(plan: CheckedPlan) -> list[Diagnostic]:
    """What no run of the plan can reach, whatever its target is."""
    found = warnings_of(plan) if _is_bounded(plan) else []
    return [one for one in found if one.severity == "error"]


def _is_bounded(plan: CheckedPlan) -> bool:
    """Whether anything is to become steady within some passes."""
    states = [test.after for test in plan.tests if test.after]
    parts = [p for one in states for p in (one.precondition, one.then) if p]
    writes = [s for p in parts for s in p.steps if isinstance(s, WriteStep)]
    runs = [one for test in plan.tests for one in runs_in(test.steps)]
    of_writes = any(one.rule and one.passes for one in writes)
    return of_writes or any(one.rule and one.passes for one in runs)
