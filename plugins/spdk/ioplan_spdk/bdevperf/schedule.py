"""When a test's statistics are asked for."""

from __future__ import annotations

from math import inf

LEAST_INTERVAL_S = 0.1
"""A histogram is 79 KB of text, made by the core that does the I/O."""
BEFORE_END_S = 0.1
"""When the histograms are asked for the last time: with the test they are gone."""
BY_BYTES_S = 0.25
"""How often a test that its bytes end is looked at, at least."""


class Schedule:
    """Times in seconds after the test was asked for."""

    def __init__(self, interval_s: float, test_s: float, by_bytes: bool) -> None:
        self.interval_s = max(LEAST_INTERVAL_S, interval_s)
        self.last_s = max(BEFORE_END_S, test_s - BEFORE_END_S)
        self.look_s = BY_BYTES_S if by_bytes else inf
        self.test_s = test_s
        self.point_s = self.interval_s
        self.next_s = 0.0
        self._plan(0.0)

    def passed(self, t_s: float) -> bool:
        """The statistics came; whether they make a point of the series.

        A reply so late that the test is over is left to its end.
        """
        is_point = self.point_s <= t_s < self.test_s
        if is_point:
            self.point_s = self.interval_s * (t_s // self.interval_s + 1)
        self._plan(t_s)
        return is_point

    def _plan(self, t_s: float) -> None:
        times = (self.point_s, self.last_s, t_s + self.look_s)
        self.next_s = min((s for s in times if t_s < s <= self.last_s), default=inf)
