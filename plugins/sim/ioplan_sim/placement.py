"""Where the I/Os of a stream fall, as model pages and as shares of its region."""

from __future__ import annotations

from math import exp, gcd, log

import numpy as np
import numpy.typing as npt

from ioplan.backends import Hotspots, JobStream, Normal, Pareto, Zipf, lambert_w
from ioplan_sim.flash import Pages
from ioplan_sim.spec import MAP_BYTES, Geometry

# The places of a shaped write: steady state's valid pages, in one pass over the
# flash.
#
# In steady state under uniform random writes, all pages are alike likely to be
# written next, so that a block loses its valid pages in proportion to what it has:
# one of age `a`, from 0 (the newest) to 1 (the next to be collected), has kept^a of
# them, where (1 - kept) / ln(1 / kept) = 1 / (1 + spare), as the mean of all blocks
# is what is stored (P. Desnoyers, Analytic Modeling of SSD Write Performance, SYSTOR
# 2012; L. Xiang and B. Kurkoski, arXiv 1110.4245). The pass fills the flash from the
# oldest block on. A place is written for the last time with the chance that its block
# keeps it; else one is written that will be written again. The engine does the same
# (`pattern/shaped.rs`).

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


Floats = npt.NDArray[np.float64]
GOLDEN = 0.6180339887


def quantiles(stream: JobStream, count: int, rng: np.random.Generator) -> Floats:
    """Draws from the stream's distribution, each from 0 to 1.

    Of Zipf and Pareto, the most popular places come first; `scattered` spreads
    them.
    """
    draws = rng.random(count)
    match stream.distribution:
        case Hotspots(spots=spots):
            ios = np.cumsum([0.0, *(spot.io_percent for spot in spots)])
            space = np.cumsum([0.0, *(spot.space_percent for spot in spots)])
            return np.asarray(np.interp(draws, ios / ios[-1], space / space[-1]))
        case Zipf(theta=theta):
            return _zipf(draws, theta, _slots(stream))
        case Pareto(h=h):
            return np.asarray(draws ** (log(h) / log(1 - h)))
        case Normal(deviation_percent=deviation):
            return _bell(count, deviation / 100, rng)
    return draws


