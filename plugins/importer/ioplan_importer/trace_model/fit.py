"""The parameters of a phase that a plan can say, from what was counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import accumulate, pairwise
from math import lgamma, log2, sqrt

import numpy as np
from msgspec import Struct, field

from ioplan.language import MOST_IO_BYTES
from ioplan.trace import DISCARD, FLUSH, FUA, READ, WRITE, Ios, Prepared

# What a trace does in each of its phases, counted in one pass.

BLOCK_BYTES = 512
"""Sizes are rounded up to whole blocks: a plan has no smaller ones."""
CELLS = 10_000
"""Parts of the space of which it is counted how often each is used."""
BINS_AN_OCTAVE = 8
BINS = 64 * BINS_AN_OCTAVE + 1
"""Bins of the times between arrivals: bin n begins at 2^(n/8) ns."""


class Last(Struct):
    """The I/O before: its time, and where the last of each direction ended."""

    time_ns: int | None = None
    ends: list[int] = field(default_factory=lambda: [-1, -1])


class Phase(Struct):
    """Counts of a stretch of time; index 0 is of reads, 1 of writes and discards.

    `sequential` counts the I/Os that begin where the last of their direction ended,
    `cells` the others by their place, `gaps` the times between arrivals by BINS.
    """

    start_ns: int
    end_ns: int
    kinds: np.ndarray = field(default_factory=lambda: np.zeros(DISCARD + 1, np.int64))
    sizes: tuple[Counter[int], Counter[int]] = field(
        default_factory=lambda: (Counter(), Counter())
    )
    sequential: list[int] = field(default_factory=lambda: [0, 0])
    fua: int = 0
    cells: np.ndarray = field(default_factory=lambda: np.zeros(CELLS, np.int64))
    gaps: np.ndarray = field(default_factory=lambda: np.zeros(BINS, np.int64))

    @property
    def ios(self) -> int:
        """With data."""
        return int(self.kinds.sum() - self.kinds[FLUSH])

    @property
    def iops(self) -> float:
        """In the mean."""
        return self.ios * 1e9 / (self.end_ns - self.start_ns)

    def add(self, ios: Ios, cell_bytes: int, last: Last) -> None:
        """Count a part of it."""
        self.kinds += np.bincount(ios["kind"], minlength=len(self.kinds))
        data = ios[ios["kind"] != FLUSH]
        is_read = data["kind"] == READ
        self.fua += int((data["flags"][~is_read] & FUA > 0).sum())
        for at, chosen in enumerate((is_read, ~is_read)):
            self._add_direction(at, data[chosen], cell_bytes, last)
        if len(data):
            self._add_times(data["time_ns"], last)

    def _add_direction(self, at: int, some: Ios, cell_bytes: int, last: Last) -> None:
        if not len(some):
            return
        ends = (some["offset"] + some["size"]).astype(np.int64)
        follows = some["offset"] == np.concatenate(([last.ends[at]], ends[:-1]))
        last.ends[at] = int(ends[-1])
        self.sequential[at] += int(follows.sum())
        cells = np.minimum(some["offset"][~follows] // cell_bytes, CELLS - 1)
        self.cells += np.bincount(cells.astype(np.int64), minlength=CELLS)
        blocks, counts = np.unique(
            (some["size"].astype(np.int64) + BLOCK_BYTES - 1) // BLOCK_BYTES,
            return_counts=True,
        )
        for block, count in zip(blocks.tolist(), counts.tolist(), strict=True):
            self.sizes[at][block * BLOCK_BYTES] += count

    def _add_times(self, times: np.ndarray, last: Last) -> None:
        before = [] if last.time_ns is None else [last.time_ns]
        gaps = np.diff(np.concatenate((np.array(before, "u8"), times))).astype(float)
        last.time_ns = int(times[-1])
        self.gaps += np.bincount(bins_of(gaps), minlength=BINS)


def bins_of(gaps_ns: np.ndarray) -> np.ndarray:
    """The bin of each; times below 1 ns are in the first."""
    logs = np.log2(np.maximum(gaps_ns, 1.0))
    bins: np.ndarray = (logs * BINS_AN_OCTAVE).astype(np.int64)
    return bins


def phases(trace: Prepared, edges: list[int]) -> list[Phase]:
    """The phases between these times, in ns; those without an I/O are left out."""
    found = [Phase(start_ns=start, end_ns=end) for start, end in pairwise(edges)]
    cell_bytes, last = max(1, -(-trace.header.end_bytes // CELLS)), Last()
    for _, ios in trace.chunks():
        cuts = np.searchsorted(ios["time_ns"], np.array(edges, "u8"))
        for phase, (first, end) in zip(found, pairwise(cuts.tolist()), strict=True):
            if first < end:
                phase.add(ios[first:end], cell_bytes, last)
    return [one for one in found if one.ios]


# How the I/Os of a phase arrive: by the clock, by Poisson, or with gamma gaps.

FIXED, POISSON = 0.0, 1.0
"""Variations of the gaps that have a word of their own."""
GAMMA = tuple(round(0.2 * 1.1**step, 2) for step in range(50))
"""Variations that are tried, 0.2 to 21."""
NEAR_ENOUGH = 0.01
"""So near to the best distance, the process with fewer parameters is taken."""
SMALL = 1e-10


def variation_of(phase: Phase) -> float:
    """That of the process whose gaps are nearest to those counted.

    The moment itself would not do: one long pause makes it large.
    """
    total = phase.gaps.sum()
    if not total:
        return POISSON
    counted = np.cumsum(phase.gaps) / total

    def off(variation: float) -> float:
        # the one gap of a clock may be in the bin beside that of its mean
        aside = (-1, 0, 1) if variation == FIXED else (0,)
        rates = (phase.iops * 2 ** (one / BINS_AN_OCTAVE) for one in aside)
        below = (gaps_below(rate, variation) for rate in rates)
        return min(float(np.abs(counted - one).max()) for one in below)

    best = min(map(off, GAMMA))
    simple = min((POISSON, FIXED), key=off)
    if off(simple) <= best + NEAR_ENOUGH:
        return simple
    return min(GAMMA, key=off)


def gaps_below(iops: float, variation: float) -> np.ndarray:
    """The share of the times between arrivals that is below the end of each bin."""
    ends = 2.0 ** (np.arange(1, BINS + 1) / BINS_AN_OCTAVE) * iops / 1e9
    if variation == FIXED:
        share: np.ndarray = ends > 1
        return share
    shape = variation**-2
    return gamma_below(shape, ends * shape)


def gamma_below(shape: float, x: np.ndarray) -> np.ndarray:
    """The regularized incomplete gamma function P(shape, x), by its series
    (Abramowitz and Stegun, 6.5.29)."""
    x = np.minimum(x, shape + 12 * sqrt(shape) + 40)
    term = np.exp(shape * np.log(x) - x - lgamma(shape + 1))
    total = term.copy()
    number = 0
    while (term > SMALL).any() or number < shape:
        number += 1
        term = term * x / (shape + number)
        total += term
    share: np.ndarray = np.minimum(total, 1.0)
    return share


MOST_SIZES = 8
"""The most sizes of a direction: rarer ones count as the nearest by ratio."""
MOST_PLACES = 16
PLACES_OFF, BY_CHANCE = 0.01, 1.36
"""Distance of the model's places that is near enough; of few I/Os, that which chance
makes in 5 % of cases, 1.36 / √n (Kolmogorov's distribution)."""
PARTS = 1000
"""Shares are told in parts of a thousand."""
PLACE_PARTS = 10_000
Sizes = dict[int, int]
"""By size in bytes, its share in PARTS; empty where there is none."""


class Fit(Struct, frozen=True):
    """A phase as a plan says it. Index 0 is of reads, 1 of writes and discards.

    `variation` is that of the times between arrivals: 0 by the clock, 1 Poisson's.
    `reads` of the reads and writes, `random` of each direction and `discards` are
    shares in PARTS. `places` are consecutive: PLACE_PARTS of the random I/Os, and
    CELLS of the space that they fall in.
    """

    start_ns: int
    end_ns: int
    ios: int
    iops: float
    variation: float
    reads: int
    random: tuple[int, int]
    sizes: tuple[Sizes, Sizes]
    places: tuple[tuple[int, int], ...]
    discards: int
    flush_every: int
    fua: bool


def fit(phase: Phase) -> Fit:
    """What describes a phase."""
    reads, writes, flushes, discards = phase.kinds.tolist()
    return Fit(
        start_ns=phase.start_ns,
        end_ns=phase.end_ns,
        ios=phase.ios,
        iops=phase.iops,
        variation=variation_of(phase),
        reads=_part(reads, reads + writes),
        random=(_random(phase, 0), _random(phase, 1)),
        sizes=(_sizes(phase.sizes[0]), _sizes(phase.sizes[1])),
        places=tuple(_places(phase.cells)),
        discards=_part(discards, phase.ios),
        flush_every=max(1, round(writes / flushes)) if flushes and writes else 0,
        fua=2 * phase.fua > writes > 0,
    )


def _part(some: int, of: int) -> int:
    return round(PARTS * some / of) if of else 0


def _random(phase: Phase, direction: int) -> int:
    """At least one part: a stream of which none is random is a sequential one."""
    kinds = phase.kinds
    ios = int(kinds[WRITE] + kinds[DISCARD]) if direction else int(kinds[0])
    if not ios:
        return 0
    return max(1, PARTS - _part(phase.sequential[direction], ios))


def _sizes(found: Counter[int]) -> Sizes:
    """The most frequent ones, with shares that add up to PARTS."""
    kept = sorted(
        {min(size, MOST_IO_BYTES) for size, _ in found.most_common(MOST_SIZES)}
    )
    counts = dict.fromkeys(kept, 0)
    for size, count in found.items():
        counts[min(kept, key=lambda one: abs(log2(one / size)))] += count
    return dict(zip(kept, shares(list(counts.values()), PARTS), strict=True))


def shares(counts: list[int], parts: int) -> list[int]:
    """Whole parts that add up to `parts`, each at least 1, nearest to the counts."""
    total = sum(counts)
    if not total:
        return []
    ends = [round(parts * end / total) for end in accumulate(counts)]
    found = [end - start for start, end in pairwise([0, *ends])]
    for at, count in enumerate(found):
        if count == 0:
            found[found.index(max(found))] -= 1
            found[at] = 1
    return found


def _places(cells: np.ndarray) -> Iterator[tuple[int, int]]:
    """Stretches of the space in each of which the I/Os are about uniform.

    The distribution function is drawn by straight lines; the point that is furthest
    from them is added, until all are near (Ramer 1972, Douglas and Peucker 1973).
    """
    if not cells.any():
        return
    curve = np.concatenate(([0.0], np.cumsum(cells) / cells.sum()))
    near = max(PLACES_OFF, BY_CHANCE / sqrt(cells.sum()))
    knots = [0, CELLS]
    while len(knots) <= MOST_PLACES:
        off = np.abs(curve - np.interp(np.arange(CELLS + 1), knots, curve[knots]))
        if off.max() <= near:
            break
        knots = sorted([*knots, int(off.argmax())])
    counts = [int(cells[start:end].sum()) for start, end in pairwise(knots)]
    widths = [end - start for start, end in pairwise(knots)]
    yield from zip(shares(counts, PLACE_PARTS), widths, strict=True)
