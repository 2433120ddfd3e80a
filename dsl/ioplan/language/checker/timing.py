"""Checks how long a step goes on: `for`, `warmup`, passes, `until steady`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ioplan.language.checker.scope import Scope
from ioplan.language.fields import of_kind, percent
from ioplan.language.metric import Metric, MetricError, parse_metric
from ioplan.language.plan import Amount, SteadyRule
from ioplan.language.quantity import Kind, Quantity, QuantityError
from ioplan.language.syntax import tree

TIMING = (
    *("for", "warmup", "until", "at least", "at most", "over", "range", "slope"),
    *("passes", "cut", "event", "interval"),
)
"""Clauses that say how long, not what; the step that they stand in takes them."""
LEAST_WINDOW = 2

Timing = dict[str, tree.Clause]


def split(spec: tree.Spec, scope: Scope) -> tuple[list[tree.Clause], Timing]:
    """What a workload is, and how long it goes on; each but events said once."""
    asked: list[tree.Clause] = []
    timing: Timing = {}
    for clause in spec.clauses:
        kind = _kind(clause, scope)
        if kind not in TIMING:
            asked.append(clause)
        elif kind in timing and kind != "event":
            scope.findings.twice(repr(kind), clause.span, timing[kind].span)
        else:
            timing[kind] = clause
    return asked, timing


def _kind(clause: tree.Clause, scope: Scope) -> str:
    """`passes` have no keyword: the quantity tells."""
    if clause.kind != "value" or clause.head:
        return clause.kind
    atom = clause.atoms[0]
    if atom.kind == "quantity":
        return "passes" if "pass" in atom.text else "value"
    return "passes" if scope.kind_of_atom(atom) == "passes" else "value"


def only(timing: Timing, allowed: tuple[str, ...], where: str, scope: Scope) -> None:
    """Refuse clauses that are not allowed here."""
    for kind, clause in timing.items():
        if kind not in allowed:
            shown = kind if kind not in ("value", "base") else clause.span.text
            scope.findings.error(
                f"{shown!r} is not allowed in {where}",
                clause.span,
                f"allowed here: {', '.join(allowed)}",
            )


def amount_of(timing: Timing, kind: str, scope: Scope, *kinds: Kind) -> Amount | None:
    """The amount of a clause, if it is said."""
    clause = timing.get(kind)
    if clause is None:
        return None
    amount = scope.of_kind(clause.atoms[0], f"{kind!r}", *kinds)
    if amount is not None:
        scope.judged(amount, clause.atoms[0], _some(kind))
    return amount


def _some(kind: str) -> Callable[[Quantity], Quantity]:
    def judge(quantity: Quantity) -> Quantity:
        if not quantity.value:
            raise QuantityError(f"{kind!r} is more than 0")
        return quantity

    return judge


def steady_rule(timing: Timing, metric: Metric, scope: Scope) -> SteadyRule:
    """SNIA's rule, or what the plan says instead of it."""
    said = {
        "window": _read(timing, "over", _window, scope),
        "range_percent": _read(timing, "range", _limit, scope),
        "slope_percent": _read(timing, "slope", _limit, scope),
    }
    changed: dict[str, Any] = {
        field: value for field, value in said.items() if value is not None
    }
    return SteadyRule(metric=metric, **changed)


def _read(
    timing: Timing, kind: str, read: Callable[[Quantity], float], scope: Scope
) -> float | None:
    clause = timing.get(kind)
    quantity = scope.quantity(clause.atoms[0], f"{kind!r}") if clause else None
    if clause is None or quantity is None:
        return None
    return scope.parameters.guarded(clause.atoms[0].span, lambda: read(quantity))


def _window(quantity: Quantity) -> int:
    window = of_kind(quantity, "'over'", "number").whole
    if window is None or not LEAST_WINDOW <= window <= 1000:
        raise QuantityError(f"'over' is a number of rounds from {LEAST_WINDOW} to 1000")
    return window


def _limit(quantity: Quantity) -> float:
    return percent(quantity, "a limit")


def metric_of(
    word: tree.Word,
    streams: tuple[str, ...],
    scope: Scope,
    steps: tuple[str, ...] = (),
) -> Metric | None:
    """The metric of that name, or None and an error."""
    try:
        return parse_metric(word.text, streams, steps)
    except MetricError as error:
        scope.findings.error(
            str(error),
            word.span,
            "metrics: iops bandwidth mean min max stddev p50 … p99.999 errors cpu",
        )
        return None
