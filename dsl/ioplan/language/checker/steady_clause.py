"""Checks `until steady … every …`: a write or a run that ends once it is steady."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from ioplan.language.bind.matrix import cell_text
from ioplan.language.checker.scope import Scope
from ioplan.language.checker.sweep import Sweep
from ioplan.language.checker.timing import (
    Timing,
    amount_of,
    metric_of,
    only,
    steady_rule,
)
from ioplan.language.fields import count, percent
from ioplan.language.metric import Metric
from ioplan.language.plan import Amount, Rounds, SteadyRule, Within
from ioplan.language.quantity import Kind, Quantity
from ioplan.language.syntax import tree
from ioplan.language.syntax.grammar import OF_UNTIL
from ioplan.language.syntax.source import Span

EVERY: tuple[Kind, ...] = ("time", "share")


class Until(NamedTuple):
    """When it is steady, how often that is judged, and when to give up."""

    rule: SteadyRule
    every: Quantity
    """A time, or a share of a pass."""
    most: Amount


def until_of(timing: Timing, scope: Scope, *kinds: Kind) -> Until | None:
    """What `until` says; `kinds` are what the most can be. None after errors."""
    until = timing["until"]
    metric = metric_of(until.words[0], (), scope)
    if metric and metric.by_interval:
        message = f"{metric} is of a whole run, and no window of it has one"
        scope.findings.error(message, until.words[0].span, f"write: {metric.plain}")
    most = amount_of(timing, "at most", scope, *kinds)
    if until.condition:
        scope.findings.error(
            "'when' selects a cell of a test's rounds; it is not allowed here",
            until.condition.span,
        )
    if not until.atoms or "at most" not in timing:
        scope.findings.error(
            "'until steady' needs an interval and a limit",
            until.span,
            "until steady iops every 1min, at most 4 passes",
        )
        return None
    every = _every(timing, scope)
    if metric is None or every is None or most is None:
        return None
    rule = steady_rule(timing, metric, scope)
    least_passes = _least(timing, most, scope)
    _check_window(rule, every, most, timing, scope)
    return Until(replace(rule, least_passes=least_passes), every, most)


def _check_window(
    rule: SteadyRule, every: Quantity, most: Amount, timing: Timing, scope: Scope
) -> None:
    """Whether the most has room for a window of values, where both are of a kind."""
    if not isinstance(most, Quantity):
        return
    parts = {("time", "time"): 1.0, ("share", "passes"): 100.0}
    part = parts.get((every.kind, most.kind))
    if part and most.value * part < every.value * rule.window:
        scope.findings.error(
            f"'at most' {most.text} cannot fill a window of {rule.window}, one value "
            f"every {every.text}",
            timing["at most"].span,
        )


def _least(timing: Timing, most: Amount, scope: Scope) -> float:
    """How many passes come before anything is judged."""
    if "at least" not in timing:
        return 0.0
    atom = timing["at least"].atoms[0]
    least = scope.without_axes().of_kind(atom, "'at least'", "passes")
    if not isinstance(least, Quantity):
        return 0.0
    bound = most if isinstance(most, Quantity) and most.kind == "passes" else None
    if bound and least.value >= bound.value:
        scope.findings.error(
            f"'at least' {least.text} is not less than 'at most' {bound.text}",
            atom.span,
            "steady state is not evaluated before 'at least'; raise 'at most'",
        )
    return float(least.value)


def _every(timing: Timing, scope: Scope) -> Quantity | None:
    atom = timing["until"].atoms[0]
    every = scope.without_axes().of_kind(atom, "'every'", *EVERY)
    if not isinstance(every, Quantity):
        return None
    if not every.value:
        scope.findings.error("'every' must be more than 0", atom.span)
        return None
    return every


def check_without(timing: Timing, scope: Scope) -> bool:
    """Whether nothing is said that needs an `until`."""
    said = [kind for kind in OF_UNTIL if kind in timing]
    for kind in said[:1]:
        scope.findings.error(f"{kind!r} belongs to 'until steady'", timing[kind].span)
    return not said


MOST_ROUNDS = 100_000
ROUNDS_TIMING = ("until", "at most", "over", "range", "slope")
CELL_TIMING = ("every cell", "at most")
OF_ROUNDS = ("within", "order")
"""What nothing but rounds have."""
LEAST_VALUES = 3
"""The rounds before which no cell is decided."""


def rounds_of(node: tree.Rounds, sweep: Sweep) -> Rounds | None:
    """The rounds, or None after errors."""
    timing: Timing = {}
    for clause in node.clauses:
        if clause.kind in timing:
            sweep.findings.error(f"{clause.kind!r} is given twice", clause.span)
        timing.setdefault(clause.kind, clause)
    allowed = ROUNDS_TIMING if "until" in timing else CELL_TIMING
    rest = {k: c for k, c in timing.items() if k not in OF_ROUNDS}
    only(rest, allowed, "rounds", sweep.scope)
    made = (
        _tracked(node, timing, sweep)
        if "until" in timing
        else _by_cell(node, timing, sweep)
    )
    return replace(made, is_drawn=_is_drawn(timing)) if made else None


def _is_drawn(timing: Timing) -> bool:
    return "order" in timing and timing["order"].words[0].text == "drawn"


def _by_cell(node: tree.Rounds, timing: Timing, sweep: Sweep) -> Rounds | None:
    """`until every cell within 3%`: nothing is tracked."""
    cells = timing["every cell"]
    word = cells.words[0] if cells.words else tree.Word(cells.span, "iops")
    metric, most = sweep.metric(word, None), _most(node, timing, sweep)
    percent = percent_within(cells, sweep)
    if "within" in timing:
        sweep.findings.error("'within' is given twice", timing["within"].span)
    if percent == 0:
        sweep.findings.error("'within' must be more than 0 %", cells.atoms[0].span)
    if metric is None or most is None or not percent:
        return None
    _check_fill(most, LEAST_VALUES, timing, sweep)
    within = Within(metric=metric, percent=percent)
    return Rounds(
        rule=None, when=None, within=within, at_most=most, text=node.span.one_line
    )


def percent_within(clause: tree.Clause, sweep: Sweep) -> float | None:
    quantity = sweep.scope.quantity(clause.atoms[0], "'within'")
    if quantity is None:
        return None
    return sweep.scope.parameters.guarded(
        clause.atoms[0].span, lambda: percent(quantity, "'within'")
    )


def _most(node: tree.Rounds, timing: Timing, sweep: Sweep) -> int | None:
    if "at most" in timing:
        return _count(timing["at most"], sweep)
    sweep.findings.error("rounds need a limit", node.span, "add: at most 25")
    return None


def _check_fill(at_most: int, window: int, timing: Timing, sweep: Sweep) -> None:
    if at_most < window:
        text = f"{at_most} rounds cannot fill a window of {window}"
        sweep.findings.error(text, timing["at most"].span)


def _within(timing: Timing, metric: Metric, sweep: Sweep) -> Within | None:
    """What `within` adds to a tracked cell; 0 % adds nothing."""
    share = percent_within(timing["within"], sweep) if "within" in timing else None
    return Within(metric=metric, percent=share) if share else None


def _tracked(node: tree.Rounds, timing: Timing, sweep: Sweep) -> Rounds | None:
    until = timing["until"]
    if until.atoms:
        sweep.findings.error(
            "rounds are evaluated after each round; 'every' is not allowed here",
            until.atoms[0].span,
        )
    at_most = _most(node, timing, sweep)
    when, usable = sweep.when(until.condition)
    metric = sweep.metric(until.words[0], when)
    if metric is None or at_most is None or not usable:
        return None
    rule = steady_rule(timing, metric, sweep.scope)
    _check_fill(at_most, rule.window, timing, sweep)
    made = Rounds(
        rule=rule,
        when=when,
        within=_within(timing, metric, sweep),
        at_most=at_most,
        text=node.span.one_line,
    )
    _check_tracked(made, str(metric), until.span, sweep)
    return made


def _count(clause: tree.Clause, sweep: Sweep) -> int | None:
    atom = clause.atoms[0]
    quantity = sweep.scope.quantity(atom, "'at most'")
    if quantity is None:
        return None
    return sweep.scope.parameters.guarded(
        atom.span, lambda: count(quantity, "'at most'", MOST_ROUNDS)
    )


def _check_tracked(rounds: Rounds, metric: str, span: Span, sweep: Sweep) -> None:
    """One cell is tracked, and the plan says which."""
    tracked = list(islice(sweep.matrix.cells(rounds.when), 2))
    if len(tracked) < 2 or not sweep.whole:
        return
    sweep.findings.error(
        "steady state is evaluated for one cell, but several match",
        span,
        f"select it: until steady {metric} when {cell_text(tracked[0])}",
    )
