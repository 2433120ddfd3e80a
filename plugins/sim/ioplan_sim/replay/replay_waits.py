"""Which I/Os of a recording the next one waits for, as in the engine's `waits.rs`.

These are all that had completed before it began: what had completed may have been
waited for, what had not cannot. It begins as long after the last of them as it did in
the recording, and never before the one that was recorded before it.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf


class Waits:
    """Times count from the start of the replay, those of the recording as well."""

    def __init__(self) -> None:
        self.recorded: list[tuple[float, int]] = []
        self.in_flight: set[int] = set()
        self.awaited: set[int] = set()
        self.complete_ns: dict[int, float] = {}
        self.recorded_ns = self.reached_ns = self.last_ns = 0.0
        self.passed = self.waited = 0
        self.waits = False

    def start_ns(self, number: int, at_ns: float) -> float:
        """When the next I/O is to begin, recorded then; inf while it waits."""
        if number >= self.passed:
            self.passed = number + 1
            self._pass(at_ns)
        if self.awaited:
            return inf
        start_ns = self.reached_ns + max(0.0, at_ns - self.recorded_ns)
        return max(start_ns, self.last_ns)

    def _pass(self, at_ns: float) -> None:
        self.waits = False
        while self.recorded and self.recorded[0][0] <= at_ns:
            self.recorded_ns, number = heappop(self.recorded)
            self.waits = True
            if number in self.in_flight:
                self.awaited.add(number)
            else:
                self.reached_ns = max(self.reached_ns, self.complete_ns.pop(number))

    def begin(self, number: int, start_ns: float, completed_ns: float) -> None:
        """It begins; what has no completion in the recording is waited for by none."""
        self.last_ns = start_ns
        self.waited += self.waits
        if completed_ns < inf:
            heappush(self.recorded, (completed_ns, number))
            self.in_flight.add(number)

    def complete(self, number: int, here_ns: float) -> None:
        """One is complete."""
        if number not in self.in_flight:
            return
        self.in_flight.remove(number)
        if number in self.awaited:
            self.awaited.remove(number)
            self.reached_ns = max(self.reached_ns, here_ns)
        else:
            self.complete_ns[number] = here_ns
