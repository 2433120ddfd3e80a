"""What asks for steady state has room for it: its window fits behind what it waits for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from suite_rows import PLANS, TB, plan_of

from ioplan.language import CheckedPlan, WriteStep
from ioplan.planner import Prepare, Run, unfold

SLOW, FAST = 180e6, 3.2e9
"""Bytes per second: what a slow drive sustains, what a fast one fills with at most."""


def rooms(plan: CheckedPlan) -> Iterator[tuple[str, float]]:
    """How many windows of each rule fit, on 1 TB, with what asks for it."""
    for test in plan.tests:
        if test.rounds:
            yield test.title, test.rounds.at_most / test.rounds.rule.window
    for step in unfold(plan):
        if isinstance(step, Run) and step.template.rule and step.every_ns:
            rule, length = step.template.rule, step.length
            left_s = []
            if length.run_ns is not None:
                left_s.append(length.run_ns / 1e9 - rule.least_passes * TB / SLOW)
            if length.passes is not None:
                left_s.append((length.passes - rule.least_passes) * TB / FAST)
            windows = min(left_s) / (step.every_ns / 1e9) / rule.window
            yield f"{step.test.title}: {step.template.text}", windows
        one = step.step if isinstance(step, Prepare) else None
        if isinstance(one, WriteStep) and one.rule:
            every_s = (one.every_ns or 0) / 1e9
            most = one.passes if one.passes is not None else float("inf")
            left = (most - one.rule.least_passes) * TB / FAST
            yield f"{step.test.title}: {one.text}", left / every_s / one.rule.window


@pytest.mark.parametrize("profile", ["full", "short"])
@pytest.mark.parametrize("suite", [name for name in PLANS])
def test_a_window_fits_behind_what_it_waits_for(suite: str, profile: str) -> None:
    for what, windows in rooms(plan_of(PLANS[suite], profile)):
        assert windows >= 1, (what, windows)
