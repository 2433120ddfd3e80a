"""Sustained rates and bursts, from series whose truth is known; noise is no change."""

import random
from statistics import fmean

import pytest
from figures import interval, record

from ioplan.language import Metric
from ioplan.records import EventMade, RunDetail
from ioplan.results.measure import Sample, changes, figure, spent, stated
from ioplan.workload import Replay

MADE = record(1)


def series(limit, burst, speed, length_s, noise=0.0):
    """What a bucket lets through of a load at this speed, in 60 intervals."""
    draw, tokens, found = random.Random(1), burst, []
    for number in range(1, 61):
        able = speed * length_s * (1 + draw.gauss(0, noise))
        done = min(able, tokens + limit * length_s)
        tokens += limit * length_s - done
        found.append(interval(number * length_s, round(done), length_s, "read", 1.0))
    return found


def measured(name, found):
    run = Sample(MADE, RunDetail(series=tuple(found)))
    return figure(Metric(name=name), [run])


@pytest.mark.parametrize("burst", [1_000, 30_000, 200_000])
@pytest.mark.parametrize("limit", [500, 3_000])
@pytest.mark.parametrize("length_s", [0.5, 1.0])
def test_limit_and_burst_are_found(limit, burst, length_s):
    noisy = series(limit, burst, 16_000, length_s, noise=0.05)
    even = series(limit, burst, 16_000, length_s)
    near = pytest.approx(burst, rel=0.05)
    assert measured("sustained", noisy).value == pytest.approx(limit, rel=0.02)
    assert measured("burst", noisy).value == near
    assert (measured("burst_bytes", even).value or 0) / 4096 == near


def changed(one, ios):
    return one.model_copy(update={"ios": {"read": ios}, "bytes": {"read": 4096 * ios}})


QUICK = series(500, 2_000, 16_000, 0.5)
LEVELS = {
    "a burst of one interval": (QUICK, 500, 2_000),
    # as on a busy machine: nothing, then all of the burst at once
    "a load that began late": ([changed(QUICK[0], 0), *QUICK], 500, 2_000),
    "a steady volume": (series(10**9, 0, 16_000, 1.0, noise=0.03), 16_000, 0),
    # none of its intervals is further off than the others are
    "a rough level": (
        [
            changed(one, (800, 1_200)[number % 2])
            for number, one in enumerate(series(10**9, 0, 1_000, 1.0))
        ],
        1_000,
        None,
    ),
}


@pytest.mark.parametrize("name", LEVELS)
def test_what_is_sustained(name):
    found, sustained, burst = LEVELS[name]
    assert measured("sustained", found).value == pytest.approx(sustained, rel=0.02)
    if burst is not None:
        assert measured("burst", found).value == pytest.approx(burst, rel=0.05)


def test_what_tells_nothing_says_so():
    """The last level needs five intervals.

    The first may have begun within one, and the last of a run may be cut short.
    """
    assert "its last level" in measured("sustained", series(500, 0, 9_000, 1.0)[:4]).why
    rising = series(500, 90_000, 9_000, 1.0)[::-1]
    assert measured("sustained", rising).why
    whole = series(500, 8_000, 16_000, 1.0)
    begin = next(n for n, one in enumerate(whole) if one.ios["read"] == 500)
    assert measured("sustained", whole[: begin + 6]).value == pytest.approx(500)
    assert "has 4 intervals" in measured("sustained", whole[: begin + 5]).why


def refilled(off_percent):
    """A level of refills that scatter by so much."""
    return [
        changed(one, 1_000 + 10 * off_percent * (-1) ** number)
        if one.ios["read"] == 1_000
        else one
        for number, one in enumerate(series(1_000, 150_000, 16_000, 1.0))
    ]


SPENT = {
    "spent": (series(500, 20_000, 2_500, 1.0, noise=0.05), True),
    "at its limit all the time": (series(500, 0, 2_500, 1.0), False),
    "never at a limit": (series(3_000, 20_000, 2_500, 1.0, noise=0.05), False),
    "hardly slower": (series(2_100, 20_000, 2_500, 1.0), False),
    # as of heat, or of a busy neighbour
    "slower, but not flat": (
        series(5_000, 0, 2_500, 1.0, noise=0.05)[:20]
        + series(5_000, 0, 1_000, 1.0, noise=0.1)[20:],
        False,
    ),
    "refills that scatter little": (refilled(1), True),
    "refills that scatter": (refilled(4), False),
}


