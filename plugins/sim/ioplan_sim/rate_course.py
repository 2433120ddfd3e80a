"""How a rate changes while a stream runs: what arrives, and as what rate it counts."""

from __future__ import annotations

from itertools import accumulate
from math import inf, log2

from ioplan.job import JobStream
from ioplan.workload import Rate

STEPS = 8
"""So many rates in an octave of a ramp are told apart."""
LEAST_PER_NS = 1e-9
"""A stream is followed at no lower rate: an I/O a second."""


class RateCourse:
    """A rate that changes, in I/Os; times from the start of the measured part on.

    As the engine's `pattern/pace.rs`; but a ramp is taken to be flat while it changes
    so little that latencies would not tell.
    """

    def __init__(self, rate: Rate, ios_per_unit: float, own_ns: float) -> None:
        per_ns = ios_per_unit / 1e9
        self.phases = [(one.length_ns, one.per_s * per_ns) for one in rate.phases]
        self.ends_ns = [0, *accumulate(length_ns for length_ns, _ in self.phases)]
        first, last = rate.first_per_s or 0.0, rate.last_per_s or 0.0
        self.first, self.last, self.own_ns = first * per_ns, last * per_ns, own_ns

    def per_ns(self, at_ns: float) -> float:
        """The rate at a time."""
        if self.phases:
            return self.phases[self._place(at_ns)[0]][1]
        share = min(1.0, max(0.0, at_ns / self.own_ns))
        return self.first + (self.last - self.first) * share

    def level(self, at_ns: float) -> float:
        """The rate, as far as rates are told apart."""
        rate = max(LEAST_PER_NS, self.per_ns(at_ns))
        return rate if self.phases else 2.0 ** (round(log2(rate) * STEPS) / STEPS)

    def next_change_ns(self, at_ns: float) -> float:
        """How long it stays as it is, or about that."""
        if self.phases:
            number, since_ns = self._place(at_ns)
            return max(1.0, self.phases[number][0] - since_ns)
        if not 0 <= at_ns < self.own_ns:
            return -at_ns if at_ns < 0 else inf
        slope = abs(self.last - self.first) / self.own_ns
        part = max(self.per_ns(at_ns), (self.first + self.last) / 100) / STEPS / 2
        return max(1.0, min(part / slope, self.own_ns - at_ns))

    def arrivals(self, at_ns: float, time_ns: float) -> float:
        """How many I/Os are due in a time in which it stays as it is."""
        ends = self.per_ns(at_ns), self.per_ns(at_ns + time_ns)
        return (ends[0] if self.phases else sum(ends) / 2) * time_ns

    def _place(self, at_ns: float) -> tuple[int, float]:
        """The phase, and how long it has been that one."""
        left_ns = at_ns % self.ends_ns[-1]
        number = sum(end_ns <= left_ns for end_ns in self.ends_ns[1:])
        return number, left_ns - self.ends_ns[number]


def course_of(stream: JobStream, mean_bytes: float, own_ns: float) -> RateCourse | None:
    """None for a rate that is the same all the time."""
    rate = stream.rate
    if rate is None or not rate.changes:
        return None
    return RateCourse(rate, 1.0 if rate.iops else 1 / mean_bytes, own_ns)
