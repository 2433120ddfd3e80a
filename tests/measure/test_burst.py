"""Sustained rates and bursts, from buckets whose truth is known."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from figures import interval, record

from ioplan.language import Metric
from ioplan.records import Interval, RunDetail
from ioplan.results.measure import Figure, Sample, figure
from ioplan.results.measure.burst import spent

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
