"""The places of a shaped write: steady state's valid pages, in one pass over the flash.

In steady state under uniform random writes, all pages are alike likely to be written
next, so that a block loses its valid pages in proportion to what it has: one of age
`a`, from 0 (the newest) to 1 (the next to be collected), has kept^a of them, where
(1 - kept) / ln(1 / kept) = 1 / (1 + spare), as the mean of all blocks is what is stored
(P. Desnoyers, Analytic Modeling of SSD Write Performance, SYSTOR 2012; L. Xiang and
B. Kurkoski, arXiv 1110.4245). The pass fills the flash from the oldest block
on. A place is written for the last time with the chance that its block keeps it; else
one is written that will be written again. The engine does the same
(`pattern/shaped.rs`).
"""

from __future__ import annotations

from math import exp

import numpy as np

from ioplan.results.measure.spare import lambert_w
from ioplan_sim.flash import Pages

STEP = 1024


def fall(spare_percent: float) -> float:
    """ln(1 / kept), of what the next block to be collected has kept."""
    flash = 1 + spare_percent / 100
    return flash + lambert_w(-flash * exp(-flash))


class Shaped:
    """Writes to `count` slots, each once for the last time, in a random order."""

    def __init__(
        self, count: int, spare_percent: float, rng: np.random.Generator
    ) -> None:
        self.order, self.rng = rng.permutation(count), rng
        self.fall = fall(spare_percent)
        self.steps = round(count * (1 + spare_percent / 100))
        self.step = self.done = 0

    def take(self, count: int) -> Pages:
        """The next slots."""
        ends = range(self.step + STEP, self.step + count + STEP, STEP)
        until = min(self.steps, self.step + count)
        parts = [self._part(min(end, until)) for end in ends]
        return np.concatenate([*parts, self.order[:0]])

    def _part(self, end: int) -> Pages:
        """Up to a step; the last part has all that chance has left over."""
        rest = self.order[self.done :]
        steps, left = np.arange(self.step, end), len(rest)
        self.step = max(self.step, end)
        if not left or not len(steps):
            return rest[:0]
        kept = np.exp(-self.fall * (1 - (steps + 0.5) / self.steps))
        chance = left * self.fall * kept / ((1 - kept[0]) * self.steps)
        draws = self.rng.random((2, len(steps)))
        is_last = draws[0] < chance
        before = np.minimum(np.cumsum(is_last) - is_last, left - 1)
        places = before + draws[1] * (left - before) * ~is_last
        done = min(left, int(is_last.sum()))
        found = rest[places.astype(np.int64)]
        if end == self.steps:
            found, done = np.concatenate([found, rest[done:]]), left
        self.done += done
        return np.asarray(found)
