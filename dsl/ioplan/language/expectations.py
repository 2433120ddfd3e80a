"""Checks `expect`: what must hold."""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.language import tree
from ioplan.language.fields import of_kind
from ioplan.language.metric import Metric
from ioplan.language.plan import Expectation
from ioplan.language.quantity import Kind, Quantity
from ioplan.language.support import check_support
from ioplan.language.sweep import Sweep


def expectations_of(
    nodes: list[tree.Expect], sweep: Sweep, time_scale: float
) -> Iterator[Expectation]:
    """The expectations without errors.

    A plan whose times were scaled is a rehearsal: whether its runs are long enough
    the verdict tells.
    """
    for node in nodes:
        made = _expectation(node, sweep)
        if made and time_scale == 1 and sweep.whole and sweep.complete:
            cells = sweep.matrix.cells(made.when)
            check_support(made.metric, node, sweep.runs, cells, sweep.scope)
        if made:
            yield made


def _expectation(node: tree.Expect, sweep: Sweep) -> Expectation | None:
    when, usable = sweep.when(node.condition)
    metric = sweep.metric(node.metric, when)
    limit = sweep.scope.quantity(node.limit, "an expectation's limit")
    if metric is None or limit is None or not usable:
        return None
    checked = sweep.scope.parameters.guarded(
        node.limit.span, lambda: _limit(limit, metric, node.of_baseline)
    )
    if checked is None:
        return None
    return Expectation(
        metric=metric,
        operator=node.operator.text,
        limit=checked,
        of_baseline=node.of_baseline,
        when=when,
        text=node.span.one_line,
    )


def _limit(limit: Quantity, metric: Metric, of_baseline: bool) -> float:
    """What the metric is compared with. Raises QuantityError."""
    if of_baseline:
        return float(of_kind(limit, "a part of the baseline", "share").value)
    plain = metric.kind == "iops" and limit.kind == "number"
    kind: Kind = "number" if plain else metric.kind  # `iops >= 100000` leaves no doubt
    return float(of_kind(limit, str(metric), kind).value)
