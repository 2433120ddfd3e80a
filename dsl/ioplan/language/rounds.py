"""Checks `rounds`: when all of a test has been repeated often enough."""

from __future__ import annotations

from itertools import islice

from ioplan.language import tree
from ioplan.language.fields import count
from ioplan.language.matrix import cell_text
from ioplan.language.plan import Rounds
from ioplan.language.source import Span
from ioplan.language.sweep import Sweep
from ioplan.language.timing import Timing, only, steady_rule

MOST_ROUNDS = 100_000
ROUNDS_TIMING = ("until", "at most", "over", "range", "slope")


def rounds_of(node: tree.Rounds, sweep: Sweep) -> Rounds | None:
    """The rounds, or None after errors."""
    timing: Timing = {}
    for clause in node.clauses:
        if clause.kind in timing:
            sweep.findings.error(f"{clause.kind!r} is said twice", clause.span)
        timing.setdefault(clause.kind, clause)
    only(timing, ROUNDS_TIMING, "rounds", sweep.scope)
    return _rounds(node, timing, sweep)


def _rounds(node: tree.Rounds, timing: Timing, sweep: Sweep) -> Rounds | None:
    until, most = timing["until"], timing.get("at most")
    if until.atoms:
        sweep.findings.error(
            "rounds are judged after each round; 'every' has no place here",
            until.atoms[0].span,
        )
    if most is None:
        sweep.findings.error(
            "rounds need to know when to give up", node.span, "add: at most 25"
        )
        return None
    at_most = _count(most, sweep)
    when, usable = sweep.when(until.condition)
    metric = sweep.metric(until.words[0], when)
    if metric is None or at_most is None or not usable:
        return None
    rule = steady_rule(timing, metric, sweep.scope)
    if at_most < rule.window:
        sweep.findings.error(
            f"{at_most} rounds cannot fill a window of {rule.window}", most.span
        )
    made = Rounds(rule=rule, when=when, at_most=at_most, text=node.span.one_line)
    _check_tracked(made, until.span, sweep)
    return made


def _count(clause: tree.Clause, sweep: Sweep) -> int | None:
    atom = clause.atoms[0]
    quantity = sweep.scope.quantity(atom, "'at most'")
    if quantity is None:
        return None
    return sweep.scope.parameters.guarded(
        atom.span, lambda: count(quantity, "'at most'", MOST_ROUNDS)
    )


def _check_tracked(rounds: Rounds, span: Span, sweep: Sweep) -> None:
    """One cell is tracked, and the plan says which."""
    tracked = list(islice(sweep.matrix.cells(rounds.when), 2))
    if len(tracked) < 2 or not sweep.whole:
        return
    sweep.findings.error(
        "rounds track one cell; here they track several",
        span,
        f"name it: until steady {rounds.rule.metric} when {cell_text(tracked[0])}",
    )
