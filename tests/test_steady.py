"""Steady state, against the definition worked out with numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ioplan.job import Progress
from ioplan.language.metric import parse_metric
from ioplan.language.plan import SteadyRule
from ioplan.results.record import Steady
from ioplan.runner.figures import Figure
from ioplan.runner.steady import assess, least_squares_slope
from ioplan.runner.window import SteadyWatch
from run_data import SECOND_NS, counts, stream

SNIA = SteadyRule(metric=parse_metric("iops"))
NARROW = SteadyRule(
    metric=parse_metric("read.p99"), window=3, range_percent=5, slope_percent=1
)

series = st.lists(st.floats(1, 1e9), min_size=3, max_size=40)
near = st.lists(st.floats(80, 120), min_size=5, max_size=8)


def judged(values: Sequence[float], rule: SteadyRule = SNIA) -> Steady:
    return assess(rule, [Figure(value) for value in values])


def test_the_published_trap() -> None:
    found = judged([100, 92, 84, 76, 68])
    assert not found.reached
    assert (round(found.range_percent, 1), round(found.slope_percent, 1)) == (
        38.1,
        38.1,
    )
    assert found.why == "range 38.1 % > 20 %, slope 38.1 % > 10 %"


@given(series)
def test_slope_is_that_of_polyfit(values: list[float]) -> None:
    slope = np.polyfit(range(len(values)), values, 1)[0]
    assert least_squares_slope(values) == pytest.approx(slope, rel=1e-6, abs=1e-4)


@given(near)
def test_definition(values: list[float]) -> None:
    """Over the last five: range 20 % of the mean, rise of the fitted line 10 %."""
    window = np.array(values[-5:])
    line = np.polyval(np.polyfit(range(5), window, 1), range(5))
    spread = (window.max() - window.min()) / window.mean() * 100
    rise = (line.max() - line.min()) / window.mean() * 100
    assume(abs(spread - 20) > 1e-6 and abs(rise - 10) > 1e-6)
    found = judged(values)
    assert found.values == tuple(window)
    assert found.range_percent == pytest.approx(spread)
    assert found.slope_percent == pytest.approx(rise, abs=1e-9)
    assert found.reached == bool(spread <= 20 and rise <= 10)
    assert found.reached == (found.why == "")


@given(near, st.sampled_from([1e-9, 1e-3, 7.0, 1e6, 1e12]))
def test_scale_does_not_matter(values: list[float], factor: float) -> None:
    one, other = judged(values), judged([v * factor for v in values])
    assert other.range_percent == pytest.approx(one.range_percent)
    assert other.slope_percent == pytest.approx(one.slope_percent, abs=1e-9)
    assume(abs(one.range_percent - 20) > 1e-6 and abs(one.slope_percent - 10) > 1e-6)
    assert other.reached == one.reached


@given(near)
def test_direction_of_time_does_not_matter(values: list[float]) -> None:
    one, other = judged(values[-5:]), judged(values[-5:][::-1])
    assert other.slope_percent == pytest.approx(one.slope_percent, abs=1e-9)
    assert other.range_percent == pytest.approx(one.range_percent)


@given(st.lists(st.floats(0, 1e12), max_size=20))
def test_only_the_window_matters(values: list[float]) -> None:
    assert judged(values) == judged(values[-5:])


@pytest.mark.parametrize(
    ("values", "range_percent", "slope_percent"),
    [
        ([90, 110, 100, 90, 110], 20, 8),  # the range is exactly the limit
        ([95, 97.5, 100, 102.5, 105], 10, 10),  # the slope is
        ([0.95, 0.975, 1, 1.025, 1.05], 10, 10),
        ([100] * 5, 0, 0),
    ],
)
def test_a_limit_that_is_met_exactly_is_met(
    values: list[float], range_percent: float, slope_percent: float
) -> None:
    for factor in (1, 1 / 3, 1e7 / 3):
        found = judged([value * factor for value in values])
        assert found.reached
        assert found.range_percent == pytest.approx(range_percent)
        assert found.slope_percent == pytest.approx(slope_percent)


def test_just_beyond_a_limit_is_not_steady() -> None:
    assert judged([90, 110.001, 100, 90, 110]).why.startswith("range")
    assert judged([94.99, 97.5, 100, 102.5, 105.01]).why == "slope 10.0 % > 10 %"


@pytest.mark.parametrize("n", range(5))
def test_a_window_that_is_not_full(n: int) -> None:
    found = judged([100.0] * n)
    assert not found.reached
    assert found.why == f"{n} of 5 values so far"


def test_the_plan_may_say_otherwise() -> None:
    assert judged([100, 101, 100], NARROW).reached
    assert not judged([100, 106, 100], NARROW).reached
    found = judged([100, 101, 102], NARROW)
    assert found.why == "slope 2.0 % > 1 %"
    assert (found.metric, found.window) == ("read.p99", 3)
    assert (found.range_limit_percent, found.slope_limit_percent) == (5, 1)


def test_nothing_at_all_is_not_steady() -> None:
    found = judged([0.0] * 5)
    assert not found.reached
    assert found.why == "iops is 0"
    assert (found.range_percent, found.slope_percent) == (0, 0)


def test_a_value_that_is_missing_is_said() -> None:
    values = [Figure(100.0)] * 4
    found = assess(SNIA, [*values, Figure(None, "needs 1_000 I/Os, had 5")])
    assert found.why == "needs 1_000 I/Os, had 5"
    assert assess(SNIA, [Figure(None, "no"), *values, Figure(100.0)]).reached


# a precondition's write, judged as it goes on


def interval(t_ns: int, length_ns: int, ios: int, warmup: bool = False) -> Progress:
    part = stream(write=counts([1000] * ios))
    return Progress(t_ns=t_ns, interval_ns=length_ns, warmup=warmup, streams=(part,))


def watched(
    lengths_ns: Sequence[int], every_ns: int, ios: Sequence[int]
) -> tuple[list[Steady], list[bool]]:
    told: list[Steady] = []
    watch = SteadyWatch(SNIA, every_ns, lambda steady, number: told.append(steady))
    now_ns, ended = 0, []
    for length_ns, amount in zip(lengths_ns, ios, strict=True):
        now_ns += length_ns
        ended.append(watch.add(interval(now_ns, length_ns, amount)))
    return told, ended


def test_windows_are_judged_one_by_one() -> None:
    told, ended = watched([SECOND_NS] * 12, 2 * SECOND_NS, [100] * 12)
    assert [len(steady.values) for steady in told] == [1, 2, 3, 4, 5, 5]
    assert [steady.reached for steady in told] == [False] * 4 + [True] * 2
    assert ended.index(True) == 9
    assert told[-1].values == (100,) * 5


def test_a_value_is_that_of_its_window() -> None:
    """Not that of all that was written so far."""
    told, _ = watched([SECOND_NS] * 6, 2 * SECOND_NS, [400, 200, 100, 60, 20, 0])
    assert told[-1].values == (300, 80, 10)


def test_intervals_need_not_be_of_the_length_that_was_asked_for() -> None:
    short, _ = watched([SECOND_NS - 1000] * 10, 2 * SECOND_NS, [100] * 10)
    long, _ = watched([SECOND_NS + 1000] * 10, 2 * SECOND_NS, [100] * 10)
    assert len(short) == len(long) == 5


def test_the_warm_up_does_not_count() -> None:
    told: list[int] = []
    watch = SteadyWatch(SNIA, SECOND_NS, lambda steady, number: told.append(number))
    assert not watch.add(interval(SECOND_NS, SECOND_NS, 9, warmup=True))
    assert told == []
    assert watch.last.why == "0 of 5 values so far"
