"""The planner prepares less, and still every test starts from what it asked for."""

from __future__ import annotations

import itertools
from collections import defaultdict
from pathlib import Path

import pytest
from savings import SUITES, first_runs, state_before

NEAR = 0.04
"""A state that was reached by random writes until steady comes so near to itself."""


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
