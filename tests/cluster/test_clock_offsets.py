"""Clocks of hosts are read while more answers arrive."""

from __future__ import annotations

from collections import deque
from typing import Any

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
