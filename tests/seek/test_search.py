"""The search finds what a truth has, within its bound, and the same way each time."""

from bisect import bisect_right
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seek_targets import Credit, seek

from ioplan.language import Expectation, Metric
from ioplan.planner import Bounds, Search, grid, most_probes
from ioplan.records import Found, RunDetail
from ioplan.results.measure import Sample
from ioplan.runner import judge


def run(bounds, holds, start=None):
    """A search whose probes are never wrong."""
    search = Search(bounds, start)
    while probe := search.next_probe():
        search.answer("yes" if holds(probe.value) else "no")
    return search.finding()


@st.composite
def bounds(draw):
    direction = draw(st.sampled_from(("highest", "lowest")))
    at_most = draw(st.none() | st.integers(1, 30))
    if draw(st.booleans()):
        lowest = draw(st.integers(0, 200))
        highest = lowest + draw(st.integers(0, 100_000))
        return Bounds(float(lowest), float(highest), 0.0, 1.0, direction, at_most)
    low = draw(st.floats(0.01, 1e6))
    high = low * draw(st.floats(1, 1e4))
    within = draw(st.sampled_from((0.01, 0.03, 0.05, 0.2, 1.0)))
    return Bounds(low, high, within, 0.0, direction, at_most)


@given(bounds(), st.data())
@pytest.mark.promise("seek.value", "seek.probes")
def test_a_monotone_truth_is_found_within_the_bound(asked, data):
    values = grid(asked)
    change = data.draw(st.integers(-1, len(values) - 1))
    start = data.draw(st.none() | st.floats(asked.lowest / 2, asked.highest * 2))
    edge = values[change] if change >= 0 else asked.lowest - 1
    up = asked.direction == "highest"
    found = run(asked, lambda value: (value <= edge) == up, start)
    assert len(found.probes) <= most_probes(asked)
    assert found.monotone
    if found.lower is not None:
        assert found.lower <= (edge if up else values[min(change + 1, len(values) - 1)])
    if found.upper is not None:
        assert found.upper > edge
    if asked.at_most is None:
        wanted = change if up else change + 1
        exact = values[wanted] if 0 <= wanted < len(values) else None
        assert found.value == exact
        assert found.confirmed == (exact is not None)


ANSWERS = st.lists(st.sampled_from(("yes", "no", "undecided")), min_size=60)


@given(bounds(), ANSWERS, st.integers(0, 60))
def test_any_answers_end_within_the_bound_and_can_be_replayed(
    asked, answers, broken_off
):
    first = Search(asked)
    for answer in answers:
        if first.next_probe():
            first.answer(answer)
    assert first.next_probe() is None
    found = first.finding()
    assert len(found.probes) <= most_probes(asked)
    again = Search(asked)
    for one in found.probes[:broken_off]:
        assert again.next_probe() == one.probe
        again.answer(one.answer)
    rest = found.probes[broken_off:]
    assert again.next_probe() == (rest[0].probe if rest else None)


@given(bounds(), ANSWERS)
def test_nothing_is_tried_beyond_twice_of_what_was_seen(asked, answers):
    search, seen, values = Search(asked), -1, grid(asked)
    for answer in answers:
        if probe := search.next_probe():
            index = bisect_right(values, probe.value) - 1
            double = 2 * values[max(seen, 0)] * (1 + 1e-6)
            assert index <= seen + 1 or probe.value <= double
            seen = max(seen, index)
            search.answer(answer)


def misled(asked, short, long):
    """A search on a target that is good to another value in short runs than in long
    ones, and the values of these."""
    search, confirmed = Search(asked), list[float]()
    while probe := search.next_probe():
        is_long = probe.phase == "confirm"
        confirmed += [probe.value] * is_long
        search.answer("yes" if probe.value <= (long if is_long else short) else "no")
    return search.finding(), confirmed


def test_a_failed_confirmation_goes_one_step_down():
    found, confirmed = misled(Bounds(1.0, 64.0, 0.0, 1.0), 20, 18)
    assert confirmed == [20, 19, 15, 17, 18]
    assert (found.value, found.lower, found.upper) == (18, 18, 19)
    assert found.confirmed and found.monotone


@given(st.integers(1, 512), st.integers(0, 512))
def test_it_goes_down_until_a_long_run_holds(short, long):
    """However far short runs have misled, what is found is what long runs tell."""
    asked = Bounds(1.0, 512.0)
    found, confirmed = misled(asked, short, min(long, short))
    assert len(found.probes) <= most_probes(asked) and found.monotone
    if long == 0:
        assert not found.confirmed
        return
    truth = min(long, short)
    assert found.confirmed and found.value in confirmed
    assert found.value is not None and found.value <= truth
    assert found.upper is None or found.upper > truth


def test_a_drive_that_got_slower_is_sought_below_its_neighbours_answer():
    """The confirmation fails where the search began: nothing is known below it."""
    search = Search(Bounds(1.0, 1024.0, 0.0, 1.0), start=512.0)
    limit = 512.0
    while probe := search.next_probe():
        limit = 100.0 if probe.phase == "confirm" else limit
        search.answer("yes" if probe.value <= limit else "no")
    found = search.finding()
    assert (found.value, found.upper, found.confirmed) == (100.0, 101.0, True)


def test_undecided_is_no_step_up_and_no_proof():
    search = Search(Bounds(1.0, 64.0, 0.0, 1.0))
    while probe := search.next_probe():
        value = probe.value
        search.answer("yes" if value < 20 else "undecided" if value < 30 else "no")
    found = search.finding()
    assert (found.value, found.upper) == (19, 30)


