"""Checks `after`: the state that a test, or a part of it, starts from."""

from __future__ import annotations

from ioplan.language import tree
from ioplan.language.plan import After
from ioplan.language.preconditions import precondition
from ioplan.language.scope import Open, Scope
from ioplan.language.sweep import Sweep
from ioplan.language.timing import split
from ioplan.language.workloads import workload


def after_of(
    node: tree.After, sweep: Sweep, has_rounds: bool, time_scale: float
) -> After | None:
    """The precondition and its place, or None after errors."""
    words = [node.name, *([node.then] if node.then else [])]
    made = [precondition(word, sweep.scope, time_scale) for word in words]
    if node.before_each:
        _check_each(node.before_each, sweep, has_rounds)
    for word in words:
        _check_fixed(word, sweep)
    states = [one for one in made if one]
    if len(states) < len(words):
        return None
    return After(
        precondition=states[0],
        then=states[1] if node.then else None,
        before_each=node.before_each.text if node.before_each else None,
    )


def _check_each(word: tree.Word, sweep: Sweep, has_rounds: bool) -> None:
    sweep.check_varied(word, "run", "round")
    if word.text == "round" and not has_rounds:
        sweep.findings.error("this test has no rounds", word.span)


def _check_fixed(word: tree.Word, sweep: Sweep) -> None:
    """A state is one state: no axis decides what a precondition does."""
    for name in _depends(word.text, sweep.scope):
        sweep.findings.error(
            f"the precondition {word.text!r} uses {name!r}, which this test varies",
            word.span,
            "a precondition is the same for all cells",
        )


def _depends(name: str, scope: Scope) -> list[str]:
    """The axes of a test that a precondition would depend on."""
    opened = Open(params=scope.open.params, names=scope.open.names)
    if opened.params:
        with scope.findings.unsaid():
            _touch_all(name, Scope(scope.module, scope.parameters, opened), set())
    return sorted(opened.used)


def _touch_all(name: str, scope: Scope, seen: set[int]) -> None:
    found = scope.module.find(name)
    if not found or not isinstance(found[0], tree.Precondition) or id(found[0]) in seen:
        return
    seen.add(id(found[0]))
    inside = scope.within(found[1])
    for step in found[0].steps:
        if isinstance(step, tree.Named):
            _touch_all(step.name.text, inside, seen)
        elif isinstance(step, tree.Idle):
            inside.amount(step.pause)
        elif isinstance(step, tree.Write):
            _touch(step, inside)


def _touch(step: tree.Write, scope: Scope) -> None:
    clauses, timing = split(step.spec, scope)
    workload(clauses, step.spec, scope)
    for clause in timing.values():
        for atom in clause.atoms:
            scope.amount(atom)
