"""Where the load of a trace changes: its rate, or its share of reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ioplan.results.measure.levels import changes
from ioplan.trace.prepared import FLUSH, READ, Prepared

WINDOWS = 120
LEAST_IOS = 20
"""The fewest I/Os of a window in the mean; with fewer, chance looks like a change."""
LEAST_WINDOWS = 3
"""The fewest windows of a phase: a shorter one is part of its neighbour."""


def phase_edges(trace: Prepared) -> list[int]:
    """Times in ns, 0 to behind the last I/O, between which the load stays alike."""
    span_ns = trace.header.span_ns + 1
    count = max(1, min(WINDOWS, trace.header.count // LEAST_IOS, span_ns))
    edges = [span_ns * number // count for number in range(count + 1)]
    ios, reads = _counts(trace, edges)
    shares = reads / np.maximum(ios, 1)
    cuts = {*changes(ios.tolist()), *changes(shares.tolist())}
    return [0, *(edges[at] for at in _apart(sorted(cuts), count)), span_ns]


def _counts(trace: Prepared, edges: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """By window: I/Os with data, and the reads among them."""
    found = np.zeros((2, len(edges) - 1))
    for _, ios in trace.chunks():
        data = ios[ios["kind"] != FLUSH]
        window = np.searchsorted(np.array(edges, "u8"), data["time_ns"], "right") - 1
        for row, chosen in enumerate((window, window[data["kind"] == READ])):
            found[row] += np.bincount(chosen, minlength=found.shape[1])
    return found[0], found[1]


def _apart(cuts: Sequence[int], count: int) -> Iterator[int]:
    """One cut for those that are close together, which are of one change."""
    near: list[int] = []
    for at in (*cuts, count + LEAST_WINDOWS):
        if near and at - near[-1] >= LEAST_WINDOWS:
            middle = near[len(near) // 2]
            if LEAST_WINDOWS <= middle <= count - LEAST_WINDOWS:
                yield middle
            near = []
        near.append(at)
