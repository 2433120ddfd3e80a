"""Sustained rates and bursts, from series whose truth is known; noise is no change."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

import pytest
from figures import interval, record

from ioplan.language import Metric
from ioplan.records import EventMade, Interval, RunDetail
from ioplan.results.measure import Figure, Sample, figure
from ioplan.results.measure.burst import spent
from ioplan.results.measure.levels import levels
from ioplan.results.measure.over_time import OverTime, is_steered
from ioplan.workload import Replay

MADE = record(1)


def series(
    limit: float, burst: float, speed: float, length_s: float, noise: float = 0.0
) -> list[Interval]:
    """What a bucket lets through of a load at this speed, in 60 intervals."""
    draw, tokens, found = random.Random(1), burst, []
    for number in range(1, 61):
        able = speed * length_s * (1 + draw.gauss(0, noise))
        done = min(able, tokens + limit * length_s)
        tokens += limit * length_s - done
        found.append(interval(number * length_s, round(done), length_s, "read", 1.0))
    return found


def measured(name: str, found: Sequence[Interval]) -> Figure:
    run = Sample(MADE, RunDetail(series=tuple(found)))
    return figure(Metric(name=name), [run])


def near(value: float, rel: float) -> Any:
    return pytest.approx(value, rel=rel)


@pytest.mark.parametrize("burst", [1_000, 30_000, 200_000])
@pytest.mark.parametrize("limit", [500, 3_000])
@pytest.mark.parametrize("length_s", [0.5, 1.0])
def test_limit_and_burst_are_found(limit: float, burst: float, length_s: float) -> None:
    noisy = series(limit, burst, 16_000, length_s, noise=0.05)
    assert measured("sustained", noisy).value == near(limit, 0.02)
    assert measured("burst", noisy).value == near(burst, 0.05)
    even = series(limit, burst, 16_000, length_s)
    assert measured("burst_bytes", even).value == near(4096 * burst, 0.05)


@pytest.mark.parametrize("late", [True, False])
def test_a_burst_of_one_interval_is_found_where_the_load_began_late(late: bool) -> None:
    """As on a busy machine: nothing, then all of the burst at once."""
    quick = series(500, 2_000, 16_000, 0.5)
    began = [changed(quick[0], 0), *quick] if late else quick
    assert measured("sustained", began).value == near(500, 0.02)
    assert measured("burst", began).value == near(2_000, 0.05)


def changed(one: Interval, ios: int) -> Interval:
    return one.model_copy(update={"ios": {"read": ios}, "bytes": {"read": 4096 * ios}})


def test_a_steady_volume_has_no_burst() -> None:
    found = series(10**9, 0, 16_000, 1.0, noise=0.03)
    assert measured("burst", found).value == 0.0
    assert measured("sustained", found).value == near(16_000, 0.02)


def test_what_tells_nothing_says_so() -> None:
    assert "its last level" in measured("sustained", series(500, 0, 9_000, 1.0)[:4]).why
    rising = series(500, 90_000, 9_000, 1.0)[::-1]
    assert measured("sustained", rising).why


def test_a_burst_that_was_spent_is_told_of() -> None:
    text = spent(series(500, 20_000, 2_500, 1.0, noise=0.05))
    assert text.startswith("reads fell from 2.49k") and "to 500 IOPS at 10" in text


@pytest.mark.parametrize(
    "quiet",
    [
        series(500, 0, 2_500, 1.0),
        series(3_000, 20_000, 2_500, 1.0, noise=0.05),
        series(2_100, 20_000, 2_500, 1.0),
    ],
    ids=["at its limit all the time", "never at a limit", "hardly slower"],
)
def test_nothing_is_said_where_no_limit_shows(quiet: list[Interval]) -> None:
    assert not spent(quiet)


def test_a_slowdown_that_is_not_flat_is_no_limit() -> None:
    """As of heat, or of a busy neighbour."""
    fast = series(5_000, 0, 2_500, 1.0, noise=0.05)[:20]
    slow = series(5_000, 0, 1_000, 1.0, noise=0.1)[20:]
    assert not spent([*fast, *slow])


def test_the_last_level_needs_five_intervals() -> None:
    """The first may have begun within one, and the last of a run may be cut short."""
    whole = series(500, 8_000, 16_000, 1.0)
    begin = next(n for n, one in enumerate(whole) if one.ios["read"] == 500)
    assert measured("sustained", whole[: begin + 6]).value == pytest.approx(500)
    few = measured("sustained", whole[: begin + 5])
    assert "has 4 intervals" in few.why


def test_a_rough_level_is_measured_whole() -> None:
    """None of its intervals is further off than the others are."""
    rough = [
        changed(one, (800, 1_200)[number % 2])
        for number, one in enumerate(series(10**9, 0, 1_000, 1.0))
    ]
    assert measured("sustained", rough).value == near(1_000, 0.01)


@pytest.mark.parametrize(("off_percent", "told"), [(1, True), (4, False)])
def test_a_refill_scatters_little(off_percent: int, told: bool) -> None:
    found = [
        changed(one, 1_000 + 10 * off_percent * (-1) ** number)
        if one.ios["read"] == 1_000
        else one
        for number, one in enumerate(series(1_000, 150_000, 16_000, 1.0))
    ]
    assert bool(spent(found)) is told


def noisy(mean: float, count: int, draw: random.Random, share: float) -> list[float]:
    """Neighbours depend on each other, as those of a drive do."""
    values, off = [], 0.0
    for _ in range(count):
        off = 0.5 * off + draw.gauss(0, share * mean)
        values.append(mean + off)
    return values


def test_a_burst_is_told_apart_with_its_length() -> None:
    draw = random.Random(1)
    values = noisy(2407e6, 11, draw, 0.02) + noisy(671e6, 71, draw, 0.02)
    found = OverTime(values, 1.0)
    assert found.burst and found.burst.length_s == 11
    assert found.burst.value == pytest.approx(2407e6, rel=0.05)
    assert fmean(found.sustained) == pytest.approx(671e6, rel=0.02)
    assert found.spread_percent and found.spread_percent < 5  # not that of the drop


def test_two_drops_leave_the_last_level() -> None:
    draw = random.Random(2)
    values = [*noisy(9.0, 20, draw, 0.02), *noisy(5.0, 20, draw, 0.02)]
    found = OverTime([*values, *noisy(2.0, 40, draw, 0.02)], 0.5)
    assert fmean(found.sustained) == pytest.approx(2.0, rel=0.05)
    assert found.burst and found.burst.length_s == 10
    assert found.burst.value == pytest.approx(9.0, rel=0.05)


def test_a_short_burst_is_no_noise() -> None:
    draw = random.Random(3)
    found = OverTime(noisy(10.0, 3, draw, 0.01) + noisy(4.0, 27, draw, 0.01), 1.0)
    assert found.burst and found.burst.length_s == 3


@pytest.mark.parametrize(
    "shape",
    [
        lambda draw: noisy(100.0, 60, draw, 0.05),
        lambda draw: noisy(100.0, 60, draw, 0.3),
        lambda draw: noisy(100.0, 20, draw, 0.1),
        # garbage collection comes and goes
        lambda draw: [
            v * (0.4 if n % 10 < 3 else 1)
            for n, v in enumerate(noisy(100.0, 60, draw, 0.05))
        ],
    ],
    ids=["quiet", "loud", "short", "in turns"],
)
def test_noise_is_no_change(shape: Callable[[random.Random], list[float]]) -> None:
    draw = random.Random(4)
    changed = sum(len(levels(shape(draw))) > 1 for _ in range(300))
    assert changed <= 3


def test_a_small_change_is_none() -> None:
    draw = random.Random(5)
    values = noisy(100.0, 60, draw, 0.001) + noisy(95.0, 60, draw, 0.001)
    assert OverTime(values, 1.0).burst is None


def test_what_the_plan_changes_is_no_finding() -> None:
    values = [10.0] * 20 + [2.0] * 20
    assert OverTime(values, 1.0).burst
    steered = OverTime(values, 1.0, is_steered=True)
    assert steered.burst is None and steered.sustained == values


REPLAY = Replay(digest="0", ios=9, span_ns=9, end_bytes=9, moved_bytes=9)

EVENT = EventMade(name="e", start_s=1, end_s=2, host="", exit_code=0, output="")


@pytest.mark.parametrize(
    ("of_stream", "of_run", "steered"),
    [
        ({}, {}, False),
        ({"replay": REPLAY}, {}, True),
        ({"replay": REPLAY, "pace": "fast"}, {}, False),
        ({}, {"events": (EVENT,)}, True),
    ],
)
def test_the_rate_of_a_trace_and_an_event_of_the_lab_are_the_plans(
    of_stream: dict[str, Any], of_run: dict[str, Any], steered: bool
) -> None:
    assert is_steered([record(1, load=of_stream, **of_run)]) is steered


@pytest.mark.parametrize("count", [0, 1, 5, 9])
def test_a_handful_of_intervals_has_one_level(count: int) -> None:
    values = ([9.0] * 3 + [1.0] * 6)[:count]
    assert levels(values) == [values]
