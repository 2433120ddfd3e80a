"""Checks tests: what varies, the steps, what must hold, what is shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from ioplan.language import tree
from ioplan.language.after import after_of
from ioplan.language.charts import charts_of
from ioplan.language.expectations import expectations_of
from ioplan.language.findings import Findings
from ioplan.language.plan import StepTemplate, Test
from ioplan.language.rounds import rounds_of
from ioplan.language.scope import Scope
from ioplan.language.steps import StepChecker, check_size, flat
from ioplan.language.sweep import Sweep, skipping, sweep_of
from ioplan.language.uses import check_used, note_used

Node = TypeVar("Node", bound=tree.Node)


def checked(node: tree.Test, scope: Scope, time_scale: float) -> Test | None:
    """The checked test, or None after errors."""
    findings = scope.findings
    before = findings.noted
    sweep = sweep_of(_all(tree.Vary, node), scope)
    checker = StepChecker(sweep)
    steps = checker.steps(s for s in node.statements if isinstance(s, tree.Step))
    check_size(steps, sweep, node.title.span)
    sweep = skipping(sweep, _all(tree.Skip, node))
    complete = findings.noted == before
    sweep = replace(sweep, runs=tuple(checker.runs), complete=complete)
    note_used(steps, sweep)
    made = _test(node, sweep, steps, time_scale)
    check_used(sweep)
    _check_runs(node, findings)
    return made if findings.noted == before else None


def _test(
    node: tree.Test, sweep: Sweep, steps: list[StepTemplate], time_scale: float
) -> Test:
    """The test, right or wrong."""
    has_rounds = bool(_all(tree.Rounds, node))
    after = _one(tree.After, "after", node, sweep.findings)
    start = after and after_of(after, sweep, has_rounds, time_scale)
    rounds = _one(tree.Rounds, "rounds", node, sweep.findings)
    if rounds and any(run.rule for run in sweep.runs):
        sweep.findings.error(
            "either the rounds or a run goes on until steady, not both", rounds.span
        )
    return Test.model_construct(
        title=node.title.text,
        after=start,
        axes=sweep.matrix.axes,
        steps=tuple(steps),
        skip=sweep.matrix.skips,
        rounds=rounds and rounds_of(rounds, sweep),
        expectations=tuple(expectations_of(_all(tree.Expect, node), sweep, time_scale)),
        charts=tuple(charts_of(_all(tree.Chart, node), sweep)),
        text=node.span.text,
    )


def _all(kind: type[Node], node: tree.Test) -> list[Node]:
    """The statements of a kind."""
    return [s for s in node.statements if isinstance(s, kind)]


def _one(
    kind: type[Node], keyword: str, node: tree.Test, findings: Findings
) -> Node | None:
    """The statement of a kind of which there is one at most."""
    found = _all(kind, node)
    for extra in found[1:]:
        findings.error(f"a test has one {keyword!r} at most", extra.span)
    return found[0] if found else None


def _check_runs(node: tree.Test, findings: Findings) -> None:
    if not any(isinstance(step, tree.Run) for step in flat(node.statements)):
        findings.missing(
            "the test runs nothing",
            node.title.span,
            node.span,
            "add for example: run random 4KiB 100/0 for 1min",
        )
