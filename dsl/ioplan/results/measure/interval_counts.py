"""What each stream and direction counted in each interval of a run, packed.

    byte 0      the version of this layout
    chunks      length of the body, intervals (u32 each), begin, end (i64, ns), body

A body is xz of a JSON header, the times of its intervals, and for each stream and
direction the exact sums, the buckets that are in use, and the counts: for each bucket
those of all intervals, first the lowest byte of all, then the next one. The counts of
one bucket are of about one size, and xz, which codes by what came before, takes a fifth
less than zlib. What is left is near the noise of the counts themselves, which no code
can do without: an hour of two streams in intervals of 1 s takes 2 to 3 MB, the more the
wider their latencies are spread. Of a recorded run, in MB an hour: 3.03 so; 3.59 as
differences to the interval before, 3.58 to the bucket before, 4.03 to the mean of the
bucket, 3.43 with the buckets ordered by their means, 3.20 by bz2, 3.00 by xz at its
slowest. An ideal code that knew the spread of the counts for each mean takes 2.62.
"""

from __future__ import annotations

import json
import lzma
import struct
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import inf, prod
from typing import Any, TypeAlias

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
DICTIONARY_BYTES = 4 << 20
LEAST_DICTIONARY_BYTES = 1 << 12
FILTER: dict[str, int] = {"id": lzma.FILTER_LZMA2, "preset": 6, "pb": 0}
MOST_MEMORY_BYTES = 2 * DICTIONARY_BYTES
"""To unpack a body: what asks for more was not packed here."""
HEAD = struct.Struct("<IIqq")
LARGEST = 2**63 - 1
UNREADABLE = (
    *(struct.error, ValueError, TypeError),
    *(IndexError, OverflowError, RecursionError),
)
NOTHING = CountsBuilder()

Table: TypeAlias = "npt.NDArray[np.integer]"
Key = tuple[str, Direction]
Cells = dict[Key, CountsBuilder]


class IntervalsDamaged(ExplainedError, ValueError):
    """Bytes that are no packed intervals."""

    kind = StoreFault.RECORD_DAMAGED


class Slice(Struct, frozen=True):
    """One interval: when it began and ended, and what each stream counted."""

    begin_ns: int
    end_ns: int
    cells: Cells


class IntervalSums(CountsBuilder):
    """What a direction of a stream counted over several intervals."""

    is_miscounted = False
    """An interval has latencies of another number of I/Os than it counts."""


def counts_of(slices: Sequence[Slice]) -> dict[str, StreamCountsBuilder]:
    """The sums of several intervals, by stream."""
    streams: dict[str, StreamCountsBuilder] = {}
    for interval in slices:
        for (name, direction), counts in interval.cells.items():
            stream = streams.setdefault(name, StreamCountsBuilder(name))
            stream.direction(direction).merge(counts)
            if direction == "flush":
                stream.sync_ios += counts.ios
    return streams


class IntervalPacker:
    """Packs intervals as they come, so that a long run does not keep them all."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._slices: list[Slice] = []
        self._bins = 0

    def add(self, progress: Progress, streams: Sequence[StreamCountsBuilder]) -> None:
        """Take an interval with what its streams counted."""
        cells = {(s.name, d): part for s in streams for d, part in s.directions.items()}
        begin_ns = progress.t_ns - progress.interval_ns
        self._slices.append(Slice(begin_ns, progress.t_ns, cells))
        self._bins += sum(len(cell.histogram().index) for cell in cells.values())
        if len(self._slices) >= MOST_INTERVALS or self._bins >= MOST_BINS:
            self._chunks.append(_chunk(self._slices))
            self._slices, self._bins = [], 0

    def packed(self) -> bytes:
        """All so far; empty without an interval."""
        last = [_chunk(self._slices)] if self._slices else []
        chunks = [*self._chunks, *last]
        return b"".join((bytes([VERSION]), *chunks)) if chunks else b""


def _chunk(slices: Sequence[Slice]) -> bytes:
    times = [_clamped(one.end_ns, one.end_ns - one.begin_ns) for one in slices]
    header, numbers = [], [_planes(np.array(times).T)]
    for key in dict.fromkeys(key for one in slices for key in one.cells):
        cells = [one.cells.get(key, NOTHING) for one in slices]
        index, counts = _table([cell.histogram() for cell in cells])
        width = max(1, (int(counts.max(initial=0)).bit_length() + 7) // 8)
        header.append([*key, len(index), width])
        numbers += [
            _planes(np.array([_sums(cell) for cell in cells]).T),
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


def _table(histograms: Sequence[Histogram]) -> tuple[Ints, Ints]:
    """The buckets in use, and a row of counts for each, a column for each interval."""
    used = np.zeros(bucket_count(), dtype=bool)
    for histogram in histograms:
        used[histogram.index] = True
    rows, index = used.cumsum() - 1, used.nonzero()[0]
    counts = np.zeros((len(index), len(histograms)), dtype=np.int64)
    for column, histogram in enumerate(histograms):
        counts[rows[histogram.index], column] = histogram.count
    return index, counts


def _sums(counts: CountsBuilder) -> tuple[int, ...]:
    """The sum of squares by the bits of its number."""
    (bits,) = struct.unpack("<q", struct.pack("<d", counts.sum_sq_ns2))
    return (*_clamped(*(getattr(counts, name) for name in SUMS[:-1])), bits)


def _clamped(*numbers: int) -> tuple[int, ...]:
    """Numbers that fit, as a backend's may be anything."""
    return tuple(max(-LARGEST, min(number, LARGEST)) for number in numbers)


