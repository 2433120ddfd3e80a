"""The parameters of a phase that a plan can say, from what was counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import accumulate, pairwise
from math import log2, sqrt

import numpy as np
from msgspec import Struct

from ioplan.language.fields import MOST_IO_BYTES
from ioplan.trace.prepared import DISCARD, WRITE
from ioplan_importer.trace_model.arrivals import variation_of
from ioplan_importer.trace_model.profile import CELLS, Phase

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
