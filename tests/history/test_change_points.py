"""Where a series changes: what is known of it, and what chance makes of it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ioplan.history.change_points import change_points
from ioplan.history.cuts import GUARD
from synthetic_history import NOISE, is_found, noise, plan_values, series_of, with_step

from ioplan.core.shared_variance import Variance

SERIES, SESSIONS = 150, 23
"""Of each of them, so many: more than 5 % of 150 by chance in one of 20 tests."""
MOST = 13
STEP = float(np.log(1.05))


def at(values: list[float] | np.ndarray, prior: Variance | None = None) -> list[int]:
    return [one.at for one in change_points(list(values), prior)]


def quiet(levels: dict[int, float], seed: int = 1) -> np.ndarray:
    """Levels for so many sessions each, with noise of 0.2 %."""
    parts = [np.full(count, level) for count, level in levels.items()]
    values = np.concatenate(parts)
    return values + 0.002 * np.random.default_rng(seed).normal(size=len(values))


def test_clear_changes_are_where_they_are() -> None:
    assert at(quiet({12: 1.0, 9: 1.05})) == [12]
    assert at(quiet({12: 1.0, 9: 1.05, 14: 0.99})) == [12, 21]
    visit = quiet({20: 1.0, 10: 1.05})
    assert at([*visit, *quiet({21: 1.0}, 2)]) == [20, 30]
    assert at(quiet({30: 1.0})) == []


@pytest.mark.parametrize("newest", [1, 2, 3])
def test_two_sessions_after_a_change_are_needed(newest: int) -> None:
    """A single outlier at the end is none, however large; two of them are."""
    values = quiet({20: 1.0, newest: 1.5})
    assert at(values) == ([20] if newest >= GUARD else [])


def test_an_outlier_is_no_change() -> None:
    values = quiet({30: 1.0})
    values[14] += 1.0
    assert at(values) == []


def test_figures_that_are_all_the_same_are_one_level() -> None:
    """As those of the simulated drive; a change between them is one."""
    assert at([2.0] * 20) == []
    assert at([2.0] * 20 + [2.1] * 3) == [20]
    assert at([]) == at([1.0]) == at([1.0, 1.0, 2.0]) == []


@given(
    st.lists(st.floats(-5, 5, allow_nan=False), max_size=40),
    st.none() | st.builds(Variance, st.floats(1e-6, 1.0), st.floats(2, 100)),
)
@settings(max_examples=40, deadline=None)
def test_changes_are_in_order_and_apart(
    values: list[float], prior: Variance | None
) -> None:
    found = change_points(values, prior)
    ends = [0, *(one.at for one in found), len(values)]
    assert all(other - one >= 1 for one, other in pairwise(ends)) or not found
    assert all(0 < one.chance <= 0.05 for one in found)
    if found:
        assert found[-1].at <= len(values) - GUARD
    assert found == change_points(values, prior)


@pytest.mark.parametrize("kind", ["independent", "heavy-tailed"])
@pytest.mark.parametrize("prior", [None, Variance(NOISE**2, 32.0)])
def test_a_series_that_does_not_change_is_called_in_5_percent_at_most(
    kind: str, prior: Variance | None
) -> None:
    rng = np.random.default_rng(len(kind))
    rows = NOISE * noise(rng, kind, SERIES, SESSIONS)
    assert sum(bool(at(row, prior)) for row in rows) <= MOST


def test_a_step_of_5_percent_in_noise_of_2_is_found_within_three_sessions() -> None:
    """The noise is learned from the other cells of the plan."""
    rng, plans = np.random.default_rng(4), 40
    found = sum(
        is_found(
            with_step(plan_values(rng, "independent", 8, SESSIONS), 0.05, 3),
            SESSIONS - 3,
            (SESSIONS - 1, SESSIONS),
        )
        for _ in range(plans)
    )
    assert found >= 0.75 * plans


def test_what_others_have_shown_finds_more() -> None:
    """Eight sessions by themselves tell little of their noise."""
    rng = np.random.default_rng(6)
    rows = NOISE * rng.normal(size=(80, 8))
    rows[:, -3:] += STEP
    alone = sum(bool(at(row)) for row in rows)
    helped = sum(bool(at(row, Variance(NOISE**2, 32.0))) for row in rows)
    assert helped > alone + 8


def test_a_plans_cells_tell_each_other_their_noise() -> None:
    rng = np.random.default_rng(2)
    one = series_of(plan_values(rng, "independent", 1, 3))[0]
    assert one.why and not one.changes
    (first, *_) = series_of(plan_values(rng, "independent", 12, 30))
    assert first.noise_percent == pytest.approx(100 * NOISE, rel=0.3)