def _slots(stream: JobStream) -> int:
    """The number of places among which the ranks of Zipf are spread."""
    sizes = [one.size_bytes for one in (*stream.read_sizes, *stream.write_sizes)]
    region = stream.region_bytes
    return max(1, region // (stream.align_bytes or min(sizes)))


def _zipf(draws: Floats, theta: float, slots: int) -> Floats:
    """The inverse of the integral of k^-theta from 1/2 to slots + 1/2."""
    power = 1 - theta
    low, high = log(0.5), log(slots + 0.5)
    if abs(power) < 1e-6:
        rank = np.exp(low + draws * (high - low))
    else:
        first, last = np.exp(power * low), np.exp(power * high)
        rank = (first + draws * (last - first)) ** (1 / power)
    return np.asarray(np.clip(np.floor(rank + 0.5) - 1, 0, slots - 1) / slots)


def _bell(count: int, deviation: float, rng: np.random.Generator) -> Floats:
    """A bell around the middle; what falls outside is drawn again."""
    found = rng.normal(0.5, deviation, count)
    outside = (found < 0) | (found >= 1)
    while outside.any():
        found[outside] = rng.normal(0.5, deviation, int(outside.sum()))
        outside = (found < 0) | (found >= 1)
    return found


def scattered(stream: JobStream, slots: Pages, count: int) -> Pages:
    """Ranks of popularity all over the region; other distributions as they are."""
    if not isinstance(stream.distribution, Zipf | Pareto) or count < 2:
        return slots
    step = int(count * GOLDEN) | 1
    while gcd(step, count) > 1:
        step += 1
    return np.asarray(slots * step % count)


def last_drawn(percents: float | Floats, count: int, rng: np.random.Generator) -> Pages:
    """For each I/O the last one up to it that is random; -1 where none is.

    `percents` is how likely each is random.
    """
    is_random = rng.random(count) * 100 < percents
    return np.asarray(np.maximum.accumulate(np.where(is_random, np.arange(count), -1)))


class Placement:
    """The model pages that a stream goes to.

    Of permuted I/O, each page comes once in each pass.
    """

    def __init__(
        self,
        stream: JobStream,
        shape: Geometry,
        capacity_bytes: int,
        rng: np.random.Generator,
        map_bytes: int = MAP_BYTES,
    ) -> None:
        self.map_bytes = map_bytes
        self.stream, self.rng, self.grain = stream, rng, shape.grain
        share = shape.pages / capacity_bytes
        self.first = min(int(stream.region_start_bytes * share), shape.pages - 1)
        end = round(stream.region_end_bytes * share)
        self.count = max(1, min(end, shape.pages) - self.first)
        self.sequential = stream.pattern == "sequential"
        self.covers = stream.permuted and stream.can_permute
        self.shaped: Shaped | None = None
        self.parts = np.linspace(0, self.count, stream.threads + 1).astype(np.int64)
        self.done = 0.0
        self.end = 0
        self.number = -1

    def take(self, pages: float, size_bytes: int) -> Pages:
        """The next places of I/Os of a size that come to so many model pages."""
        if self.sequential or self.covers:
            return self._next(pages, size_bytes)
        unit = max(1, round(self.map_bytes / size_bytes))
        run = self._run(size_bytes * unit)
        whole = int(pages / run + self.rng.random())
        if spare_percent := self.stream.spare_percent:
            if self.shaped is None:
                slots = -(-self.count // run) * unit
                self.shaped = Shaped(slots, spare_percent, self.rng)
            return self._whole(self.shaped.take(whole) // unit, run)
        return self._drawn(whole, run)

    def skip(self, pages: float) -> None:
        """Go past places that are only read."""
        self.done += pages

    def _run(self, size_bytes: int) -> int:
        """Neighbouring model pages of one I/O."""
        return max(1, min(self.count, round(size_bytes / MAP_BYTES / self.grain)))

    def _next(self, pages: float, size_bytes: int) -> Pages:
        """One after the other, or in an order that visits each once."""
        before, self.done = int(self.done), self.done + pages
        steps = np.arange(max(before, int(self.done) - self.count), int(self.done))
        if not self.sequential:
            passes = np.split(steps, np.flatnonzero(np.diff(steps // self.count)) + 1)
            return np.concatenate([self._pass(part, size_bytes) for part in passes])
        if self.stream.threads == 1:
            return self.first + steps % self.count
        return self._interleaved(steps)

    def _interleaved(self, steps: Pages) -> Pages:
        """Each thread in its own part of the region, all at the same pace."""
        threads = self.stream.threads
        part = steps % threads
        sizes = np.maximum(1, np.diff(self.parts))[part]
        pages = self.first + self.parts[part] + steps // threads % sizes
        return np.asarray(np.minimum(pages, self.first + self.count - 1))

    def _pass(self, steps: Pages, size_bytes: int) -> Pages:
        """Part of a pass at random; each pass has an order of its own."""
        number = int(steps[0]) // self.count if len(steps) else 0
        if number != self.number:
            run = self._run(size_bytes)
            slots = self.rng.permutation(-(-self.count // run))
            self.order = self._whole(slots, run)
            self.number = number
        return self.order[steps % self.count]

    def _whole(self, slots: Pages, run: int) -> Pages:
        """The model pages of I/Os that do not overlap; the last may be shorter."""
        pages = (slots[:, None] * run + np.arange(run)).ravel()
        return np.asarray(self.first + pages[pages < self.count])

    def _drawn(self, ios: int, run: int) -> Pages:
        """At random, by the distribution, aligned to the size unless it is finer."""
        align = self.stream.align_bytes
        aligned = align is None or align >= run * self.grain * MAP_BYTES
        step = run if aligned else 1
        slots = max(1, (self.count - run) // step + 1)
        draws = quantiles(self.stream, ios, self.rng)
        found = scattered(self.stream, (draws * slots).astype(np.int64), slots) * step
        if self.stream.drawn_percent("write") < 100:
            found = self._going_on(found, run)
        pages = self.first + found[:, None] + np.arange(run)
        return np.asarray(pages.ravel())

    def _going_on(self, drawn: Pages, run: int) -> Pages:
        """The drawn places of those I/Os that are random; the others follow these."""
        steps = np.arange(len(drawn))
        last = last_drawn(self.stream.drawn_percent("write"), len(drawn), self.rng)
        starts = np.where(last >= 0, drawn[np.maximum(last, 0)], self.end - run)
        room = max(1, self.count - run + 1)
        places = np.asarray((starts + (steps - np.maximum(last, -1)) * run) % room)
        if len(places):
            self.end = int(places[-1]) + run
        return places
