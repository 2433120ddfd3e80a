"""The footprint of a trace: what it reads or writes, as writes that cover it once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ioplan.trace.prepared import (
    CHUNK,
    DISCARD,
    DTYPE,
    FLUSH,
    WRITE,
    Ios,
    Prepared,
    write,
)

PIECE_BYTES = 128 << 10
"""What is written at once, where offsets are on no coarser grid."""
Edges = npt.NDArray[np.uint64]


@lru_cache(maxsize=16)
def footprint_of(path: Path, grid_bytes: int, digest: str) -> Path:
    """A trace file of these writes, kept as long as this process. Raises OSError.

    `digest` is that of the trace, so that another one has a footprint of its own.
    """
    starts, ends = extents(Prepared.open(path))
    made = Path(_folder().name) / f"{digest[:16]}.iotrace"
    write(made, _writes(starts, ends, max(grid_bytes, PIECE_BYTES)))
    return made


@lru_cache(maxsize=1)
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="ioplan-footprints-")


def extents(trace: Prepared) -> tuple[Edges, Edges]:
    """Where the parts begin and end that it reads or writes: in order, and apart."""
    starts = ends = np.zeros(0, np.uint64)
    for _, ios in trace.chunks():
        some = ios[(ios["kind"] != FLUSH) & (ios["kind"] != DISCARD)]
        starts = np.concatenate((starts, some["offset"]))
        ends = np.concatenate((ends, some["offset"] + some["size"]))
        starts, ends = _joined(starts, ends)
    return starts, ends


def _joined(starts: Edges, ends: Edges) -> tuple[Edges, Edges]:
    """Without overlaps; what touches is one."""
    if not len(starts):
        return starts, ends
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    begins = np.append(True, starts[1:] > ends[:-1])
    return starts[begins], ends[np.append(np.flatnonzero(begins)[1:] - 1, -1)]


def _writes(starts: Edges, ends: Edges, piece_bytes: int) -> Iterator[Ios]:
    """In the order of their places, the n-th one at n nanoseconds."""
    number = 0
    for first in range(0, len(starts), CHUNK):
        some = slice(first, first + CHUNK)
        counts = -(-(ends[some] - starts[some]).astype(np.int64) // piece_bytes)
        before = np.repeat(np.cumsum(counts) - counts, counts)
        made = np.zeros(int(counts.sum()), DTYPE)
        within = (np.arange(len(made)) - before).astype(np.uint64) * piece_bytes
        made["time_ns"] = number + np.arange(len(made))
        made["offset"] = np.repeat(starts[some], counts) + within
        room = np.repeat(ends[some], counts) - made["offset"]
        made["size"], made["kind"] = np.minimum(room, piece_bytes), WRITE
        number += len(made)
        yield made
