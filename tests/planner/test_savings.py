"""The planner prepares less, and still every test starts from what it asked for."""

from __future__ import annotations

import itertools
from collections import defaultdict
from pathlib import Path

import pytest
from savings import SUITES, first_runs, naive, planned, state_before
from suite_rows import PLANS, TB, plan_of

from ioplan.planner import unfold

NEAR = 0.04
"""A state that was reached by random writes until steady comes so near to itself."""


@pytest.mark.parametrize("suite", SUITES)
def test_preparing_once_costs_no_more(suite: str) -> None:
    plan = plan_of(PLANS[suite])
    before, after = naive(plan, TB), planned(plan, TB)
    assert after.run_s <= before.run_s
    assert after.written_bytes <= before.written_bytes
    assert len(list(unfold(plan))) > len(plan.tests)


def test_preparing_once_saves_something() -> None:
    plans = [plan_of(PLANS[suite]) for suite in SUITES]
    saved = [naive(p, TB).written_bytes - planned(p, TB).written_bytes for p in plans]
    assert sum(saved) > TB


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.promise("plans.states")
def test_equal_states_are_equal_to_the_drive(suite: str, tmp_path: Path) -> None:
    """The judge is the simulated drive: what it holds, and how its blocks are filled."""
    states: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for record in first_runs(suite, tmp_path).values():
        assert record.asked.after
        states[record.asked.after.digest].append(state_before(record))
    assert max(map(len, states.values())) > 1
    for first, *others in states.values():
        assert all(other == pytest.approx(first, abs=NEAR) for other in others)
    kinds = [found[0] for found in states.values()]
    assert any(
        one != pytest.approx(other, abs=NEAR)
        for one, other in itertools.combinations(kinds, 2)
    ), "the judge tells different states apart"
