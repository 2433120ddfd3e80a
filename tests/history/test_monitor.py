"""Where a series changes: what is known of it, and what chance makes of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view
from synthetic_history import KINDS, NOISE, noise, plan_values, series_of

from ioplan.core.statistics.shared_variance import Variance
from ioplan.results.compare.evidence import budget, log_limit
from ioplan.results.history.ledger import added
from ioplan.results.history.monitor import (
    EXACT,
    GUARD,
    SUSPECTED,
    confirmed,
    signals,
    step_evidence,
)

STEP = float(np.log(1.05))


def steps(values: list[float] | np.ndarray, prior: Variance | None = None) -> list[int]:
    return [one.at for one in confirmed(signals(list(values), prior))]


def ever(values: list[float] | np.ndarray, prior: Variance | None = None) -> bool:
    """Whether any look has confirmed a change."""
    return any(one.state == "confirmed" for one in signals(list(values), prior))


def quiet(levels: dict[int, float], seed: int = 1) -> np.ndarray:
    """Levels for so many sessions each, with noise of 0.2 %."""
    parts = [np.full(count, level) for count, level in levels.items()]
    values = np.concatenate(parts)
    return values + 0.002 * np.random.default_rng(seed).normal(size=len(values))


def test_clear_changes_are_where_they_are() -> None:
    assert steps(quiet({12: 1.0, 9: 1.05})) == [12]
    assert steps(quiet({12: 1.0, 9: 1.05, 14: 0.99})) == [12, 21]
    visit = quiet({20: 1.0, 10: 1.05})
    assert steps([*visit, *quiet({21: 1.0}, 2)]) == [20, 30]
    assert steps(quiet({30: 1.0})) == []


@pytest.mark.parametrize("prior", [None, Variance(NOISE**2, 60.0)])
@pytest.mark.parametrize("far", [0.03, 0.1, 1.5])
def test_one_outlier_is_at_most_suspected_and_then_withdrawn(
    far: float, prior: Variance | None
) -> None:
    values = [*quiet({20: 1.0}), 1.0 + far]
    assert not ever(values, prior)
    after = signals([*values, *quiet({8: 1.0}, 2)], prior)
    assert {one.state for one in after} <= {"suspected", "withdrawn"}
    if after:
        assert [one.state for one in after][-1] == "withdrawn"


def test_a_large_step_is_suspected_and_then_confirmed() -> None:
    found = signals(quiet({20: 1.0, 6: 1.5}))
    assert [(one.state, one.at) for one in found] == [
        ("suspected", 20),
        ("confirmed", 20),
    ]
    assert 20 + GUARD - 1 <= found[-1].seen <= 23


def test_a_step_that_is_left_at_once_leaves_no_standing_change() -> None:
    """Three sessions of another level: none is left, or both of its ends are."""
    rng = np.random.default_rng(8)
    values = 0.02 * rng.normal(size=60)
    values[30:33] += 0.12
    assert steps(values, Variance(NOISE**2, 60.0)) in ([], [30, 33])


@given(st.lists(st.floats(-5, 5, allow_nan=False), max_size=30), st.integers(0, 30))
@settings(max_examples=40, deadline=None)
def test_a_look_says_the_same_whatever_comes_later(
    values: list[float], looks: int
) -> None:
    whole = signals(values)
    assert signals(values[:looks]) == [one for one in whole if one.seen < looks]
    assert all(one.at <= one.seen - GUARD + 1 for one in confirmed(whole))
    assert all(one.at >= GUARD for one in whole)


def test_figures_that_are_all_the_same_are_one_level() -> None:
    """As those of the simulated drive; a change between them is one."""
    assert signals([2.0] * 20) == []
    assert steps([2.0] * 20 + [2.1] * 3) == [20]
    assert steps([]) == steps([1.0]) == steps([1.0, 1.0, 2.0]) == []


@pytest.mark.long_but_first
@pytest.mark.parametrize("kind", KINDS)
def test_150_looks_confirm_hardly_anything_in_series_that_do_not_change(
    kind: str,
) -> None:
    """5 % of 40 are two. A whole year is the benchmark's."""
    rng = np.random.default_rng(len(kind))
    rows = NOISE * noise(rng, kind, 40, 150)
    assert sum(ever(row) for row in rows) <= 3


def test_a_step_of_5_percent_in_noise_of_2_is_confirmed_within_ten_nights() -> None:
    rng = np.random.default_rng(4)
    rows = NOISE * rng.normal(size=(40, 40))
    rows[:, 30:] += STEP
    found = [steps(row, Variance(NOISE**2, 60.0)) for row in rows]
    assert sum(bool(one) for one in found) >= 30
    assert all(abs(one[-1] - 30) <= 3 for one in found if one)


def test_more_series_share_one_false_alarm_a_year() -> None:
    assert budget(1) == budget(20) == 0.05 and budget(300) == 1 / 300
    assert log_limit(300, 3650) > log_limit(300) > log_limit(20)


def test_stored_signals_are_never_rewritten() -> None:
    """Only withdrawn, or added, and dated to the look that did it."""
    values = np.concatenate([quiet({20: 1.0}), quiet({6: 1.2}, 2)])[None]
    (now,) = series_of(values)
    first = list(added([], now))
    assert [one.state for one in first] == ["suspected", "confirmed"]
    assert list(added(first, now)) == []
    other = now.model_copy(update={"signals": ()})
    (gone,) = added(first, other)
    newest = now.points[-1].session
    assert (gone.state, gone.session, gone.seen) == ("withdrawn", "s00020", newest)
    (back,) = added([*first, gone], now)
    assert (back.state, back.session, back.seen) == ("confirmed", "s00020", newest)


def test_a_plans_cells_tell_each_other_their_noise() -> None:
    rng = np.random.default_rng(2)
    one = series_of(plan_values(rng, "independent", 1, 3))[0]
    assert one.why and not one.changes
    (first, *_) = series_of(plan_values(rng, "independent", 12, 30))
    assert first.noise_percent == pytest.approx(100 * NOISE, rel=0.3)


@given(values=st.lists(st.floats(-9, 9), min_size=12, max_size=90), walks=st.booleans())
def test_what_is_left_out_at_a_glance_could_not_be_suspected(
    values: list[float], walks: bool
) -> None:
    """And the evidence of the rest is the same, to the last bit."""
    series = np.cumsum(values) if walks else np.array(values)
    rows, places = sliding_window_view(series, 10), np.arange(2, 10)
    for known in (Variance(0.0, 0.0), Variance(1.0, 20.0)):
        whole = step_evidence(rows, places, known, EXACT)
        some = step_evidence(rows, places, known, EXACT, SUSPECTED)
        out = np.isneginf(some).all(-1)
        assert (whole[out] < SUSPECTED).all()
        assert np.array_equal(whole[~out], some[~out])