@pytest.mark.parametrize("name", SPENT)
def test_a_burst_that_was_spent_is_told_of(name):
    found, is_spent = SPENT[name]
    text = spent(found)
    assert bool(text) is is_spent
    if name == "spent":
        assert text.startswith("reads fell from 2,490") and "to 500 IOPS at 10" in text


def noisy(mean, count, draw, share):
    """Neighbours depend on each other, as those of a drive do."""
    values, off = [], 0.0
    for _ in range(count):
        off = 0.5 * off + draw.gauss(0, share * mean)
        values.append(mean + off)
    return values


CHANGES = {
    # of levels with their intervals and spread, each of so many seconds
    "a burst": ([(2407e6, 11), (671e6, 71)], 0.02, 1.0, 11),
    "two drops": ([(9e3, 20), (5e3, 20), (2e3, 40)], 0.02, 0.5, 10),
    "a short burst": ([(10e3, 3), (4e3, 27)], 0.01, 1.0, 3),
}


def over_time(values, length_s=1.0, **more):
    """What is said of a run with these rates in its intervals."""
    found = [
        interval(number * length_s, round(value * length_s), length_s, "read", 1.0)
        for number, value in enumerate(values, 1)
    ]
    run = Sample(record(1, **more), RunDetail(series=tuple(found)))
    return stated(Metric(name="iops"), [run]).over


@pytest.mark.parametrize("name", CHANGES)
def test_a_burst_is_told_apart_with_its_length(name):
    steps, spread, interval_s, length_s = CHANGES[name]
    draw = random.Random(1)
    values = [v for mean, n in steps for v in noisy(mean, n, draw, spread)]
    found = over_time(values, interval_s)
    assert found.burst and found.burst.length_s == length_s
    assert found.burst.value == pytest.approx(steps[0][0], rel=0.05)
    assert fmean(found.sustained) == pytest.approx(steps[-1][0], rel=0.05)
    assert found.spread_percent and found.spread_percent < 5  # not that of the drop


SHAPES = {
    "quiet": lambda draw: noisy(100.0, 60, draw, 0.05),
    "loud": lambda draw: noisy(100.0, 60, draw, 0.3),
    "short": lambda draw: noisy(100.0, 20, draw, 0.1),
    # garbage collection comes and goes
    "in turns": lambda draw: [
        v * (0.4 if n % 10 < 3 else 1)
        for n, v in enumerate(noisy(100.0, 60, draw, 0.05))
    ],
}


@pytest.mark.parametrize("name", SHAPES)
def test_noise_is_no_change(name):
    draw = random.Random(4)
    changed = sum(bool(changes(SHAPES[name](draw))) for _ in range(300))
    assert changed <= 3


def test_what_is_small_short_or_of_the_plan_is_no_change():
    draw = random.Random(5)
    small = noisy(10_000.0, 60, draw, 0.001) + noisy(9_500.0, 60, draw, 0.001)
    assert over_time(small).burst is None
    values = [10.0] * 20 + [2.0] * 20
    assert over_time(values).burst
    steered = over_time(values, events=(EVENT,))
    assert steered.burst is None and steered.sustained == values
    for count in (0, 1, 5, 9):  # a handful of intervals has one level
        assert changes(([9.0] * 3 + [1.0] * 6)[:count]) == []


REPLAY = Replay(digest="0", ios=9, span_ns=9, end_bytes=9, moved_bytes=9)
EVENT = EventMade(name="e", start_s=1, end_s=2, host="", exit_code=0, output="")


def test_the_rate_of_a_trace_and_an_event_of_the_lab_are_the_plans():
    fast = {"replay": REPLAY, "pace": "fast"}
    for load, events, steered in (
        ({}, (), False),
        ({"replay": REPLAY}, (), True),
        (fast, (), False),
        ({}, (EVENT,), True),
    ):
        found = over_time([10.0] * 20, load=load, events=events)
        assert found.is_steered is steered