def _planes(table: Ints, width: int = 8) -> bytes:
    """The lowest byte of all numbers, then the next one, as many as the width: that
    makes long runs of equal high ones."""
    octets = np.ascontiguousarray(table, dtype="<i8").view(np.uint8).reshape(-1, 8)
    return octets[:, :width].T.tobytes()


class _Chunk(Struct, frozen=True):
    """Where a chunk lies, and the time that it is of."""

    intervals: int
    begin_ns: int
    end_ns: int
    body: memoryview


class _Part(Struct, frozen=True):
    """A stream and direction: sums and counts, a column for each interval."""

    key: Key
    sums: Table
    index: Ints
    counts: Table

    def cell(self, interval: int) -> CountsBuilder | None:
        """What it counted in an interval; none without I/Os and errors."""
        *sums, bits = self.sums[:, interval].tolist()
        if not (sums[0] or sums[2]):
            return None
        (squares,) = struct.unpack("<d", struct.pack("<q", bits))
        column = self.counts[:, interval]
        used = column.nonzero()[0]
        histogram = Histogram(self.index[used], column[used].astype(np.int64))
        return _counted(histogram, *sums, squares)

    def total(self) -> CountsBuilder:
        """What it counted in all intervals."""
        used = self.sums[0] > 0
        ios, size_bytes, errors, _, _, sum_ns, _ = map(sum, self.sums.tolist())
        low_ns = self.sums[3].min(initial=LARGEST, where=used).item()
        high_ns = self.sums[4].max(initial=0, where=used).item()
        squares = float(np.ascontiguousarray(self.sums[6]).view("<f8").sum())
        histogram = Histogram(self.index, self.counts.sum(axis=1, dtype=np.int64))
        extremes_ns = (low_ns, high_ns)
        return _counted(
            histogram, ios, size_bytes, errors, *extremes_ns, sum_ns, squares
        )

    @property
    def is_miscounted(self) -> bool:
        """Whether the latencies of an interval are not as many as its I/Os."""
        counted = self.counts.sum(axis=0, dtype=np.int64)
        return bool(((counted != 0) & (counted != self.sums[0])).any())


def _counted(histogram: Histogram, *sums: float) -> CountsBuilder:
    return CountsBuilder(histogram, **dict(zip(SUMS, sums, strict=True)))


class IntervalCounts:
    """The intervals of a run out of packed bytes, which are unpacked as they are read.

    All may raise IntervalsDamaged.
    """

    def __init__(self, packed: bytes) -> None:
        self.size, self._chunks = len(packed), list(_chunks(packed))

    def __len__(self) -> int:
        return sum(chunk.intervals for chunk in self._chunks)

    def __iter__(self) -> Iterator[Slice]:
        return self.between(-inf, inf)

    def between(self, begin_ns: float, end_ns: float) -> Iterator[Slice]:
        """The intervals that begin in [begin, end), in order."""
        ends = [chunk.end_ns for chunk in self._chunks]
        for chunk in self._chunks[bisect_left(ends, begin_ns) :]:
            if chunk.begin_ns >= end_ns:
                return
            for interval in _slices(chunk):
                if begin_ns <= interval.begin_ns < end_ns:
                    yield interval

    def sums(self) -> dict[Key, IntervalSums]:
        """What each direction of each stream counted in all intervals."""
        sums: dict[Key, IntervalSums] = {}
        for chunk in self._chunks:
            for part in _body(bytes(chunk.body), chunk.intervals)[1]:
                total = sums.setdefault(part.key, IntervalSums())
                total.merge(part.total())
                total.is_miscounted |= part.is_miscounted
        return sums

    def sizes(self) -> Iterator[int]:
        """How many bytes each body unpacks to, for whoever does not trust them."""
        return (len(_raw(bytes(chunk.body))) for chunk in self._chunks)


