"""The two clocks of a run: one tells the date, and may jump; one tells durations."""

from __future__ import annotations

import time
from collections.abc import Callable

from ioplan.job import SECOND_NS

MOST_JUMP_S = 1.0

Clock = Callable[[], int]


class Clocks:
    """A moment on both clocks; they give ns."""

    def __init__(
        self, wall: Clock = time.time_ns, steady: Clock = time.monotonic_ns
    ) -> None:
        self.wall, self.steady = wall, steady
        self.wall_ns, self.steady_ns = wall(), steady()

    def jump(self) -> str:
        """How far the date has moved against the durations since; empty if it has not.

        Also a machine that slept shows so: its durations do not count the sleep.
        """
        passed_ns = self.steady() - self.steady_ns
        jump_s = (self.wall() - self.wall_ns - passed_ns) / SECOND_NS
        if abs(jump_s) <= MOST_JUMP_S:
            return ""
        return (
            f"the system's clock moved by {jump_s:+.1f} s during the run: it was set, "
            f"or the machine slept; durations and rates are by another clock and hold, "
            f"dates do not"
        )
