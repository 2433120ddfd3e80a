"""What a trace does in each of its phases, counted in one pass."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from msgspec import Struct, field

from ioplan.trace.prepared import DISCARD, FLUSH, READ, Ios, Prepared
from ioplan.trace.rows import FUA

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
