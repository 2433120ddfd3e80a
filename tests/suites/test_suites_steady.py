"""What asks for steady state has room for it: its window fits behind what it waits for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from suite_rows import PLANS, TB, plan_of

from ioplan.language import CheckedPlan, RunTemplate, Test, WriteStep
from ioplan.language.bind.bind import amount_of
from ioplan.language.checker.run_steps import flat

SLOW, FAST = 180e6, 3.2e9
"""Bytes per second: what a slow drive sustains, what a fast one fills with at most."""


def rooms(plan: CheckedPlan) -> Iterator[tuple[str, float]]:
    """How many windows of each rule fit, on 1 TB, with what asks for it."""
    for test in plan.tests:
        if test.rounds:
            yield test.title, test.rounds.at_most / test.rounds.rule.window
        yield from _runs(test)
        after = (test.after.precondition, test.after.then) if test.after else ()
        for step in (step for one in after if one for step in one.steps):
            if isinstance(step, WriteStep) and step.rule:
                every_s = (step.every_ns or 0) / 1e9
                most = step.passes if step.passes is not None else float("inf")
                left_s = (most - step.rule.least_passes) * TB / FAST
                yield f"{test.title}: {step.text}", left_s / every_s / step.rule.window


def _runs(test: Test) -> Iterator[tuple[str, float]]:
    for run in flat(test.steps):
        if not isinstance(run, RunTemplate) or not run.rule or not run.every:
            continue
        every_s = float(run.every.value) / 1e9
        least = run.rule.least_passes
        left_s = []
        if run.limit is not None or run.run is not None:
            limit = run.limit if run.limit is not None else run.run
            assert limit is not None
            longest_s = float(amount_of(limit, {}).value) / 1e9
            left_s.append(longest_s - least * TB / SLOW)
        if run.passes is not None:
            most = float(amount_of(run.passes, {}).value)
            left_s.append((most - least) * TB / FAST)
        yield f"{test.title}: {run.text}", min(left_s) / every_s / run.rule.window


@pytest.mark.parametrize("profile", ["full", "short"])
@pytest.mark.parametrize("suite", [name for name in PLANS])
def test_a_window_fits_behind_what_it_waits_for(suite: str, profile: str) -> None:
    for what, windows in rooms(plan_of(PLANS[suite], profile)):
        assert windows >= 1, (what, windows)
