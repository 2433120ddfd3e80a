"""Targets of which it is known how much they can bear, as intervals of their runs.

Each says of a run at some rate, interval by interval, how many I/Os took longer than
the limit, of how many. `p99 <= limit` holds up to `truth`.
"""

from math import exp, inf, log, log10, sqrt
from typing import Any

import numpy as np
from msgspec import Struct

from ioplan.planner import Bounds, Claim, Decider, Point, Search, grid, most_probes

SHARE = 0.01
CLAIM = Claim("p99 <= limit", "share", SHARE)


class Target:
    """I/Os above the limit with a chance that the rate decides."""

    changes: tuple[float, ...] = (20_000.0,)
    """Where yes turns to no, and back, and so on."""

    def share(self, rate):
        """What is above the limit, in the long run."""
        return 0.002 if self.holds(rate) else 0.1

    def holds(self, rate):
        """The truth."""
        return sum(rate > one for one in self.changes) % 2 == 0

    def run(self, rate, rng, length_s=1.0):
        """Intervals of that length."""
        while True:
            total = int(rng.poisson(rate * length_s))
            yield int(rng.binomial(total, min(1.0, self.share(rate)))), total


class Cliff(Target):
    """Flat, and then not."""


class NotMonotone(Target):
    """Bad at one rate, good again beyond it, as with a resonance of two timers."""

    changes = (6_000.0, 11_000.0, 20_000.0)


class NoisyCliff(Target):
    """Rises tenfold while the rate rises by a quarter; and all I/O of some neighbouring
    seconds is slower or faster (lognormal, correlation 0.5 from one second to the
    next)."""

    DEVIATION, CORRELATION = 0.5, 0.5

    def share(self, rate):
        slope = 1 / log10(1.25)
        low = SHARE * 10 ** (slope * log10(rate / self.changes[0]))
        return min(0.5, max(0.0005, low))

    def run(self, rate, rng, length_s=1.0):
        state, kept = rng.normal(), self.CORRELATION**length_s
        while True:
            state = kept * state + sqrt(1 - kept**2) * rng.normal()
            factor = exp(self.DEVIATION * state - self.DEVIATION**2 / 2)
            total = int(rng.poisson(rate * length_s))
            share = min(1.0, self.share(rate) * factor)
            yield int(rng.binomial(total, share)), total


class MM1(Target):
    """One server, Poisson arrivals, exponential service: each I/O in its queue.

    The time in the system is exponential with the mean 1 / (service - arrival rate).
    """

    SERVICE, LIMIT_S = 2_000.0, 0.01
    changes = (SERVICE - log(1 / SHARE) / LIMIT_S,)

    def share(self, rate):
        return exp(-max(0.0, self.SERVICE - rate) * self.LIMIT_S)

    def run(self, rate, rng, length_s=1.0):
        waiting_s = 0.0
        while True:
            total = max(1, int(rng.poisson(rate * length_s)))
            gaps_s = np.diff(np.sort(length_s * rng.random(total)), append=length_s)
            service_s = rng.exponential(1 / self.SERVICE, total)
            path = np.concatenate(
                ([waiting_s], waiting_s + np.cumsum(service_s - gaps_s))
            )
            wait_s = path - np.minimum(np.minimum.accumulate(path), 0.0)
            waiting_s = float(wait_s[-1])
            yield int((wait_s[:-1] + service_s > self.LIMIT_S).sum()), total


class Credit(Target):
    """Any rate for the first 45 s of each run; then what it sustains."""

    CREDIT_S = 45.0

    def run(self, rate, rng, length_s=1.0):
        time_s = 0.0
        while True:
            share = 0.002 if time_s < self.CREDIT_S else self.share(rate)
            total = int(rng.poisson(rate * length_s))
            time_s += length_s
            yield int(rng.binomial(total, share)), total


class StallingCredit(Credit):
    """A stall of a fifth of a second, besides, in each minute of a run."""

    def run(self, rate, rng, length_s=1.0):
        time_s = 0.0
        for above, total in super().run(rate, rng, length_s):
            time_s += length_s
            stalled = time_s % 60 < length_s
            yield max(above, total // 5 if stalled else 0), total


class Sought(Struct, frozen=True):
    """A seek, and what it cost."""

    finding: Any
    cost_s: float
    bound: int
    sweep_s: float


def seek(target, bounds, seed, run_s=30, confirm_s=120):
    """One seek on a target, with runs of that length."""
    rng = np.random.default_rng(seed)
    search, cost_s = Search(bounds), 0.0
    while probe := search.next_probe():
        least_s = confirm_s if probe.phase == "confirm" else run_s
        decider = Decider([CLAIM], least_s, confirm_s, probe.phase == "confirm")
        for above, total in target.run(probe.value, rng):
            decision = decider.add(1.0, [Point(above, total)])
            if decision:
                break
        search.answer(decision.answer)
        cost_s += decider.time_s
    sweep_s = len(grid(bounds)) * run_s
    return Sought(search.finding(), cost_s, most_probes(bounds), sweep_s)


def contains(target, lower, upper):
    """Whether the stated interval holds a place where yes turns to no."""
    return any((lower or 0) <= one < (upper or inf) for one in target.changes[::2])


TARGETS = {
    "cliff": (Cliff(), Bounds(1_000.0, 100_000.0)),
    "noisy cliff": (NoisyCliff(), Bounds(1_000.0, 100_000.0)),
    "not monotone": (NotMonotone(), Bounds(1_000.0, 100_000.0)),
    "M/M/1": (MM1(), Bounds(100.0, 4_000.0)),
}
"""What is sought where, each to 5 %."""
CREDITS = {
    "credit": Credit(),
    "stalling credit": StallingCredit(),
}
"""What short runs overrate."""
