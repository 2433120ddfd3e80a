"""Checks tests: what varies, the steps, what must hold, what is shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from msgspec.structs import replace

from ioplan.core.text import did_you_mean
from ioplan.language.checker.modules import Definition, Module
from ioplan.language.checker.outputs import charts_of, expectations_of, headlines_of
from ioplan.language.checker.preconditions import in_test, precondition
from ioplan.language.checker.run_steps import StepChecker, check_size, flat
from ioplan.language.checker.scope import AxisNames, Scope
from ioplan.language.checker.seek.seek_clause import (
    at_highest,
    axis_node,
    check_references,
    seek_of,
)
from ioplan.language.checker.steady_clause import rounds_of
from ioplan.language.checker.streams.stream_builder import alternatives, overridden_by
from ioplan.language.checker.sweep import Sweep, skipping, sweep_of
from ioplan.language.checker.timing import split
from ioplan.language.checker.workloads import workload
from ioplan.language.clause_table import AXIS_FIELDS
from ioplan.language.errors.collector import Findings
from ioplan.language.foreign_words import WRITTEN
from ioplan.language.plan import (
    After,
    Amount,
    Axis,
    IdleTemplate,
    RepeatTemplate,
    RunTemplate,
    StepTemplate,
    Test,
    axes_of,
)
from ioplan.language.syntax import tree


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
    opened = AxisNames(params=scope.axis_names.params, names=scope.axis_names.names)
    if opened.params:
        with scope.findings.suppressed():
            found = in_test(name, scope)
            _touch_all(found, Scope(scope.module, scope.parameters, opened), set())
    return sorted(opened.used)


def _touch_all(
    found: tuple[Definition, Module] | None, scope: Scope, seen: set[int]
) -> None:
    if not found or not isinstance(found[0], tree.Precondition) or id(found[0]) in seen:
        return
    seen.add(id(found[0]))
    inside = scope.within(found[1])
    for step in found[0].steps:
        if isinstance(step, tree.Named):
            _touch_all(found[1].find(step.name.text), inside, seen)
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


def note_used(steps: list[StepTemplate], sweep: Sweep) -> None:
    """A name that a definition uses and a step overrides decides nothing."""
    if sweep.complete:
        amounts = (*_amounts(steps), *(a for run in sweep.runs for a in _timing(run)))
        names = {name for amount in amounts for name in axes_of(amount)}
        used = sweep.scope.axis_names.used
        used.clear()
        used |= names | {name for run in sweep.runs for name in _refs(run, sweep)}


def _amounts(steps: list[StepTemplate]) -> Iterator[Amount]:
    for step in flat(steps):
        if isinstance(step, IdleTemplate):
            yield step.pause
        elif isinstance(step, RepeatTemplate):
            yield step.times


def _timing(run: RunTemplate) -> tuple[Amount | None, ...]:
    return run.run, run.limit, run.passes, run.warmup


def _refs(run: RunTemplate, sweep: Sweep) -> Iterator[str]:
    for template in alternatives(run.workload, sweep.matrix.axes):
        for stream in template.streams:
            for amount in overridden_by(stream, run.override).refs.values():
                yield from axes_of(amount)


def check_used(sweep: Sweep) -> None:
    """An axis that nothing uses is a slip of the pen."""
    for what in sweep.dimensions:
        if what.field is None and what.name not in sweep.scope.axis_names.used:
            _unused(what.word, sweep)
        elif what.stream:
            sweep.check_stream(what.stream, what.word, None)


def _unused(word: tree.Word, sweep: Sweep) -> None:
    meant = WRITTEN.get(word.text, "").partition(" ")[0]
    here = meant in AXIS_FIELDS
    near = "" if here else did_you_mean(word.text, AXIS_FIELDS)
    sweep.findings.unknown(
        word.text,
        f"no step uses {word.text!r}, and no field has that name{near}",
        word.span,
        f"write: vary {meant} in …" if here else f"fields: {' '.join(AXIS_FIELDS)}",
    )


Node = TypeVar("Node", bound=tree.Node)


def checked(node: tree.Test, scope: Scope, time_scale: float) -> Test | None:
    """The checked test, or None after errors."""
    findings = scope.findings
    before = findings.error_count
    seeks = _all(tree.Seek, node)[:1]
    sweep = sweep_of(
        [*_all(tree.Vary, node), *map(axis_node, seeks)], _rests(node), scope
    )
    axes = sweep.matrix.axes
    checker = StepChecker(sweep)
    steps = checker.steps(s for s in node.statements if isinstance(s, tree.Step))
    for seek in seeks:
        sweep = at_highest(sweep, seek.name.text)
    check_size(steps, sweep, node.title.span)
    sweep = skipping(sweep, _all(tree.Skip, node))
    complete = findings.error_count == before
    sweep = replace(sweep, runs=tuple(checker.runs), complete=complete)
    note_used(steps, sweep)
    check_references(sweep)
    made = _test(node, sweep, axes, steps, time_scale)
    check_used(sweep)
    _check_runs(node, findings)
    return made if findings.error_count == before else None


def _test(
    node: tree.Test,
    sweep: Sweep,
    axes: tuple[Axis, ...],
    steps: list[StepTemplate],
    time_scale: float,
) -> Test:
    """The test, right or wrong; `axes` have all values of the one that is sought."""
    has_rounds = bool(_all(tree.Rounds, node))
    after = _one(tree.After, "after", node, sweep.findings)
    start = after_of(after, sweep, has_rounds, time_scale) if after else None
    rounds = _one(tree.Rounds, "rounds", node, sweep.findings)
    if rounds and any(run.rule for run in sweep.runs):
        sweep.findings.error(
            "'until steady' is allowed for the rounds or for a run, not both",
            rounds.span,
        )
    made_rounds = rounds_of(rounds, sweep) if rounds else None
    if made_rounds and made_rounds.is_drawn and start:
        _check_drawn(start, after, sweep)
    seek = _one(tree.Seek, "seek", node, sweep.findings)
    if rounds and seek:
        sweep.findings.error(
            "a test can have rounds or a seek, not both", seek.span, "make it two tests"
        )
    return Test(
        title=node.title.text,
        after=start,
        axes=tuple(a for a in sweep.matrix.axes if a.names != (sweep.sought,)),
        steps=tuple(steps),
        skip=sweep.matrix.skips,
        rounds=made_rounds,
        seek=seek_of(seek, axes, steps, sweep) if seek else None,
        expectations=tuple(expectations_of(_all(tree.Expect, node), sweep, time_scale)),
        headlines=tuple(headlines_of(_all(tree.Headline, node), sweep)),
        charts=tuple(charts_of(_all(tree.Chart, node), sweep)),
        time_scale=time_scale,
        text=node.span.text,
    )


def _check_drawn(start: After, node: tree.After | None, sweep: Sweep) -> None:
    """What is prepared before each value of an axis has its cells side by side."""
    if node and start.before_each not in (None, "run", "round"):
        text = f"'before each {start.before_each}' needs the order that 'vary' gives"
        sweep.findings.error(text, node.span, "remove: order drawn")


def _rests(node: tree.Test) -> frozenset[str]:
    """The names that say how long a test rests."""
    steps = (step for step in flat(node.statements) if isinstance(step, tree.Idle))
    return frozenset(name for step in steps for name in tree.names_in(step.pause))


def _all(kind: type[Node], node: tree.Test) -> list[Node]:
    """The statements of a kind."""
    return [s for s in node.statements if isinstance(s, kind)]


def _one(
    kind: type[Node], keyword: str, node: tree.Test, findings: Findings
) -> Node | None:
    """The statement of a kind of which there is one at most."""
    found = _all(kind, node)
    for extra in found[1:]:
        findings.error(f"a test may have only one {keyword!r}", extra.span)
    return found[0] if found else None


def _check_runs(node: tree.Test, findings: Findings) -> None:
    if not any(isinstance(step, tree.Run) for step in flat(node.statements)):
        findings.missing(
            "the test has no run",
            node.title.span,
            node.span,
            "add for example: run random 4KiB 100/0 for 1min",
        )
