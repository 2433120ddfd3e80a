"""Decisions are right as often as they say; searches and knees with them find the truth."""

from collections.abc import Callable
from math import inf, tanh

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seek_targets import CLAIM, SHARE, TARGETS, NoisyCliff, contains, seek

from ioplan.planner import Bounds, Claim, Decider, KneeSearch, Point, grid, most_probes

ERROR = 0.05
"""What a seek allows, on both sides."""


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.promise("seek.interval")
def test_the_interval_holds_the_truth(name):
    """Of the errors that are allowed, these seeds happen to have none."""
    target, bounds = TARGETS[name]
    for seed in range(3):
        sought = seek(target, bounds, seed)
        found = sought.finding
        assert contains(target, found.lower, found.upper), found
        assert found.value and found.confirmed and target.holds(found.value)
        assert len(found.probes) <= sought.bound
        assert sought.cost_s < sought.sweep_s / 2


def decided(claims, rows, run_s=30):
    decider = Decider(claims, run_s, 4 * run_s)
    for points in rows:
        if decision := decider.add(1.0, points):
            return decision
    raise AssertionError("not decided")


def shares(share, seed=1, ios=1000):
    rng = np.random.default_rng(seed)
    while True:
        yield [Point(float(rng.binomial(ios, share)), float(ios))]


def test_a_no_comes_early_and_a_yes_after_the_run():
    no, yes = decided([CLAIM], shares(0.03)), decided([CLAIM], shares(0.002))
    assert (no.answer, yes.answer) == ("no", "yes")
    assert no.after_s < 15 and yes.after_s == 30
    assert no.p_value is not None and no.p_value <= ERROR / 2
    assert yes.parts[0].figure == pytest.approx(0.002, rel=0.2)


MEAN = Claim("mean <= 1", "ratio", 1.0)


@pytest.mark.parametrize(
    ("points", "answer"),
    [
        ([Point(1.0, 100.0, far=-100.0)], "yes"),
        ([Point(1.0, 100.0, far=-100.0), Point(50.0, 100.0)], "undecided"),
        ([Point(0.1, 1.0, far=-1.0)], "undecided"),
        ([Point(5000.0, 100.0, far=100.0)], "no"),
        ([Point(5000.0, 100.0, far=100.0), Point(1.0, 100.0, far=-100.0)], "undecided"),
    ],
    ids=["far", "one that is not", "one I/O", "far above", "either side"],
)
def test_what_is_far_from_its_limit_needs_no_batches(points, answer):
    decider = Decider([MEAN], len(points), len(points))
    told = [decider.add(1.0, [point]) for point in points][-1]
    assert told and told.answer == answer


def test_what_is_on_the_limit_stays_undecided_until_the_longest_time():
    found = [decided([CLAIM], shares(SHARE, seed)) for seed in range(40)]
    assert sum(one.answer == "undecided" for one in found) >= 37
    assert {one.after_s for one in found if one.answer == "undecided"} == {120.0}


def test_dependent_intervals_are_not_believed_as_independent_ones():
    """At the limit, with seconds that resemble their neighbours: one sided 2.5 %."""
    target, wrong = NoisyCliff(), 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rows = ([Point(*counted)] for counted in target.run(20_000.0, rng))
        wrong += decided([CLAIM], rows).answer == "yes"
    assert wrong <= 6


@pytest.mark.parametrize("method", ["share", "ratio"])
def test_seconds_with_few_ios_are_no_deviation(method):
    """As when other programs have the CPU: of few I/Os as small a part is slow."""
    rows = ([Point(0.2 * ios, ios)] for ios in [100.0, 2_000.0] * 60)
    found = decided([Claim("half of all", method, 0.5)], rows)
    assert (found.answer, found.after_s) == ("yes", 30)
    assert found.p_value < 1e-6


@pytest.mark.parametrize(("ios", "answer"), [(1.0, "undecided"), (100.0, "yes")])
def test_nothing_slow_among_few_is_no_proof(ios, answer):
    found = decided([CLAIM], ([Point(0.0, ios)] for _ in range(200)))
    assert found.answer == answer


ERRORS = Claim("errors == 0", "comparison")


def test_all_parts_must_hold():
    claims = [CLAIM, Claim("iops >= 900", "ratio", 900.0, False), ERRORS]
    rows = lambda iops, ok: (  # noqa: E731
        [*one, Point(iops, 1.0), Point(holds=ok, lost=not ok)] for one in shares(0.002)
    )
    assert decided(claims, rows(1000.0, True)).answer == "yes"
    slow = decided(claims, rows(800.0, True))
    assert (slow.answer, slow.parts[1].answer) == ("no", "no")
    lost = decided(claims, rows(1000.0, False))
    assert (lost.answer, lost.after_s, lost.parts[2].answer) == ("no", 1.0, "no")


def test_a_comparison_alone_takes_the_run():
    found = decided([ERRORS], ([Point(holds=True)] for _ in range(100)))
    assert (found.answer, found.after_s, found.p_value) == ("yes", 30.0, None)
    found = decided([ERRORS], ([Point(holds=False)] for _ in range(100)))
    assert (found.answer, found.after_s) == ("no", 30.0)


