"""Something that is done in the midst of a run, at a moment drawn from a range."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from threading import Timer

from ioplan.job import SECOND_NS


class Timed:
    """Done `at_s` after `begin`, by a thread while the run goes on."""

    def __init__(self, at_s: float, do: Callable[[], None]) -> None:
        self.at_s = at_s
        self.begun_s = 0.0
        self.timer = Timer(at_s, do)

    def begin(self) -> None:
        """The first I/O is issued."""
        self.begun_s = time.monotonic()
        self.timer.start()

    def end(self) -> None:
        """The run is over: what was not begun is not done, what was is waited for."""
        self.timer.cancel()
        if self.timer.is_alive():
            self.timer.join()


def drawn_s(between_ns: tuple[int, int], *seeds: object) -> float:
    """A moment of the range: the same for the same run, another for each."""
    draw = Random(" ".join(map(str, seeds)))
    return draw.uniform(*between_ns) / SECOND_NS
