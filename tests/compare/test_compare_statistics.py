"""The statistics of comparisons: known values, false alarms, and power."""

import itertools
from math import atan, cos, inf, log1p, pi, sin, sqrt

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sessions import session
from synthetic_comparisons import Design, World, alarms, alternating, judged

from ioplan.core.statistics.shared_variance import Variance
from ioplan.core.statistics.student_t import quantile, tail
from ioplan.language import Metric
from ioplan.results.compare import MetricNoise
from ioplan.results.compare.decision import (
    FEWEST_KNOWN,
    MAYBE_OUTLIER,
    UNKNOWN_NOISE,
    MetricPair,
    MetricSide,
    MetricTable,
    decide,
    hochberg,
    holm,
    rank_p_value,
    sessions_needed,
)
from ioplan.results.compare.judge import units

T_975 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
)
"""Printed in every textbook, by degrees of freedom from 1."""


def test_students_quantiles_are_those_of_the_tables():
    tables = [*enumerate(T_975, start=1), (120, 1.980)]
    assert [quantile(0.975, n) for n, _ in tables] == pytest.approx(
        [t for _, t in tables], abs=6e-4
    )
    assert quantile(0.9995, 30) == pytest.approx(3.646, abs=6e-4)
    assert quantile(0.975, inf) == pytest.approx(1.95996, abs=1e-5)
    for t in (0.5, 1.0, 2.0, 4.0, 6.0):  # the normal approximation joins on
        assert tail(t, 300.1) == pytest.approx(tail(t, 299.9), rel=2e-3)


@given(st.floats(0, 1e9), st.integers(1, 300), st.floats(0, 15), st.floats(1, 2000))
@example(0.0, 1, 0.0, 1.25)
def test_students_tail_meets_the_closed_form(t, n, low, degrees):
    """And falls from one half."""
    assert tail(t, n) == pytest.approx(closed_form(t, n), abs=1e-9)
    assert 0 <= tail(low + 0.5, degrees) < tail(low, degrees) <= 0.5
    assert tail(0.0, degrees) == 0.5


