"""Where a series changes: what is known of it, and what chance makes of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_history import KINDS, NOISE, noise, series_of

from ioplan.results.history import History, log_limit, sentence, signals
from ioplan.results.history.blocks import change_line
from ioplan.results.history.ledger import added
from ioplan.results.history.monitor import (
    CORRELATIONS,
    EXACT,
    FEWEST,
    SIZE,
    budget,
    evidence,
)

SEEDS = range(1, 4)


def looks(values):
    return signals(list(values))[0]


def ever(values):
    """Whether any look has confirmed a change."""
    return any(one.state == "confirmed" for one in looks(values))


def analysed(values):
    (one,) = series_of(np.asarray(values)[None])
    return one


def steps(values):
    return [one.point for one in analysed(values).changes if one.kind == "step"]


def quiet(levels, seed=1):
    """Levels for so many sessions each, with noise of 0.2 %."""
    parts = [np.full(count, level) for count, level in levels.items()]
    values = np.concatenate(parts)
    return values + 0.002 * np.random.default_rng(seed).normal(size=len(values))


def by_definition(values, drifts, place, kind, share):
    """Of a change, by matrices: its product with what is left, the squares of both, and
    the logarithm of what a likelihood has beside the sum of squares."""
    count, at = len(values), np.arange(len(values))
    cov = share ** np.abs(np.subtract.outer(at, at))
    white = np.linalg.cholesky(np.linalg.inv(cov)).T
    base = [np.ones(count), *([at / count] if drifts else [])]
    change = np.maximum(at - place, 0) / (count - 1 - place)
    if kind == 0:
        shock = np.where(at >= place, share ** np.maximum(at - place, 0.0), 0.0)
        base, change = [*base, shock], (at >= place).astype(float)
    known = white @ np.stack(base, 1)
    left = np.eye(count) - known @ np.linalg.pinv(known)
    off, unit = left @ white @ values, left @ white @ change
    worth = -np.linalg.slogdet(cov)[1] / 2 - np.linalg.slogdet(known.T @ known)[1] / 2
    return unit @ off, unit @ unit, off @ off, worth


@pytest.mark.parametrize("drifts", [False, True])
@pytest.mark.parametrize("place", [3, 9, 14])
@pytest.mark.parametrize("kind", [0, 1])
def test_evidence_is_as_defined(drifts, place, kind):
    values, least = np.random.default_rng(3).normal(size=20), 0.3
    degrees = 20 - 1 - drifts - (kind == 0)
    none, some = [], []
    for share in CORRELATIONS[:, 0]:
        found = by_definition(values, drifts, place, kind, share)
        product, size, squares, worth = found
        within = squares - product**2 / size
        between = max(abs(product) - least * size, 0) ** 2 / size
        spread = 1 + SIZE**2 * size
        none.append(worth - degrees / 2 * np.log(within + between))
        rest = np.log(spread) + degrees * np.log(within + between / spread)
        some.append(worth - rest / 2)
    expected = np.log(np.mean(np.exp(np.array(some) - max(none))))
    evident = evidence(values, drifts, least, EXACT)[kind][place]
    assert evident == pytest.approx(expected)


def test_clear_changes_are_where_they_are():
    """Also of figures that are all the same, as those of the simulated drive."""
    visit = [*quiet({20: 1.0, 10: 1.05}), *quiet({21: 1.0}, 2)]
    for values, places in (
        (quiet({12: 1.0, 9: 1.05}), [12]),
        (quiet({12: 1.0, 9: 1.05, 14: 0.99}), [12, 21]),
        (visit, [20, 30]),
        (quiet({30: 1.0}), []),
        ([2.0] * 20 + [2.1] * 4, [20]),
    ):
        assert steps(values) == places
    for same in ([2.0] * 20, [], [1.0], [1.0, 1.0, 2.0]):
        assert looks(same) == []


@pytest.mark.parametrize("far", [0.03, 0.1, 1.5])
def test_one_outlier_is_at_most_suspected_and_then_withdrawn(far):
    values = [*quiet({20: 1.0}), 1.0 + far]
    assert not ever(values)
    after = looks([*values, *quiet({8: 1.0}, 2)])
    assert {one.state for one in after} <= {"suspected", "withdrawn"}
    if after:
        assert [one.state for one in after][-1] == "withdrawn"


@given(st.lists(st.floats(-5, 5, allow_nan=False), max_size=30), st.integers(0, 30))
@settings(max_examples=20, deadline=None)
def test_a_look_does_not_depend_on_later_ones(values, count):
    whole = looks(values)
    assert looks(values[:count]) == [one for one in whole if one.seen < count]
    assert all(one.at < one.seen for one in whole)


# what is no step: smaller than the threshold, little by little, or by itself
def drawn(seed, level, deviation=0.012):
    rng = np.random.default_rng(seed)
    return np.log(level * (1 + deviation * rng.normal(size=len(level))))


@pytest.mark.promise("history.threshold")
def test_less_than_the_threshold_is_no_change_however_sure():
    values = np.log([1.0] * 30 + [1 - 0.00002] * 90)
    assert not looks(values)
    assert steps([*quiet({40: 1.0}), *quiet({80: 1.008}, 2)]) == []


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.promise("history.drift")
def test_a_drift_is_named_and_no_session_is_blamed(seed):
    """0.1 % less each session, after 30 sessions that were the same."""
    one = analysed(drawn(seed, 1 - 0.001 * np.maximum(0, np.arange(120) - 30)))
    for change in one.changes:
        assert (change.kind, change.verdict) == ("drift", "worse")
        assert not change.with_it
        assert change_line(one, change).startswith("worse: drift of iops")
    assert 0.89 < one.changes[-1].after / one.changes[0].before < 0.93
    assert "withdrawn" not in {entry.state for entry in one.signals[-1:]}


@pytest.mark.parametrize("seed", SEEDS)
def test_neither_an_outlier_nor_a_drift_hides_a_step(seed):
    """A step in a drift is both."""
    level = np.array([1.0] * 30 + [0.75] + [1.0] * 2 + [0.92] * 87)
    (at,) = steps(drawn(seed, level))
    assert abs(at - 33) <= 1
    level = 1 - 0.001 * np.arange(120) - np.where(np.arange(120) >= 60, 0.08, 0)
    (*_, step, drift) = analysed(drawn(1, level, 0.01)).changes
    assert (step.kind, drift.kind) == ("step", "drift")
    assert abs(step.point - 60) <= 3 and step.ratio == pytest.approx(0.92, abs=0.02)


@pytest.mark.parametrize("seed", SEEDS)
def test_states_bad_nights_and_wandering_are_no_change(seed):
    """Which has a correlation of 0.92 and a deviation of 1 %."""
    rng = np.random.default_rng(seed)
    states = np.where(rng.random(120) < 0.5, 1.0, 0.96)
    nights = np.where(rng.random(120) < 0.07, 0.88, 1.0)
    (row,) = 0.01 * noise(np.random.default_rng(seed), "wandering", 1, 120)
    for values in (drawn(seed, states), drawn(seed, nights), row):
        assert not ever(values)


def test_a_promise_is_made_of_what_it_holds_for_only():
    """A season of 30 nights is no correlation with the night before."""
    rng = np.random.default_rng(5)
    usual = NOISE * rng.normal(size=120)
    season = 0.02 * np.sin(2 * np.pi * np.arange(240) / 14)
    for values, promise in (
        (usual, "at most one false alarm"),
        (season + 0.004 * rng.normal(size=240), "no promise on false alarms"),
    ):
        one = (analysed(values),)
        found = History(plan="p", by=(), sessions=len(values), series=one)
        assert sentence(found).partition("; ")[2].startswith(promise)


@pytest.mark.long_but_first
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.promise("history.alarms")
def test_150_looks_at_series_without_a_change_confirm_few(kind):
    """5 % of 40 are two."""
    rows = NOISE * noise(np.random.default_rng(len(kind)), kind, 20, 150)
    assert sum(ever(row) for row in rows) <= 2


def test_a_step_of_10_percent_in_noise_of_2_is_confirmed_within_ten_nights():
    """And a large one within a few."""
    rows = NOISE * np.random.default_rng(4).normal(size=(20, 40))
    rows[:, 30:] += float(np.log(1.1))
    found = [places for row in rows if (places := steps(row))]
    assert len(found) >= 17 and all(abs(one[-1] - 30) <= 1 for one in found)
    last = looks(quiet({20: 1.0, 6: 1.5}))[-1]
    assert (last.state, last.at) == ("confirmed", 20)
    assert 20 + FEWEST - 1 <= last.seen <= 24


@pytest.mark.promise("history.alarms")
def test_more_series_share_one_false_alarm_a_year():
    assert budget(1) == budget(20) == 0.05 and budget(300) == 1 / 300
    assert log_limit(300, 3650) > log_limit(300) > log_limit(20)


@pytest.mark.promise("history.never_rewritten")
def test_stored_signals_are_never_rewritten():
    """Only withdrawn, or added, and dated to the look that did it."""
    values = np.concatenate([quiet({20: 1.0}), quiet({6: 1.2}, 2)])[None]
    (now,) = series_of(values)
    first = list(added([], now))
    assert first[-1].state == "confirmed"
    assert list(added(first, now)) == []
    other = now.model_copy(update={"signals": ()})
    (gone,) = added(first, other)
    newest = now.points[-1].session
    assert (gone.state, gone.session, gone.seen) == ("withdrawn", "s00020", newest)
    (back,) = added([*first, gone], now)
    assert (back.state, back.session, back.seen) == ("confirmed", "s00020", newest)


@pytest.mark.parametrize("count", range(3, 9))
def test_few_sessions_have_no_change(count):
    for seed in range(20):
        one = analysed(NOISE * np.random.default_rng(seed).normal(size=count))
        assert not one.changes and bool(one.why) == (count < 2 * FEWEST)
