"""All that planning asks of a trace, in one pass over its file."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ioplan.trace.facts import TraceError, TraceFacts
from ioplan.trace.prepared import (
    CHUNK,
    DISCARD,
    DTYPE,
    FLUSH,
    HEADER,
    READ,
    Ios,
    Prepared,
)

BLOCK_BITS = 9
"""Sizes are nearly always multiples of 512."""


def survey(path: Path) -> TraceFacts:
    """The facts of a trace; read again only when its file has changed.

    Raises TraceError for a broken one, and OSError.
    """
    found = path.stat()
    return _surveyed(path, found.st_ino, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=64)
def _surveyed(path: Path, *changed: int) -> TraceFacts:
    one = SurveyPass(Prepared.open(path))
    with ThreadPoolExecutor(1) as beside:
        for first, ios in one.trace.chunks():
            hashed = beside.submit(one.digest.update, ios.view(np.uint8).data)
            one.check(first, ios)
            one.count(ios)
            hashed.result()
    return one.facts()


class SurveyPass:
    """One pass over a trace, and what it has found so far."""

    def __init__(self, trace: Prepared) -> None:
        self.trace, self.header = trace, trace.header
        with trace.path.open("rb") as file:
            self.digest = sha256(file.read(HEADER.size))
        self.last_ns = self.bits = self.largest = self.end_bytes = 0
        self.kinds = np.zeros(DISCARD + 1, np.int64)
        self.moved = 0
        self.sizes: tuple[Counter[int], Counter[int]] = Counter(), Counter()

    def check(self, first: int, ios: Ios) -> None:
        """Raises TraceError for the first I/O of each fault."""
        times, sizes, is_flush = ios["time_ns"], ios["size"], ios["kind"] == FLUSH
        end = np.uint64(self.header.end_bytes)
        room = end - np.minimum(ios["offset"], end)  # a sum could be beyond 64 bits
        before = np.concatenate((np.array([self.last_ns], "u8"), times[:-1]))
        _refuse(first, times < before, "is earlier than the one before it")
        _refuse(first, ios["kind"] > DISCARD, "is of an unknown kind")
        _refuse(first, (sizes == 0) != is_flush, "has a size that its kind cannot have")
        _refuse(first, is_flush & (ios["offset"] > 0), "is a flush with an offset")
        _refuse(first, sizes > room, "ends beyond the end in the header")
        self.last_ns = int(times[-1])

    def count(self, ios: Ios) -> None:
        """Add a chunk to what is known."""
        self.kinds += np.bincount(ios["kind"], minlength=len(self.kinds))
        self.bits |= int(np.bitwise_or.reduce(ios["offset"] | ios["size"]))
        self.end_bytes = max(self.end_bytes, int((ios["offset"] + ios["size"]).max()))
        self.largest = max(self.largest, int(ios["size"].max()))
        self.moved += int(ios["size"].sum(dtype=np.uint64))
        is_read, is_flush = ios["kind"] == READ, ios["kind"] == FLUSH
        for found, chosen in zip(
            self.sizes, (is_read, ~(is_read | is_flush)), strict=True
        ):
            found.update(_counted(ios["size"][chosen]))

    def facts(self) -> TraceFacts:
        """What was found. Raises TraceError where the header says something else."""
        header = self.header
        first_ns = int(self.trace.ios["time_ns"][0])
        found = (first_ns, self.last_ns, self.end_bytes)
        said = (0, header.span_ns, header.end_bytes)
        if found != said:
            raise TraceError(
                f"first time, last time and end are {found}, in its header {said}"
            )
        reads, writes, flushes, discards = self.kinds.tolist()
        return TraceFacts(
            digest=self.digest.hexdigest(),
            span_ns=header.span_ns,
            end_bytes=header.end_bytes,
            grid_bytes=self.bits & -self.bits,
            largest_bytes=self.largest,
            reads=reads,
            writes=writes,
            flushes=flushes,
            discards=discards,
            moved_bytes=self.moved,
            read_sizes=dict(self.sizes[0]),
            write_sizes=dict(self.sizes[1]),
        )


def _counted(sizes: npt.NDArray[np.uint32]) -> dict[int, int]:
    """How often each occurs; by blocks, where that is faster than to sort them."""
    if not len(sizes):
        return {}
    blocks = sizes >> BLOCK_BITS
    if int(blocks.max()) > CHUNK or ((blocks << BLOCK_BITS) != sizes).any():
        found, counts = np.unique(sizes, return_counts=True)
        return dict(zip(found.tolist(), counts.tolist(), strict=True))
    by_blocks = np.bincount(blocks)
    return {
        number << BLOCK_BITS: int(by_blocks[number])
        for number in np.flatnonzero(by_blocks).tolist()
    }


def _refuse(first: int, wrong: npt.NDArray[np.bool_], why: str) -> None:
    if wrong.any():
        number = first + int(wrong.argmax())
        at = HEADER.size + number * DTYPE.itemsize
        raise TraceError(f"I/O {number + 1}, at byte {at}, {why}")