def test_within_the_margin_nothing_is_decided():
    """Slow I/Os are 3 %, but half of all I/Os are next to the limit."""
    near = lambda above, below: (  # noqa: E731
        [Point(one[0].amount, 1000.0, above, below)] for one in shares(0.03)
    )
    assert decided([CLAIM], near(0.0, 500.0)).answer == "no"
    assert decided([CLAIM], near(25.0, 0.0)).answer == "undecided"
    few = ([Point(2.0, 1000.0, 0.0, 20.0)] for _ in range(200))
    assert decided([CLAIM], few).answer == "undecided"
    rate = Claim("iops >= 1000", "ratio", 1000.0, False)
    assert (
        decided([rate], ([Point(1005.0, 1.0)] for _ in range(200))).answer
        == "undecided"
    )
    assert decided([rate], ([Point(1015.0, 1.0)] for _ in range(200))).answer == "yes"


def test_what_needs_no_proof_is_only_refused_for_sure():
    reached = Claim("the rate is reached", "ratio", 0.99, False, False)
    rng = np.random.default_rng(1)
    rows = lambda rate: ([Point(float(rng.poisson(rate)), 100.0)] for _ in range(200))  # noqa: E731
    assert decided([reached], rows(99)).answer == "yes"
    assert decided([reached], rows(80)).answer == "no"


# the knee of known curves, and an interval that holds it

DEPTHS = Bounds(1.0, 512.0, 0.0, 1.0)


def run(throughput, bounds=DEPTHS):
    search = KneeSearch(bounds)
    while probe := search.next_probe():
        search.answer(throughput(probe.value))
    return search.finding()


@given(st.integers(1, 700), st.floats(0, 0.001), st.integers(2, 40))
def test_the_smallest_depth_that_reaches_the_share(saturated, fall, at_most):
    def throughput(depth):
        return min(depth, saturated) * (1 - fall * depth)

    found = run(throughput).finding
    highest = max(throughput(p.probe.value) for p in found.probes)
    wanted = next(d for d in grid(DEPTHS) if throughput(d) >= 0.95 * highest)
    assert found.value and found.upper == found.value and found.confirmed
    if len(found.probes) < most_probes(DEPTHS) - 3:
        assert found.value == wanted
        assert found.lower == (wanted - 1 if wanted > 1 else None)
    assert wanted <= found.value <= wanted * 1.03
    assert len(found.probes) <= most_probes(DEPTHS)
    few = run(throughput, Bounds(1.0, 512.0, 0.0, 1.0, at_most=at_most)).finding
    assert len(few.probes) <= at_most


def test_where_nothing_completes_there_is_no_knee():
    found = run(lambda depth: 0.0).finding
    assert (found.value, found.confirmed) == (None, False)
    assert {one.answer for one in found.probes} == {"no"}
    assert {one.probe.phase for one in found.probes} == {"bracket"}


def test_a_fall_beyond_the_knee_is_told():
    assert run(lambda depth: min(depth, 32)).finding.monotone
    assert not run(lambda depth: min(depth, 32, 2_000 / depth)).finding.monotone


def test_a_long_run_that_falls_short_moves_it_up():
    search, phases = KneeSearch(DEPTHS), []
    while probe := search.next_probe():
        phases.append(probe.phase)
        short = probe.phase == "confirm" and probe.value <= 96
        search.answer(min(probe.value, 100) * (0.9 if short else 1))
    found = search.finding().finding
    assert (found.value, found.lower, found.confirmed) == (97, 96, True)
    assert phases[-3:] == ["confirm"] * 3


CURVES: dict[str, tuple[Callable[[float], float], int]] = {
    "hard": (lambda depth: min(depth, 100), 95),
    "low": (lambda depth: min(depth, 8), 8),
    "soft": (lambda depth: depth / (1 + depth / 30), 263),
    "bent": (lambda depth: tanh(depth / 60), 110),
    "falling": (
        lambda depth: depth / (1 + 0.02 * (depth - 1) + 4e-4 * depth * (depth - 1)),
        34,
    ),
}
SEEDS = 40


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("noise", [0.0, 0.01, 0.05])
@pytest.mark.promise("seek.knee")
def test_the_interval_holds_the_knee(name, noise):
    """In nine of ten at least, 98 % of all; noise that hides the upper end opens it."""
    curve, truth = CURVES[name]
    rng = np.random.default_rng(1)

    def throughput(depth):
        return 1000 * curve(depth) * float(np.exp(rng.normal(0, noise)))

    knees = [run(throughput) for _ in range(SEEDS)]
    held = [(k.low or 0) <= truth <= (k.high or inf) for k in knees]
    assert sum(held) >= 0.9 * SEEDS
    hidden = sum(knee.high is None for knee in knees)
    assert hidden <= (0.25 if noise < 0.05 else 1) * SEEDS
    assert all(knee.low for knee in knees)
    if noise == 0.05:  # as high as a depth must be to show 5 % of throughput
        assert hidden >= 0.9 * SEEDS
    for knee in knees:
        value = knee.finding.value
        assert value and (knee.low or 0) <= value <= (knee.high or inf)
        assert len(knee.finding.probes) <= most_probes(DEPTHS)


def test_too_few_probes_tell_no_interval():
    knee = run(lambda depth: min(depth, 100), Bounds(1.0, 512.0, 0.0, 1.0, at_most=4))
    assert (knee.low, knee.high) == (None, None)
