"""What a run sustains: changes of level are found, and noise is none."""

from __future__ import annotations

import random
from collections.abc import Callable
from statistics import fmean
from typing import Any

import pytest
from figures import record

from ioplan.records import EventMade
from ioplan.results.measure.levels import levels
from ioplan.results.measure.over_time import OverTime, is_steered
from ioplan.workload import Replay


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
