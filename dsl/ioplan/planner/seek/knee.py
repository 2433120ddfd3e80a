"""The knee: the smallest depth that reaches a share of the highest throughput.

A share and no detector: what finds "the bend" has a sensitivity that is hidden and
decides, and two such detectors disagree.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from math import inf, log, sqrt
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ioplan.planner.seek.grid import Bounds, doubled, grid
from ioplan.planner.seek.search import Answered, Finding, Phase, Probe

# Gunther's universal scalability law, fitted: information beside a knee.
#
#     throughput(n) = gamma n / (1 + alpha (n - 1) + beta n (n - 1))
#
# `alpha` is contention, `beta` coherency; with beta the throughput has its peak at
# sqrt((1 - alpha) / beta) (Gunther, Guerrilla Capacity Planning, 2007, chapter 4).

Floats: TypeAlias = "npt.NDArray[np.float64]"

LEAST_POINTS = 5
RESAMPLES = 400
SEED = 20260101


class Usl(Struct, frozen=True):
    """A fit; the peak is a depth, `inf` where throughput never falls. Its interval has
    a confidence of 95 %, from the residuals."""

    gamma: float
    alpha: float
    beta: float
    peak: float
    peak_low: float
    peak_high: float


def usl(throughputs: Mapping[float, float]) -> Usl | None:
    """Throughput by depth; None for fewer than five points."""
    known = sorted((n, x) for n, x in throughputs.items() if n > 0 and x > 0)
    if len(known) < LEAST_POINTS:
        return None
    depths, measured = np.array(known, dtype=np.float64).T
    found = _fit(depths, measured)
    off = np.log(measured / _model(found, depths))
    off *= sqrt(len(off) / (len(off) - len(found)))
    rng = np.random.default_rng(SEED)
    again = rng.choice(off, size=(RESAMPLES, len(off)))
    drawn = _model(found, depths) * np.exp(again)
    peaks = sorted(_peak(_fit(depths, one)) for one in drawn)
    gamma, alpha, beta = _law(found)
    low, high = peaks[round(0.025 * RESAMPLES)], peaks[round(0.975 * RESAMPLES) - 1]
    return Usl(gamma, alpha, beta, _peak(found), low, high)


def _terms(depths: Floats) -> Floats:
    return np.column_stack((np.ones_like(depths), depths - 1, depths * (depths - 1)))


def _model(found: Floats, depths: Floats) -> Floats:
    modelled: Floats = depths / (_terms(depths) @ found)
    return modelled


def _fit(depths: Floats, measured: Floats) -> Floats:
    """1 / gamma, alpha / gamma and beta / gamma: depth over throughput is linear in
    them. By least squares of relative errors; none is below 0."""
    rows = _terms(depths) * (measured / depths)[:, None]
    used = [0, 1, 2]
    while True:
        found = np.zeros(3)
        found[used] = np.linalg.lstsq(rows[:, used], np.ones_like(depths), rcond=None)[
            0
        ]
        below = [k for k in used[1:] if found[k] < 0]
        if not below:
            return found
        used.remove(below[-1])


def _law(found: Floats) -> tuple[float, float, float]:
    gamma = 1 / float(found[0])
    return gamma, gamma * float(found[1]), gamma * float(found[2])


def _peak(found: Floats) -> float:
    _, alpha, beta = _law(found)
    return max(1.0, sqrt(max(0.0, 1 - alpha) / beta)) if beta else inf


SHARE = 0.95

Steps = Generator[int, float, None]


class Knee(Struct, frozen=True):
    """The finding, and the highest throughput of all probes.

    A probe's answer is yes if it reaches the share of that.
    """

    finding: Finding
    highest: float


class KneeSearch:
    """Doubles through the whole range, bisects, and confirms, as `Search` does; but it
    is told the throughput of each probe. `most_probes` bounds it, too. Raises
    ValueError for bounds without a value.
    """

    def __init__(self, bounds: Bounds, share: float = SHARE) -> None:
        self.bounds, self.share, self.values = bounds, share, grid(bounds)
        self.seen: list[tuple[Probe, float]] = []
        self.throughputs: dict[int, float] = {}
        self._phase: Phase = "bracket"
        self._steps = self._search()
        self._index: int | None = next(self._steps)

    def next_probe(self) -> Probe | None:
        """What is to be tried now; None when the search has ended."""
        if self._index is None:
            return None
        return Probe(self.values[self._index], self._phase, len(self.seen) + 1)

    def answer(self, throughput: float) -> None:
        """What came out of `next_probe`; a second run at a depth counts in place of
        the first."""
        probe = self.next_probe()
        assert probe is not None and self._index is not None, "the search has ended"
        self.seen.append((probe, throughput))
        self.throughputs[self._index] = throughput
        try:
            self._index = self._steps.send(throughput)
        except StopIteration:
            self._index = None

    def finding(self) -> Knee:
        """What is known so far: `lower` is the nearest depth that falls short. Not
        `monotone` means that throughput falls short again at a greater depth. Where
        nothing completed at any depth, none is a knee."""
        needed = self._needed()
        low, high = self._edge()
        value = self.values[high] if self.throughputs.get(high) else None
        reached = {k: one >= needed for k, one in self.throughputs.items()}
        last = {probe.value: probe.phase for probe, _ in self.seen}
        found = Finding(
            value=value,
            lower=self.values[low] if low >= 0 else None,
            upper=value,
            confirmed=value is not None and last[value] == "confirm",
            monotone=all(one for k, one in reached.items() if k > high),
            probes=tuple(
                Answered(probe, "yes" if one and one >= needed else "no")
                for probe, one in self.seen
            ),
        )
        return Knee(found, needed / self.share)

    @property
    def grows(self) -> bool:
        """Whether throughput still grows where the search ended: from the knee on by
        more than half of what the depth does, in the logarithm."""
        top, knee = max(self.throughputs), self._edge()[1]
        if knee == top or not self.throughputs[top]:
            return knee == top
        gained = log(self.throughputs[top] / self.throughputs[knee])
        return gained > log(self.values[top] / self.values[knee]) / 2

    def _needed(self) -> float:
        return self.share * max(self.throughputs.values(), default=0.0)

    def _search(self) -> Steps:
        last, index = len(self.values) - 1, 0
        yield index
        while index < last and self._may_explore():
            index = min(last, doubled(self.values, index))
            yield index
        self._phase = "bisect"
        while (middle := self._middle()) is not None and self._may_explore():
            yield middle
        yield from self._confirm()

    def _edge(self) -> tuple[int, int]:
        """The smallest depth so far that reaches the share, and the next below it."""
        needed, known = self._needed(), self.throughputs
        high = min((k for k, one in known.items() if one >= needed), default=0)
        return max((k for k in known if k < high), default=-1), high

    def _middle(self) -> int | None:
        low, high = self._edge()
        return (low + high) // 2 if high - low > 1 and low >= 0 else None

    def _confirm(self) -> Steps:
        """If it falls short in the long run, one step up, and again."""
        if not self._needed():
            return
        self._phase = "confirm"
        index = self._edge()[1]
        for _ in range(self.bounds.confirmations):
            limit = self.bounds.at_most
            spent = limit is not None and len(self.seen) >= limit
            if spent or index == len(self.values):
                return
            if (yield index) >= self._needed():
                return
            index += 1

    def _may_explore(self) -> bool:
        limit = self.bounds.at_most
        return limit is None or len(self.seen) < limit - 1
