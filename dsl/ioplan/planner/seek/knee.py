"""The knee: the smallest depth that reaches a share of the highest throughput.

A share and no detector: what finds "the bend" has a sensitivity that is hidden and
decides, and two such detectors disagree.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import accumulate
from math import exp, inf, log, sqrt
from operator import itemgetter
from statistics import fmean

from msgspec import Struct

from ioplan.core.statistics.student_t import quantile
from ioplan.planner.seek.decide import MARGIN
from ioplan.planner.seek.grid import Bounds, doubled, grid
from ioplan.planner.seek.search import (
    PROOFS,
    Answered,
    Finding,
    Phase,
    Probe,
    most_probes,
)

SHARE = 0.95
CONFIDENCE = 0.95
LEAST_CONFIRMATIONS = 3
"""Probes that are left for long runs, however long the search takes."""
LEAST_FREEDOM = 2
"""Fewer runs than that beyond the levels of the curve tell no noise."""

Steps = Generator[int, float, None]


class Level(Struct, frozen=True):
    """Neighbouring depths of one throughput, as a logarithm, by so many runs."""

    height: float
    runs: int
    depths: int = 1

    def joined(self, other: Level) -> Level:
        """Both as one."""
        runs = self.runs + other.runs
        height = (self.height * self.runs + other.height * other.runs) / runs
        return Level(height, runs, self.depths + other.depths)


def rising(points: Sequence[Level]) -> list[Level]:
    """The nearest curve that never falls: neighbours that do are pooled."""
    levels: list[Level] = []
    for point in points:
        level = point
        while levels and levels[-1].height >= level.height:
            level = levels.pop().joined(level)
        levels.append(level)
    return [level for level in levels for _ in range(level.depths)]


class Curve:
    """Throughput over depth as it is without noise: it rises, and then may fall.

    By least squares of the logarithms; where it rises to is the depth of `top`.
    """

    def __init__(self, runs: Sequence[Sequence[float]]) -> None:
        self.means = [Level(fmean(map(log, one)), len(one)) for one in runs]
        tops = range(len(runs))
        self.error, self.levels = min(map(self._with_top, tops), key=itemgetter(0))
        self.top = max(tops, key=lambda k: (self.levels[k].height, k))
        spread = sum((log(x) - fmean(map(log, one))) ** 2 for one in runs for x in one)
        freedom = sum(map(len, runs)) - len({id(level) for level in self.levels})
        self.half_width = inf
        if freedom >= LEAST_FREEDOM:
            noise = sqrt((self.error + spread) / freedom)
            self.half_width = quantile((1 + CONFIDENCE) / 2, freedom) * noise

    def _with_top(self, top: int) -> tuple[float, list[Level]]:
        up, down = self.means[: top + 1], self.means[:top:-1]
        levels = rising(up) + rising(down)[::-1]
        pairs = zip(self.means, levels, strict=True)
        return sum(m.runs * (m.height - c.height) ** 2 for m, c in pairs), levels

    def interval(self, share: float) -> tuple[int, int | None]:
        """The first depth that may reach the share, and the first that must.

        None must where noise hides it. Depths from one to another are as fast as the
        last at most, and as the first at least, so that their mean bounds both.
        """
        if self.half_width == inf:
            return 0, None
        ios = list(accumulate((m.runs * m.height for m in self.means), initial=0.0))
        runs = list(accumulate((m.runs for m in self.means), initial=0))

        def mean(first: int, end: int) -> Level:
            count = runs[end] - runs[first]
            return Level((ios[end] - ios[first]) / count, count)

        def above(level: Level, top: Level) -> bool:
            error = self.half_width * sqrt(1 / level.runs + 1 / top.runs)
            return level.height - top.height - error - MARGIN >= log(share)

        size, half = len(self.means), self.half_width
        spans = [mean(a, b) for a in range(size) for b in range(a + 1, size + 1)]
        least = max(span.height - half / sqrt(span.runs) for span in spans)
        low, high = self.top, None
        for k in reversed(range(self.top + 1)):
            later = [mean(k, end) for end in range(k + 1, self.top + 2)]
            most = min(span.height + half / sqrt(span.runs) for span in later)
            low = k if most >= least + log(share) - MARGIN else low
            sooner = [mean(first, k + 1) for first in range(k + 1)]
            tops = (any(above(span, top) for span in sooner) for top in self.levels)
            high = k if all(tops) else high
        return low, high


class Knee(Struct, frozen=True):
    """The finding, and the highest throughput as the curve of all probes has it.

    A probe's answer is yes if its depth reaches the share of that. The knee is from
    `low` to `high` with a confidence of 95 %; None is where noise hides the end.
    """

    finding: Finding
    highest: float
    low: float | None = None
    high: float | None = None


class KneeSearch:
    """Doubles through the whole range, bisects, and confirms, as `Search` does; but it
    is told the throughput of each probe. `most_probes` bounds it, too. Raises
    ValueError for bounds without a value.
    """

    def __init__(self, bounds: Bounds, share: float = SHARE) -> None:
        self.bounds, self.share, self.values = bounds, share, grid(bounds)
        self.seen: list[tuple[Probe, int]] = []
        self.runs: dict[int, list[float]] = {}
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
        """What came out of `next_probe`."""
        probe = self.next_probe()
        assert probe is not None and self._index is not None, "the search has ended"
        self.seen.append((probe, self._index))
        self.runs.setdefault(self._index, []).append(throughput)
        self.throughputs = dict.fromkeys(self.runs, 0.0)
        if curve := self._curve():
            heights = (exp(level.height) for level in curve.levels)
            self.throughputs |= zip(self._moving(), heights, strict=True)
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
        enough = needed * (1 - 1e-9)
        reached = {k: one >= enough for k, one in self.throughputs.items()}
        last = {probe.value: probe.phase for probe, _ in self.seen}
        found = Finding(
            value=value,
            lower=self.values[low] if low >= 0 else None,
            upper=value,
            confirmed=value is not None and last[value] == "confirm",
            monotone=all(one for k, one in reached.items() if k > high),
            probes=tuple(
                Answered(probe, "yes" if needed and reached[k] else "no")
                for probe, k in self.seen
            ),
        )
        return Knee(found, needed / self.share, *self._interval())

    def _interval(self) -> tuple[float | None, float | None]:
        curve = self._curve()
        if curve is None or curve.half_width == inf:
            return None, None
        depths = self._moving()
        low, high = curve.interval(self.share)
        first = depths[low - 1] + 1 if low else 0
        return self.values[first], None if high is None else self.values[depths[high]]

    def _moving(self) -> list[int]:
        """Where something completes in each run, in order."""
        return sorted(k for k, runs in self.runs.items() if all(runs))

    def _curve(self) -> Curve | None:
        runs = [self.runs[k] for k in self._moving()]
        return Curve(runs) if runs else None

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
        yield from self._bisect()
        for number in range(PROOFS):
            beside = self._beside_highest() if number < PROOFS // 2 else None
            place = self._run_once() if beside is None else beside
            if place is None or not self._may_explore():
                break
            self._phase = "bracket"
            yield place
            yield from self._bisect()
        yield from self._confirm()

    def _bisect(self) -> Steps:
        self._phase = "bisect"
        while (middle := self._middle()) is not None and self._may_explore():
            yield middle

    def _beside_highest(self) -> int | None:
        """Where there may be more: halfway to a neighbour of the highest."""
        known = sorted(self.runs)
        place = max(range(len(known)), key=lambda k: self.throughputs[known[k]])
        highest = known[place]
        for near in (
            known[place - 1 : place + 2 : 2] if 0 < place < len(known) - 1 else ()
        ):
            lower = self.throughputs[near] < self.throughputs[highest]
            if lower and abs(near - highest) > max(1, highest // 8):
                return (near + highest) // 2
        return None

    def _run_once(self) -> int | None:
        """What is run once at the edge or on top: runs at one depth tell the noise."""
        highest = max(self.throughputs, key=self.throughputs.__getitem__)
        places = (*self._edge(), highest) if self.throughputs[highest] else ()
        again = (k for k in places if k >= 0 and len(self.runs[k]) == 1)
        return next(again, None)

    def _edge(self) -> tuple[int, int]:
        """The smallest depth so far that reaches the share, and the next below it."""
        needed, known = self._needed(), self.throughputs
        reached = (k for k, one in known.items() if one >= needed * (1 - 1e-9))
        high = min(reached, default=0)
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
            spent = len(self.seen) >= most_probes(self.bounds)
            if spent or index == len(self.values):
                return
            if (yield index) >= self._needed():
                return
            index += 1

    def _may_explore(self) -> bool:
        kept = 1 if self.bounds.at_most else LEAST_CONFIRMATIONS
        return len(self.seen) < most_probes(self.bounds) - kept
