"""All that planning asks of a trace, in one pass over its file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from ioplan.trace.facts import KindFacts, TraceError, TraceFacts
from ioplan.trace.prepared import (
    CHUNK,
    DISCARD,
    DTYPE,
    FLUSH,
    HEADER,
    NO_RESPONSE,
    READ,
    WRITE,
    Ios,
    Prepared,
    numbers_at,
    write,
)
from ioplan.trace.rows import FUA, MOST_NS

# The footprint of a trace: what it reads or writes, as writes that cover it once.

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


BLOCK_BITS = 9
"""Sizes are nearly always multiples of 512."""


def survey(path: Path) -> TraceFacts:
    """The facts of a trace; read again only when its file has changed.

    Raises TraceError for a broken one, and OSError.
    """
    found = path.stat()
    return _surveyed(path, found.st_ino, found.st_size, found.st_mtime_ns)


def survey_part(path: Path, from_ns: int, to_ns: int) -> TraceFacts:
    """The facts of the I/Os from one time to another. Raises as `survey` does."""
    found = path.stat()
    changed = found.st_ino, found.st_size, found.st_mtime_ns
    return _surveyed_part(path, from_ns, to_ns, *changed)


@lru_cache(maxsize=64)
def _surveyed_part(path: Path, from_ns: int, to_ns: int, *changed: int) -> TraceFacts:
    whole, one = survey(path), SurveyPass(Prepared.open(path))
    first, last = numbers_at(path, one.header.count, (from_ns, to_ns))
    if first >= last:
        what = f"from {from_ns / 1e9:g} s to {to_ns / 1e9:g} s"
        raise TraceError(f"no I/O of it is {what}: it has {whole.span_ns / 1e9:.6g} s")
    for _, ios in one.trace.chunks(first, last):
        one.count(ios)
    begin_ns, end_ns = (int(one.trace.ios["time_ns"][n]) for n in (first, last - 1))
    part = one.counted(end_ns - begin_ns)
    return replace(part, digest=whole.digest, from_ns=from_ns, to_ns=to_ns)


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
        self.last_ns = self.flushes = self.answered = 0
        self.first_ns: int | None = None
        self.kinds = dict.fromkeys((READ, WRITE, DISCARD), KindFacts())
        self.seen_ns: dict[int, int] = {}

    def check(self, first: int, ios: Ios) -> None:
        """Raises TraceError for the first I/O of each fault."""
        times, sizes, is_flush = ios["time_ns"], ios["size"], ios["kind"] == FLUSH
        end = np.uint64(self.header.end_bytes)
        room = end - np.minimum(ios["offset"], end)  # a sum could be beyond 64 bits
        before = np.concatenate((np.array([self.last_ns], "u8"), times[:-1]))
        refuse = partial(_refuse, first, self.header.dtype.itemsize)
        refuse(times < before, "is earlier than the one before it")
        refuse(times > MOST_NS, "is more than 292 years from the first")
        refuse(ios["kind"] > DISCARD, "is of an unknown kind")
        refuse(ios["flags"] > FUA, "has an unknown flag")
        refuse((sizes == 0) != is_flush, "has a size that its kind cannot have")
        refuse(is_flush & (ios["offset"] > 0), "is a flush with an offset")
        refuse(sizes > room, "ends beyond the end in the header")
        self.last_ns = int(times[-1])

    def count(self, ios: Ios) -> None:
        """Add a chunk to what is known."""
        if self.first_ns is None:
            self.first_ns = int(ios["time_ns"][0])
        self.flushes += int((ios["kind"] == FLUSH).sum())
        if self.header.answers:
            self.answered += int((ios["response_ns"] != NO_RESPONSE).sum())
        for kind, known in self.kinds.items():
            is_kind = ios["kind"] == kind
            chosen = ios if is_kind.all() else ios[is_kind]
            if len(chosen):
                more = _facts_of(chosen)
                quiet_ns = max(known.quiet_ns, self._quiet_ns(kind, chosen["time_ns"]))
                self.kinds[kind] = replace(known + more, quiet_ns=quiet_ns)

    def _quiet_ns(self, kind: int, times: npt.NDArray[np.uint64]) -> int:
        """The longest time without one of that kind, up to the last of these."""
        before = self.seen_ns.get(kind, self.first_ns)
        self.seen_ns[kind] = int(times[-1])
        gaps = np.diff(times, prepend=np.array([before], "u8"))
        return int(gaps.max())

    def facts(self) -> TraceFacts:
        """What was found. Raises TraceError where the header says something else."""
        header, facts = self.header, self.counted(self.last_ns)
        first_ns = int(self.trace.ios["time_ns"][0])
        found = (first_ns, self.last_ns, facts.moving.end_bytes)
        said = (0, header.span_ns, header.end_bytes)
        if found != said:
            raise TraceError(
                f"first time, last time and end are {found}, in its header {said}"
            )
        return facts

    def counted(self, span_ns: int) -> TraceFacts:
        """What was found, in so long a time."""
        end_ns = (self.first_ns or 0) + span_ns
        reads, writes, discards = (
            replace(
                one, quiet_ns=max(one.quiet_ns, end_ns - self.seen_ns.get(kind, end_ns))
            )
            for kind, one in self.kinds.items()
        )
        return TraceFacts(
            digest=self.digest.hexdigest(),
            span_ns=span_ns,
            reads=reads,
            writes=writes,
            discards=discards,
            flushes=self.flushes,
            answered=self.answered,
        )


def _facts_of(ios: Ios) -> KindFacts:
    return KindFacts(
        ios=len(ios),
        end_bytes=int((ios["offset"] + ios["size"]).max()),
        bits=int(np.bitwise_or.reduce(ios["offset"] | ios["size"])),
        moved_bytes=int(ios["size"].sum(dtype=np.uint64)),
        sizes=_counted(ios["size"]),
        fua=int((ios["flags"] & FUA > 0).sum()),
    )


def _counted(sizes: npt.NDArray[np.uint32]) -> dict[int, int]:
    """How often each occurs; by blocks, where that is faster than to sort them."""
    blocks = sizes >> BLOCK_BITS
    if int(blocks.max()) > CHUNK or ((blocks << BLOCK_BITS) != sizes).any():
        found, counts = np.unique(sizes, return_counts=True)
        return dict(zip(found.tolist(), counts.tolist(), strict=True))
    by_blocks = np.bincount(blocks)
    return {
        number << BLOCK_BITS: int(by_blocks[number])
        for number in np.flatnonzero(by_blocks).tolist()
    }


def _refuse(
    first: int, item_bytes: int, wrong: npt.NDArray[np.bool_], why: str
) -> None:
    if wrong.any():
        number = first + int(wrong.argmax())
        at = HEADER.size + number * item_bytes
        raise TraceError(f"I/O {number + 1}, at byte {at}, {why}")