def _slices(chunk: _Chunk) -> Iterator[Slice]:
    times, parts = _body(bytes(chunk.body), chunk.intervals)
    for at, (end_ns, length_ns) in enumerate(times.T.tolist()):
        cells = {part.key: cell for part in parts if (cell := part.cell(at))}
        yield Slice(end_ns - length_ns, end_ns, cells)


def _chunks(packed: bytes) -> Iterator[_Chunk]:
    if packed and packed[0] != VERSION:
        raise IntervalsDamaged(
            f"the intervals have layout {packed[0]}, and this ioplan reads {VERSION}"
        )
    body, at = memoryview(packed), 1
    while at < len(packed):
        if at + HEAD.size > len(packed):
            raise IntervalsDamaged("the intervals are cut off")
        length, intervals, begin_ns, end_ns = HEAD.unpack_from(packed, at)
        at += HEAD.size + length
        if at > len(packed) or not 0 < intervals <= MOST_INTERVALS:
            raise IntervalsDamaged("the intervals are cut off")
        yield _Chunk(intervals, begin_ns, end_ns, body[at - length : at])


@lru_cache(maxsize=1)
def _body(body: bytes, intervals: int) -> tuple[Table, list[_Part]]:
    """The times of intervals, in rows of end and length, and their parts.

    Raises IntervalsDamaged, whatever is wrong with bytes from anywhere.
    """
    raw = _raw(body)
    try:
        (length,) = struct.unpack_from("<I", raw)
        header, numbers = json.loads(raw[4 : 4 + length]), _Numbers(raw, 4 + length)
        times = numbers.take(8, 2, intervals)
        return times, [_part(numbers, intervals, *entry) for entry in header]
    except UNREADABLE as error:
        raise IntervalsDamaged(f"the intervals are damaged: {error}") from error


def _raw(body: bytes) -> bytes:
    unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, MOST_MEMORY_BYTES)
    try:
        raw = unpacker.decompress(body, MOST_BODY_BYTES)
    except lzma.LZMAError as error:
        raise IntervalsDamaged(f"the intervals are damaged: {error}") from error
    if not unpacker.eof:
        raise IntervalsDamaged("the intervals are cut off, or too large")
    return raw


class _Numbers:
    """Tables of numbers that follow one another, as `_planes` made them."""

    def __init__(self, raw: bytes, at: int) -> None:
        self._raw, self._at = raw, at

    def take(self, width: int, *shape: int) -> Table:
        """The next table; as it is where a number has one byte. Raises ValueError."""
        if not 1 <= width <= 8 or min(shape) < 0:
            raise ValueError("a table of no such size")
        size = prod(shape)
        planes = np.frombuffer(self._raw, np.uint8, width * size, self._at)
        self._at += width * size
        if width == 1:
            return planes.reshape(shape)
        octets = np.zeros((size, 8), np.uint8)
        octets[:, :width] = planes.reshape(width, size).T
        return octets.view("<i8").reshape(shape)


def _part(
    numbers: _Numbers,
    intervals: int,
    stream: Any,
    direction: Any,
    rows: int,
    width: int,
) -> _Part:
    if direction not in COUNTED or not isinstance(stream, str):
        raise ValueError("a part of no stream and direction")
    sums = numbers.take(8, len(SUMS), intervals)
    steps = numbers.take(8, rows)
    counts = numbers.take(width, rows, intervals)
    index = steps.cumsum(dtype=np.int64)
    if rows and not (index[0] >= 0 and index[-1] < bucket_count()):
        raise ValueError("a bin lies outside the layout")
    if (steps[1:] <= 0).any() or counts.min(initial=0) < 0:
        raise ValueError("the bins are not in order")
    return _Part((stream, direction), sums, index, counts)
