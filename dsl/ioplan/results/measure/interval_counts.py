"""What each stream and direction counted in each interval of a run, packed.

    byte 0      the version of this layout
    chunks      length of the body, intervals (u32 each), begin, end (i64, ns), body

A body is xz of a JSON header, the times of its intervals, and for each stream and
direction the exact sums, the buckets that are in use, and the counts: for each bucket
those of all intervals, first the lowest byte of all, then the next one. The counts of
one bucket are of about one size, and xz, which codes by what came before, takes a fifth
less than zlib. What is left is near the noise of the counts themselves, which no code
can do without: an hour of two streams in intervals of 1 s takes 2 to 3 MB, the more the
wider their latencies are spread. Of a recorded run, in MB an hour: 3.03 so; as
differences to neighbours or in another order 3.43 to 4.03, by bz2 3.20, by xz at its
slowest 3.00. An ideal code that knew the spread of the counts for each mean takes 2.62.
"""

from __future__ import annotations

import json
import lzma
import struct
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import inf, prod
from operator import attrgetter

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ioplan.core.error_kinds import ExplainedError, StoreFault
from ioplan.job import Progress
from ioplan.results.measure.histogram import Histogram, Ints, bucket_count
from ioplan.results.measure.tally import SUMS, CountsBuilder, StreamCountsBuilder
from ioplan.workload import COUNTED, Direction

VERSION = 2
MOST_INTERVALS = 256
"""In a chunk."""
MOST_BINS = 1 << 20
"""The most bins of a chunk that is still collected: 16 MB."""
MOST_BODY_BYTES = 256 << 20
"""Unpacked; a chunk of 50 streams takes 60 MB at most, a bomb more."""
LEAST_DICTIONARY_BYTES, DICTIONARY_BYTES = 1 << 12, 4 << 20
FILTER: dict[str, int] = {"id": lzma.FILTER_LZMA2, "preset": 6, "pb": 0}
MOST_MEMORY_BYTES = 2 * DICTIONARY_BYTES
"""To unpack a body: what asks for more was not packed here."""
HEAD = struct.Struct("<IIqq")
LARGEST = 2**63 - 1
UNREADABLE = (
    *(struct.error, ValueError, TypeError),
    *(IndexError, OverflowError, RecursionError),
)
SUMS_OF = attrgetter(*SUMS)
ROW = np.dtype([(n, "<f8" if n == "sum_sq_ns2" else "<i8") for n in SUMS])
"""The exact sums of an interval."""

Table = npt.NDArray[np.integer]
Key = tuple[str, Direction]


class IntervalsDamaged(ExplainedError, ValueError):
    """Bytes that are no packed intervals."""

    kind = StoreFault.RECORD_DAMAGED


class Slice(Struct, frozen=True):
    """One interval: when it began and ended, and what each stream counted."""

    begin_ns: int
    end_ns: int
    cells: dict[Key, CountsBuilder]

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.begin_ns


class IntervalSums(CountsBuilder):
    """What a direction of a stream counted over several intervals."""

    is_miscounted = False
    """An interval has latencies of another number of I/Os than it counts."""


def counts_of(slices: Sequence[Slice]) -> dict[str, StreamCountsBuilder]:
    streams: dict[str, StreamCountsBuilder] = {}
    for interval in slices:
        for (name, direction), counts in interval.cells.items():
            stream = streams.setdefault(name, StreamCountsBuilder(name))
            stream.direction(direction).merge(counts)
            if direction == "flush":
                stream.sync_ios += counts.ios
    return streams


class IntervalPacker(Struct):
    """Packs intervals as they come, so that a long run does not keep them all."""

    _chunks: list[bytes] = []
    _slices: list[Slice] = []
    _bins: int = 0

    def add(self, progress: Progress, streams: Sequence[StreamCountsBuilder]) -> None:
        cells = {(s.name, d): part for s in streams for d, part in s.directions.items()}
        begin_ns = progress.t_ns - progress.interval_ns
        self._slices.append(Slice(begin_ns, progress.t_ns, cells))
        self._bins += sum(len(cell.histogram().index) for cell in cells.values())
        if len(self._slices) >= MOST_INTERVALS or self._bins >= MOST_BINS:
            self._chunks.append(_chunk(self._slices))
            self._slices, self._bins = [], 0

    def packed(self) -> bytes:
        """All so far; empty without an interval."""
        last = _chunk(self._slices) if self._slices else b""
        chunks = b"".join((*self._chunks, last))
        return bytes([VERSION]) + chunks if chunks else b""