def closed_form(t, n):
    """For whole degrees of freedom (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = atan(t / sqrt(n))
    odd = n % 2
    term, total = cos(angle) if odd else 1.0, 0.0
    for power in range(odd, n - 1, 2):
        total += term
        term *= cos(angle) ** 2 * (power + 1) / (power + 2)
    within = 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total
    return (1 - within) / 2


@pytest.mark.long
def test_more_history_finds_more_with_one_session_a_side():
    """A loss of 5 % where sessions differ by 2 %, in percent of forty comparisons."""
    world, loss = World(cells=12), dict.fromkeys(range(12), -0.05)
    found = {}
    for earlier in (5, 10, 20):
        design = alternating(1, earlier)
        decided = [judged(world, design, seed, loss)[0].common for seed in range(40)]
        off = [
            one for one in decided if one and one.outcome in ("different", "suspected")
        ]
        found[earlier] = len(off)
        assert {one.outcome == "suspected" for one in off} == {earlier < FEWEST_KNOWN}
    assert found[5] < found[10] < found[20] and found[20] >= 34


@pytest.mark.long
@pytest.mark.parametrize("shared", [0.0, 0.5])
def test_long_history_of_heavy_tails_is_no_reason_for_alarms(shared):
    """Of forty comparisons of equal sides; with normal tails 15 to 20 % are."""
    world, design = World("heavy-tailed", cells=12, shared=shared), alternating(1, 20)
    found = [judged(world, design, seed, threshold=0.0) for seed in range(40)]
    assert sum(map(alarms, found)) <= 4


def test_corrections_by_hand():
    """Holm: 0.01 x 4, 0.013 x 3 (but not below the first), 0.02 x 2, 0.5 x 1.

    Hochberg: the largest by itself, the next twice, but not above it, and so on.
    """
    assert holm([0.02, 0.01, 0.5, 0.013]) == pytest.approx([0.04, 0.04, 0.5, 0.04])
    assert holm([]) == hochberg([]) == [] and holm([0.6, 0.7]) == [1.0, 1.0]
    assert hochberg([0.02, 0.01, 0.024]) == pytest.approx([0.024, 0.024, 0.024])
    assert hochberg([0.5, 0.01, 0.2]) == pytest.approx([0.5, 0.03, 0.4])


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 3), (3, 4), (5, 5)])
def test_ranks_are_as_all_orders_say(m, n):
    places = {*range(m + n)}
    orders = [*itertools.combinations(range(m + n), m)]
    inverted = [sum(b > a for b in one for a in places - {*one}) for one in orders]
    pairs = [*zip(orders, inverted, strict=True)]
    for one, count in pairs[:: max(1, len(orders) // 9)]:
        least = min(count, m * n - count)
        expected = sum(other <= least for other in inverted) / len(orders)
        new = [float(a) for a in range(m + n) if a not in one]
        assert rank_p_value([*map(float, one)], new) == pytest.approx(expected)


# what sessions count for, and how many are needed
@pytest.mark.parametrize(
    ("order", "counted"),
    [("AB", (1, 1)), ("ABABAB", (3, 3)), ("AAABBB", (1, 1)), ("ABBA", (2, 1))],
)
def test_a_stretch_of_a_side_counts_once(order, counted):
    sides = {"A": [], "B": []}
    for at, name in enumerate(order):
        sides[name].append(session(f"s{at}", started_at=f"2026-01-01T00:00:{at:02}Z"))
    assert units(sides["B"][::-1], sides["A"]) == counted[::-1]


def test_more_sessions_are_needed_for_less():
    noise = Variance(0.02**2, 8)

    def needed(size, level=0.025):
        return sessions_needed(noise, size, 0.02, level)

    assert needed(0.2) == 3
    counts = [needed(size) or 99 for size in (0.10, 0.07, 0.05, 0.04)]
    assert counts == sorted(counts) and counts[0] < counts[-1]
    assert needed(0.021) is None
    assert (needed(0.07, 0.0005) or 99) > (needed(0.07) or 99)


def test_as_many_sessions_as_are_needed_are_enough():
    """In one cell alone, of noise that nothing told before."""
    noise = Variance(0.02**2, 0.0)
    each = sessions_needed(noise, -log1p(-0.12), log1p(0.02), 0.05 / 2)
    world = World(cells=2, metrics=1)
    found = [judged(world, alternating(each), seed, {0: -0.12}) for seed in range(100)]
    assert sum(one[0].cells[0].outcome == "different" for one in found) >= 90


# whole comparisons
COMPARISONS = 80
MOST_FALSE = 9
"""Of 80 at 5 %, 4 are expected; 10 and more come once in 200 times."""
NOISY = [
    ("independent", Design("AB", 5), 0.0),
    ("independent", Design("AAABBB"), 0.5),
    ("drifting", Design("AB", 5), 0.5),
    ("drifting", Design("ABABAB"), 0.0),
    ("drifting", Design("AAABBB"), 0.0),
    ("heavy-tailed", Design("AB", 5), 0.0),
    ("heavy-tailed", Design("ABABAB"), 0.5),
]


@pytest.mark.long_but_first
@pytest.mark.parametrize(("kind", "design", "shared"), NOISY)
@pytest.mark.promise("compare.alarms")
def test_noise_is_no_difference(kind, design, shared):
    """A/A, though nothing counts as equal: whole comparisons with any call."""
    world = World(kind, cells=8, runs=1, shared=shared, uneven=3.0, metrics=2)
    found = [judged(world, design, seed, threshold=0.0) for seed in range(COMPARISONS)]
    assert sum(map(alarms, found)) <= MOST_FALSE


@pytest.mark.long_but_first
@pytest.mark.parametrize("design", [Design("ABABAB"), Design("ABABAB", 5)])
def test_a_common_loss_is_found(design):
    """5 %, of sessions that differ by 2 % in each cell, three a side."""
    loss = dict.fromkeys(range(20), -0.05)
    found = [judged(World(), design, seed, loss)[0].common for seed in range(40)]
    assert sum(one is not None and one.outcome == "different" for one in found) >= 38


def test_a_cell_that_lost_is_found_and_no_other():
    """10 % in one of twenty, three sessions a side."""
    world, design = World(metrics=1), alternating(3, 5)
    found = [judged(world, design, seed, {7: -0.1})[0] for seed in range(100)]
    decided = [[one.outcome == "different" for one in metric.cells] for metric in found]
    assert sum(one[7] for one in decided) >= 90
    assert sum(any(one[:7] + one[8:]) for one in decided) <= 5
    assert not any(
        metric.common and metric.common.outcome == "different" for metric in found
    )


def test_a_change_of_one_cell_of_four_is_not_said_of_all():
    """25 % in one: the mean of all has 6 %, and noise has signs that may agree."""
    world, design = World(cells=4, metrics=1), Design("ABABAB", 5)
    found = [judged(world, design, seed, {0: 0.25})[0] for seed in range(60)]
    assert sum(one.cells[0].outcome == "different" for one in found) >= 54
    whole = [
        one.common for one in found if one.common and one.common.outcome == "different"
    ]
    assert len(whole) <= 3


def test_nothing_is_decided_where_the_noise_is_unknown():
    loss = dict.fromkeys(range(20), -0.5)
    (found,) = judged(World(metrics=1), Design("AB"), 1, loss)
    assert found.common is None
    assert {one.outcome for one in found.cells} == {"inconclusive"}
    assert {one.reason for one in found.cells} == {UNKNOWN_NOISE}


def test_one_session_far_off_is_no_change():
    """Two of three sessions in NEW are as those of BASE."""
    base, far = (
        MetricSide("c", tuple((value,) for value in values), 3)
        for values in ((9.002, 9.003, 9.0005), (9.0, 9.001, 7.0))
    )
    even = MetricNoise(Variance(0.0, inf), {"c": Variance(0.01**2, 50)})
    table = MetricTable(Metric(name="iops"), (MetricPair(base, far),), even)
    (cell,) = decide([table], 0.02)[0].cells
    assert (cell.outcome, cell.reason) == ("inconclusive", MAYBE_OUTLIER)
