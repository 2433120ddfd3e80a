"""Checks `until steady … every …`: a write or a run that ends once it is steady."""

from __future__ import annotations

from typing import NamedTuple

from ioplan.language.plan import Amount, SteadyRule
from ioplan.language.quantity import Kind, Quantity
from ioplan.language.scope import Scope
from ioplan.language.timing import Timing, amount_of, metric_of, steady_rule

BELONGS = ("at least", "at most", "over", "range", "slope")
"""What nothing but `until steady` has."""


class Until(NamedTuple):
    """When it is steady, how often that is judged, and when to give up."""

    rule: SteadyRule
    every: Quantity
    most: Amount


def until_of(timing: Timing, scope: Scope, *kinds: Kind) -> Until | None:
    """What `until` says; `kinds` are what the most can be. None after errors."""
    until = timing["until"]
    metric = metric_of(until.words[0], (), scope)
    most = amount_of(timing, "at most", scope, *kinds)
    if until.condition:
        scope.findings.error(
            "'when' names a cell of a test's rounds; here it has no place",
            until.condition.span,
        )
    if not until.atoms or "at most" not in timing:
        scope.findings.error(
            "'until steady' needs to know how often it is judged, and when to give up",
            until.span,
            "until steady iops every 1min, at most 4 passes",
        )
        return None
    every = _every(timing, scope)
    if metric is None or every is None or most is None:
        return None
    rule = steady_rule(timing, metric, scope)
    least_passes = _least(timing, most, scope)
    return Until(rule.model_copy(update={"least_passes": least_passes}), every, most)


def _least(timing: Timing, most: Amount, scope: Scope) -> float:
    """How many passes come before anything is judged."""
    if "at least" not in timing:
        return 0.0
    atom = timing["at least"].atoms[0]
    least = scope.closed().of_kind(atom, "'at least'", "passes")
    if not isinstance(least, Quantity):
        return 0.0
    bound = most if isinstance(most, Quantity) and most.kind == "passes" else None
    if bound and least.value >= bound.value:
        scope.findings.error(
            f"'at least' {least.text} leaves nothing of 'at most' {bound.text}",
            atom.span,
            "nothing is judged before 'at least'; raise 'at most'",
        )
    return float(least.value)


def _every(timing: Timing, scope: Scope) -> Quantity | None:
    atom = timing["until"].atoms[0]
    every = scope.closed().of_kind(atom, "'every'", "time")
    if not isinstance(every, Quantity):
        return None
    if not every.value:
        scope.findings.error("'every' is more than 0", atom.span)
        return None
    return every


def check_without(timing: Timing, scope: Scope) -> bool:
    """Whether nothing is said that needs an `until`."""
    said = [kind for kind in BELONGS if kind in timing]
    for kind in said[:1]:
        scope.findings.error(f"{kind!r} belongs to 'until steady'", timing[kind].span)
    return not said