@pytest.mark.parametrize("unlucky", [1, 8, 16])
@pytest.mark.parametrize("start", [None, 16.0])
def test_an_undecided_probe_ends_nothing(unlucky, start):
    search, seen = Search(Bounds(1.0, 64.0, 0.0, 1.0), start), set[float]()
    while probe := search.next_probe():
        lucky = probe.value != unlucky or probe.value in seen
        seen.add(probe.value)
        answer: Any = "yes" if probe.value <= 20 else "no"
        search.answer(answer if lucky else "undecided")
    found = search.finding()
    assert (found.value, found.upper, found.confirmed) == (20, 21, True)


@pytest.mark.parametrize("unlucky", [2, 8, 16, 18])
def test_a_no_by_chance_is_asked_again(unlucky):
    search, seen = Search(Bounds(1.0, 64.0, 0.0, 1.0)), set[float]()
    while probe := search.next_probe():
        lucky = probe.value != unlucky or probe.value in seen
        seen.add(probe.value)
        search.answer("yes" if probe.value <= 20 and lucky else "no")
    found = search.finding()
    assert (found.value, found.upper, found.confirmed) == (20, 21, True)


def test_a_yes_above_a_no_is_told():
    """As old answers that a search is resumed with may have it."""
    asked = Bounds(1.0, 64.0, 0.0, 1.0)
    search = Search(asked)
    while probe := search.next_probe():
        search.answer("yes" if probe.value <= 20 else "no")
    search.answered[:] = [
        type(one)(one.probe, "no") if one.probe.value == 8 else one
        for one in search.answered
    ]
    found = search.finding()
    assert not found.monotone
    assert (found.value, found.upper) == (4, 8)


def test_a_neighbours_answer_saves_the_doublings():
    asked = Bounds(1_000.0, 2_000_000.0, 0.03)
    cold = run(asked, lambda value: value <= 300_000)
    warm = run(asked, lambda value: value <= 300_000, 250_000)
    assert warm.value == cold.value
    assert len(warm.probes) < len(cold.probes) - 6


@pytest.mark.parametrize(
    "asked",
    [
        Bounds(10.0, 1.0),
        Bounds(0.0, 10.0),
        Bounds(1.0, 10.0, 0.0),
        Bounds(1.2, 1.8, 0.0, 1.0),
    ],
)
def test_a_range_without_a_value_is_refused(asked):
    with pytest.raises(ValueError, match="range"):
        Search(asked)


@pytest.mark.parametrize("start", [None, 2.0, 60.0])
@pytest.mark.parametrize(
    ("from_", "to", "value", "upper"),
    [(4, 20, 20, 21), (17, 40, 40, 41), (33, 64, 64, None), (1, 64, 64, None)],
)
def test_load_that_is_missing_at_first_is_sought_above(from_, to, value, upper, start):
    """As `p99 <= 1ms and iops >= 10_000 iops` holds from one depth to another."""
    asked = Bounds(1.0, 64.0, 0.0, 1.0, asks_for_load=True)
    found = run(asked, lambda depth: from_ <= depth <= to, start)
    assert (found.value, found.upper) == (value, upper)
    assert found.confirmed and found.monotone
    assert len(found.probes) <= most_probes(asked)


def test_load_that_is_never_there_is_sought_to_the_end():
    asked = Bounds(1.0, 64.0, 0.0, 1.0, asks_for_load=True)
    found = run(asked, lambda depth: False)
    assert [one.probe.value for one in found.probes] == [1, 2, 4, 8, 16, 32, 64]
    assert found.value is None and found.monotone
    found = run(Bounds(1.0, 64.0, 0.0, 1.0), lambda depth: False)
    assert [one.probe.value for one in found.probes] == [1, 1]


def test_the_lowest_may_begin_with_too_much_load():
    asked = Bounds(1.0, 64.0, 0.0, 1.0, "lowest", asks_for_load=True)
    found = run(asked, lambda depth: 3 <= depth <= 20)
    assert (found.value, found.lower) == (3, 2)


def test_what_a_burst_credit_bears_is_not_what_is_found():
    """The target is good for the first 45 s of each run, and probes take 30."""
    for seed in range(10):
        found = seek(Credit(), Bounds(1_000.0, 100_000.0), seed).finding
        assert found.confirmed and found.value is not None
        assert found.value <= Credit.changes[0] < (found.upper or 0)


def verdict(found, operator, limit):
    """What becomes of an expectation of what a seek found."""
    run = cast("Any", SimpleNamespace(found=found, total=None, run_s=1.0))
    expectation = Expectation(
        metric=Metric(name="qd", sought="number"),
        operator=operator,
        limit=limit,
        of_baseline=False,
        when=None,
        text=f"qd {operator} {limit:g}",
    )
    return judge(expectation, [Sample(run, RunDetail())]).outcome


@pytest.mark.parametrize(
    ("confirmed", "censored", "operator", "limit", "outcome"),
    [
        (True, False, ">=", 20, "held"),
        (False, False, ">=", 20, "undecided"),
        (False, True, ">=", 20, "undecided"),
        (False, False, ">=", 30, "failed"),
        (False, False, "<=", 30, "held"),
        (True, True, ">=", 30, "undecided"),
    ],
)
@pytest.mark.promise("seek.unconfirmed")
def test_what_no_long_run_confirmed_decides_nothing_in_its_favour(
    confirmed, censored, operator, limit, outcome
):
    made = Found.model_construct(
        no_at=None,
        goal="highest",
        axis="qd",
        kind="number",
        value=24,
        confirmed=confirmed,
    ).model_copy(update={"censored": censored})
    assert verdict(made, operator, limit) == outcome