def _chunk(slices: Sequence[Slice]) -> bytes:
    times = [_clamped(part.end_ns, part.length_ns) for part in slices]
    header, numbers = [], [_planes(np.array(times).T)]
    nothing = CountsBuilder()
    for key in dict.fromkeys(key for part in slices for key in part.cells):
        cells = [part.cells.get(key, nothing) for part in slices]
        rows = np.array([_row(cell) for cell in cells], ROW).view("<i8")
        dense = np.zeros((bucket_count(), len(cells)), np.int64)
        for column, histogram in enumerate(cell.histogram() for cell in cells):
            dense[histogram.index, column] = histogram.count
        index = np.flatnonzero(dense.any(axis=1))
        counts = dense[index]
        width = max(1, (int(counts.max(initial=0)).bit_length() + 7) // 8)
        header.append([*key, len(index), width])
        numbers += [
            _planes(rows.reshape(len(cells), -1).T),
            _planes(np.diff(index, prepend=0)),
            _planes(counts, width),
        ]
    head = json.dumps(header, separators=(",", ":")).encode()
    body = _compressed(struct.pack("<I", len(head)) + head + b"".join(numbers))
    span_ns = _clamped(slices[0].begin_ns, slices[-1].end_ns)
    return HEAD.pack(len(body), len(slices), *span_ns) + body


def _compressed(data: bytes) -> bytes:
    size = min(max(len(data), LEAST_DICTIONARY_BYTES), DICTIONARY_BYTES)
    filters = [FILTER | {"dict_size": size}]  # a larger one takes 8 MiB for nothing
    return lzma.compress(data, check=lzma.CHECK_CRC32, filters=filters)


def _row(counts: CountsBuilder) -> tuple[float, ...]:
    *exact, squares = SUMS_OF(counts)
    return (*_clamped(*exact), squares)


def _clamped(*numbers: int) -> tuple[int, ...]:
    """Numbers that fit, as a backend's may be anything."""
    return tuple(max(-LARGEST, min(number, LARGEST)) for number in numbers)


def _planes(table: Ints, width: int = 8) -> bytes:
    """The lowest byte of all numbers, then the next one, as many as the width: that
    makes long runs of equal high ones."""
    octets = np.ascontiguousarray(table, dtype="<i8").view(np.uint8).reshape(-1, 8)
    return octets[:, :width].T.tobytes()


class _Chunk(Struct, frozen=True):
    """Some intervals, and the time that they are of."""

    intervals: int
    begin_ns: int
    end_ns: int
    body: bytes

    def slices(self) -> Iterator[Slice]:
        times, parts = _unpacked(self)
        columns = (part.cells() for part in parts)
        for (end_ns, length_ns), *row in zip(times.T.tolist(), *columns, strict=True):
            cells = {p.key: cell for p, cell in zip(parts, row, strict=True) if cell}
            yield Slice(end_ns - length_ns, end_ns, cells)


class _Part(Struct, frozen=True):
    """A stream and direction: sums in rows, and counts in columns, of its intervals."""

    key: Key
    rows: npt.NDArray[np.void]
    index: Ints
    counts: Table

    def cells(self) -> Iterator[CountsBuilder | None]:
        """What it counted in each interval; none without I/Os and errors."""
        for row, column in zip(self.rows.tolist(), self.counts.T, strict=True):
            used = column.nonzero()[0]
            histogram = Histogram(self.index[used], column[used].astype(np.int64))
            cell = CountsBuilder(histogram, **dict(zip(SUMS, row, strict=True)))
            yield cell if cell.ios or cell.errors else None

    def total(self) -> CountsBuilder:
        sums = {name: sum(self.rows[name].tolist()) for name in SUMS}
        busy = self.rows[self.rows["ios"] > 0]
        sums["min_ns"] = busy["min_ns"].min(initial=LARGEST).item()
        sums["max_ns"] = busy["max_ns"].max(initial=0).item()
        bins = self.counts.sum(axis=1, dtype=np.int64)
        return CountsBuilder(Histogram(self.index, bins), **sums)

    @property
    def is_miscounted(self) -> bool:
        """Whether the latencies of an interval are not as many as its I/Os."""
        counted = self.counts.sum(axis=0, dtype=np.int64)
        return bool(((counted != 0) & (counted != self.rows["ios"])).any())


class IntervalCounts:
    """The intervals of a run out of packed bytes, which are unpacked as they are read.

    All may raise IntervalsDamaged.
    """

    def __init__(self, packed: bytes) -> None:
        self._chunks = list(_chunks(packed))

    def __len__(self) -> int:
        return sum(chunk.intervals for chunk in self._chunks)

    def __iter__(self) -> Iterator[Slice]:
        return self.between(-inf, inf)

    def between(self, begin_ns: float, end_ns: float) -> Iterator[Slice]:
        """The intervals that begin in [begin, end), in order."""
        for chunk in self._chunks:
            if chunk.begin_ns < end_ns and chunk.end_ns >= begin_ns:
                for interval in chunk.slices():
                    if begin_ns <= interval.begin_ns < end_ns:
                        yield interval

    def sums(self) -> dict[Key, IntervalSums]:
        sums = defaultdict[Key, IntervalSums](IntervalSums)
        for chunk in self._chunks:
            for part in _unpacked(chunk)[1]:
                sums[part.key].merge(part.total())
                sums[part.key].is_miscounted |= part.is_miscounted
        return sums

    def sizes(self) -> Iterator[int]:
        """How many bytes each body unpacks to, for whoever does not trust them."""
        return (len(_raw(chunk.body)) for chunk in self._chunks)


def _chunks(packed: bytes) -> Iterator[_Chunk]:
    if packed and packed[0] != VERSION:
        raise IntervalsDamaged(
            f"the intervals have layout {packed[0]}, and this ioplan reads {VERSION}"
        )
    at = 1
    while at < len(packed):
        if at + HEAD.size > len(packed):
            raise IntervalsDamaged("the intervals are cut off")
        length, intervals, begin_ns, end_ns = HEAD.unpack_from(packed, at)
        at += HEAD.size + length
        if at > len(packed) or not 0 < intervals <= MOST_INTERVALS:
            raise IntervalsDamaged("the intervals are cut off")
        yield _Chunk(intervals, begin_ns, end_ns, packed[at - length : at])


@lru_cache(maxsize=1)
def _unpacked(chunk: _Chunk) -> tuple[Table, list[_Part]]:
    """The times of intervals, in rows of end and length, and their parts.

    Raises IntervalsDamaged, whatever is wrong with bytes from anywhere.
    """
    raw, parts, intervals = _raw(chunk.body), [], chunk.intervals
    try:
        (length,) = struct.unpack_from("<I", raw)
        times, left = _taken(memoryview(raw)[4 + length :], 8, 2, intervals)
        for stream, direction, buckets, width in json.loads(raw[4 : 4 + length]):
            sums, left = _taken(left, 8, len(SUMS), intervals)
            steps, left = _taken(left, 8, buckets)
            counts, left = _taken(left, width, buckets, intervals)
            rows = np.ascontiguousarray(sums.T).view(ROW).ravel()
            parts.append(_Part((stream, direction), rows, steps.cumsum(), counts))
            _check(parts[-1], steps)
    except UNREADABLE as error:
        raise IntervalsDamaged(f"the intervals are damaged: {error}") from error
    return times, parts


def _raw(body: bytes) -> bytes:
    unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, MOST_MEMORY_BYTES)
    try:
        raw = unpacker.decompress(body, MOST_BODY_BYTES)
    except lzma.LZMAError as error:
        raise IntervalsDamaged(f"the intervals are damaged: {error}") from error
    if not unpacker.eof:
        raise IntervalsDamaged("the intervals are cut off, or too large")
    return raw


def _taken(raw: memoryview, width: int, *shape: int) -> tuple[Table, memoryview]:
    """The first table as `_planes` made it, and what follows it; where a number has
    one byte, as it is."""
    if not 1 <= width <= 8 or min(shape) < 0:
        raise ValueError("a table of no such size")
    size = prod(shape)
    planes, left = np.frombuffer(raw, np.uint8, width * size), raw[width * size :]
    if width == 1:
        return planes.reshape(shape), left
    octets = np.zeros((size, 8), np.uint8)
    octets[:, :width] = planes.reshape(width, size).T
    return octets.view("<i8").reshape(shape), left


def _check(part: _Part, steps: Table) -> None:
    (stream, direction), index = part.key, part.index
    if direction not in COUNTED or not isinstance(stream, str):
        raise ValueError("a part of no stream and direction")
    if len(index) and not (index[0] >= 0 and index[-1] < bucket_count()):
        raise ValueError("a bin lies outside the layout")
    if (steps[1:] <= 0).any() or part.counts.min(initial=0) < 0:
        raise ValueError("the bins are not in order")
