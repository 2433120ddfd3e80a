"""Clocks of hosts: read while more answers arrive, and watched for being set back."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

import pytest

from ioplan_lab.cluster.hosts import clock
from ioplan_lab.cluster.sync.channel import Channels
from ioplan_lab.cluster.sync.start_skew import MAX_EXCHANGES


class LastAnswer:
    """While one is looked at, the loop's thread adds another."""

    offset_ns = 5

    def __init__(self, clock: deque[Any]) -> None:
        self.clock = clock

    @property
    def uncertainty_ns(self) -> int:
        self.clock.append(LastAnswer(self.clock))
        return 100


class Answered(Channels):
    """A host that has answered as soon as it is asked."""

    def __init__(self) -> None:
        self.lost: set[str] = set()
        self.clocks = {"h": deque[Any](maxlen=MAX_EXCHANGES)}

    def _run(self, coroutine: Any) -> Any:
        coroutine.close()
        clock = self.clocks["h"]
        clock.extend(LastAnswer(clock) for _ in range(MAX_EXCHANGES))


def test_an_answer_may_arrive_while_answers_are_compared() -> None:
    assert Answered().offsets(["h"])["h"].offset_ns == 5


def test_only_a_clock_that_goes_back_by_much_ends_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Small steps, also many, and a jump ahead are nothing to it."""
    monkeypatch.setattr(clock, "LOOK_S", 0.0)
    small = [-one * 0.9 for one in range(20)]
    looks = iter([0.0, *small, 3600.0, 3595.0, 0.0, -7200.0])
    asyncio.run(clock.until_set_back(lambda: next(looks)))
    assert list(looks) == [-7200.0]
    told = capfd.readouterr()
    assert "the clock was set back" in told.out + told.err
