"""Checks the `where` of a seek: what must hold of a run for a value to count."""

from __future__ import annotations

from ioplan.language.checker.outputs import limit_of
from ioplan.language.checker.sweep import Sweep, check_support
from ioplan.language.metric import AT_THE_END, DURING, HOST, Metric
from ioplan.language.plan import Demand, RunTemplate
from ioplan.language.syntax import tree

AFTERWARDS = {*HOST, "verified", "min", "stddev"} - {*AT_THE_END}
"""Known once a run is over; of a seek each run is judged while it goes on."""


def demands_of(
    node: tree.Condition, sweep: Sweep, longest: tuple[RunTemplate, ...]
) -> tuple[Demand, ...]:
    """The parts of the condition, those without errors.

    `longest` are the runs as long as a probe can be: a percentile that not even they
    can tell is an error.
    """
    if isinstance(node, tree.Comparison):
        made = _demand(node, sweep)
        if made and sweep.whole and sweep.complete:
            check_support(made.metric, node.name.span, longest, sweep)
        return (made,) if made else ()
    if node.operator != "and":
        sweep.findings.error(
            f"all parts of a seek's condition must be true: {node.operator!r} has no "
            "place",
            node.span,
            "write: where p99 <= 1ms and iops >= 500 iops",
        )
        return ()
    return tuple(one for part in node.parts for one in demands_of(part, sweep, longest))


def asks_of_phase(node: tree.Condition | None) -> bool:
    """Whether a part of the condition is of a phase: then each run goes on for all of
    its time, so that a rate may change in it."""
    if isinstance(node, tree.Junction):
        return any(map(asks_of_phase, node.parts))
    return node is not None and DURING in node.name.text


def _demand(node: tree.Comparison, sweep: Sweep) -> Demand | None:
    metric = _metric(node.name, sweep)
    if not isinstance(node.value, tree.Atom):
        sweep.findings.error(
            f"{node.name.text} is compared with one value", node.value.span
        )
        return None
    limit = sweep.scope.quantity(node.value, "the condition of a seek")
    if metric is None or limit is None:
        return None
    value = sweep.scope.parameters.guarded(
        node.value.span, lambda: limit_of(limit, metric)
    )
    if value is None:
        return None
    return Demand(
        metric=metric,
        operator=node.operator.text,
        limit=value,
        text=f"{metric} {node.operator.text} {limit.text}",
    )


def _metric(word: tree.Word, sweep: Sweep) -> Metric | None:
    if word.text == sweep.sought:
        sweep.findings.error(
            f"{word.text!r} is what is sought",
            word.span,
            "its range is set with: in A..B",
        )
        return None
    metric = sweep.metric(word, None)
    if metric and metric.name in AFTERWARDS:
        sweep.findings.error(
            f"{metric.name!r} is known only at the end of a run, but a seek evaluates "
            "runs while they are in progress",
            word.span,
            "check it afterwards: expect …",
        )
        return None
    return metric
