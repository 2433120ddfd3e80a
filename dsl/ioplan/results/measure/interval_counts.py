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
from math import inf
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ioplan.core.error_kinds import ExplainedError, StoreFault
from ioplan.job import Counts, Progress
from ioplan.results.measure.histogram import Histogram, bucket_count
from ioplan.results.measure.tally import StreamCountsBuilder
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
SUMS = ("ios", "bytes", "errors", "min_ns", "max_ns", "sum_ns", "sum_sq_ns2")
LARGEST = 2**63 - 1

Ints: TypeAlias = "npt.NDArray[np.int64]"
Key = tuple[str, Direction]
Cell = tuple[Counts, Histogram]


class IntervalsDamaged(ExplainedError, ValueError):
    """Bytes that are no packed intervals."""

    kind = StoreFault.RECORD_DAMAGED


class IntervalPacker:
    """Packs intervals as they come, so that a long run does not keep them all."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._rows: list[tuple[int, int, dict[Key, Cell]]] = []
        self._bins = 0

    def add(
        self, progress: Progress, bins: Sequence[dict[Direction, Histogram]]
    ) -> None:
        """Take an interval; `bins` has the histograms of its streams, in order."""
        cells = {
            (stream.name, direction): (counts, by[direction])
            for stream, by in zip(progress.streams, bins, strict=True)
            for direction, counts in stream.directions.items()
        }
        self._rows.append((progress.t_ns, progress.interval_ns, cells))
        self._bins += sum(len(histogram.index) for _, histogram in cells.values())
        if len(self._rows) >= MOST_INTERVALS or self._bins >= MOST_BINS:
            self._chunks.append(_chunk(self._rows))
            self._rows, self._bins = [], 0

    def packed(self) -> bytes:
        """All so far; empty without an interval."""
        last = [_chunk(self._rows)] if self._rows else []
        chunks = [*self._chunks, *last]
        return b"".join((bytes([VERSION]), *chunks)) if chunks else b""


def _chunk(rows: Sequence[tuple[int, int, dict[Key, Cell]]]) -> bytes:
    keys = list(dict.fromkeys(key for _, _, cells in rows for key in cells))
    parts = [_part([cells.get(key) for _, _, cells in rows]) for key in keys]
    header = [[*key, *shape] for key, (shape, _) in zip(keys, parts, strict=True)]
    times = _shuffled(np.array([_clamped(row[:2]) for row in rows]).T)
    body = _closed(header, times + b"".join(data for _, data in parts))
    (t_ns, length_ns, _), end_ns = rows[0], rows[-1][0]
    begin_ns, end_ns = _clamped((t_ns - length_ns, end_ns))
    return HEAD.pack(len(body), len(rows), begin_ns, end_ns) + body


def _closed(header: list[list[Any]], numbers: bytes) -> bytes:
    """A body."""
    head = json.dumps(header, separators=(",", ":")).encode()
    data = struct.pack("<I", len(head)) + head + numbers
    size = min(max(len(data), LEAST_DICTIONARY_BYTES), DICTIONARY_BYTES)
    filters = [FILTER | {"dict_size": size}]  # a larger one takes 8 MiB for nothing
    return lzma.compress(data, check=lzma.CHECK_CRC32, filters=filters)


def _part(cells: Sequence[Cell | None]) -> tuple[tuple[int, int], bytes]:
    """How many buckets are in use and how many bytes a count has, and the numbers."""
    nothing = (0,) * len(SUMS)
    sums = [_sums(cell[0]) if cell else nothing for cell in cells]
    found = [cell[1].index for cell in cells if cell]
    every = np.concatenate(found) if found else np.zeros(0, np.int64)
    index, _ = np.unique(every, return_counts=True)  # without, it imports numpy.ma
    counts = np.zeros((len(index), len(cells)), dtype="<i8")
    for row, cell in enumerate(cells):
        if cell:
            counts[index.searchsorted(cell[1].index), row] = cell[1].count
    width = max(1, (int(counts.max(initial=0)).bit_length() + 7) // 8)
    steps = np.diff(index, prepend=0).reshape(1, -1)
    planes = counts.view(np.uint8).reshape(*counts.shape, 8)[:, :, :width]
    numbers = np.ascontiguousarray(planes.transpose(2, 0, 1)).tobytes()
    data = (_shuffled(np.array(sums).T), _shuffled(steps), numbers)
    return (len(index), width), b"".join(data)


def _sums(counts: Counts) -> tuple[int, ...]:
    """The sum of squares by the bits of its number."""
    (bits,) = struct.unpack("<q", struct.pack("<d", counts.sum_sq_ns2))
    return (*_clamped([getattr(counts, name) for name in SUMS[:-1]]), bits)


def _clamped(numbers: Sequence[int]) -> tuple[int, ...]:
    """Numbers that fit, as a backend's may be anything."""
    return tuple(max(-LARGEST, min(number, LARGEST)) for number in numbers)


def _shuffled(columns: Ints) -> bytes:
    """Byte by byte: that makes long runs of equal high ones."""
    table = np.ascontiguousarray(columns, dtype="<i8")
    return table.view(np.uint8).reshape(-1, 8).T.tobytes()


class _Chunk(Struct, frozen=True):
    """Where a chunk lies, and the time that it is of."""

    intervals: int
    begin_ns: int
    end_ns: int
    body: memoryview


class _Part(Struct, frozen=True):
    """A stream and direction: sums and counts, a column for each interval."""

    key: Key
    sums: Ints
    index: Ints
    counts: npt.NDArray[np.integer]

    def cell(self, interval: int) -> Cell | None:
        """What it counted in an interval; none without any."""
        *sums, bits = self.sums[:, interval].tolist()
        if not (sums[0] or sums[2]):  # neither I/Os nor errors
            return None
        (squares,) = struct.unpack("<d", struct.pack("<q", bits))
        counts = Counts.model_construct(
            **dict(zip(SUMS, (*sums, squares), strict=True))
        )
        found = self.counts[:, interval]
        used = found.nonzero()[0]
        return counts, Histogram(self.index[used], found[used].astype(np.int64))


class _Body(Struct, frozen=True):
    """The times of intervals, in rows of end and length, and their parts."""

    times: Ints
    parts: tuple[_Part, ...]


class Slice(Struct, frozen=True):
    """One interval: when it began and ended, and what each stream counted."""

    begin_ns: int
    end_ns: int
    cells: dict[Key, Cell]


class IntervalSums(Struct):
    """What a direction of a stream counted over several intervals."""

    ios: int = 0
    bytes: int = 0
    errors: int = 0
    min_ns: int = LARGEST
    max_ns: int = 0
    sum_ns: int = 0
    sum_sq_ns2: float = 0.0
    histogram: Histogram = Histogram.of(())
    is_miscounted: bool = False
    """An interval has latencies of another number of I/Os than it counts."""

    def add(self, part: _Part) -> None:
        """Add a part."""
        sums, counted = part.sums, part.counts.sum(axis=0, dtype=np.int64)
        self.is_miscounted |= bool(((counted != 0) & (counted != sums[0])).any())
        bins = Histogram(part.index, part.counts.sum(axis=1, dtype=np.int64))
        self.histogram = Histogram.merged((self.histogram, bins))
        used = sums[0] > 0
        self.ios += sum(sums[0].tolist())
        self.bytes += sum(sums[1].tolist())
        self.errors += sum(sums[2].tolist())
        self.min_ns = min(self.min_ns, sums[3].min(initial=LARGEST, where=used).item())
        self.max_ns = max(self.max_ns, sums[4].max(initial=0, where=used).item())
        self.sum_ns += sum(sums[5].tolist())
        self.sum_sq_ns2 += float(np.ascontiguousarray(sums[6]).view("<f8").sum())


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
            for one in _slices(chunk.body, chunk.intervals):
                if begin_ns <= one.begin_ns < end_ns:
                    yield one

    def sums(self) -> dict[Key, IntervalSums]:
        """What each direction of each stream counted in all intervals."""
        found: dict[Key, IntervalSums] = {}
        for chunk in self._chunks:
            for part in _body(bytes(chunk.body), chunk.intervals).parts:
                found.setdefault(part.key, IntervalSums()).add(part)
        return found

    def sizes(self) -> Iterator[int]:
        """How many bytes each body unpacks to, for whoever does not trust them. Raises
        IntervalsDamaged."""
        return (len(_raw(bytes(chunk.body))) for chunk in self._chunks)


def counts_of(slices: Sequence[Slice]) -> dict[str, StreamCountsBuilder]:
    """The sums of several intervals, by stream."""
    found: dict[str, StreamCountsBuilder] = {}
    for one in slices:
        for (stream, direction), (counts, histogram) in one.cells.items():
            builder = found.setdefault(stream, StreamCountsBuilder(stream))
            builder.direction(direction).add(counts, histogram)
            if direction == "flush":
                builder.sync_ios += counts.ios
    return found


def _slices(body: memoryview, intervals: int) -> Iterator[Slice]:
    found = _body(bytes(body), intervals)
    for at in range(intervals):
        end_ns, length_ns = found.times[:, at].tolist()
        cells = {part.key: part.cell(at) for part in found.parts}
        counted = {key: cell for key, cell in cells.items() if cell}
        yield Slice(end_ns - length_ns, end_ns, counted)


def _chunks(packed: bytes) -> Iterator[_Chunk]:
    if packed and packed[0] != VERSION:
        raise IntervalsDamaged(
            f"the intervals have layout {packed[0]}, and this ioplan reads {VERSION}"
        )
    whole, at = memoryview(packed), 1
    while at < len(packed):
        if at + HEAD.size > len(packed):
            raise IntervalsDamaged("the intervals are cut off")
        length, intervals, begin_ns, end_ns = HEAD.unpack_from(packed, at)
        at += HEAD.size + length
        if at > len(packed) or not 0 < intervals <= MOST_INTERVALS:
            raise IntervalsDamaged("the intervals are cut off")
        yield _Chunk(intervals, begin_ns, end_ns, whole[at - length : at])


@lru_cache(maxsize=1)
def _body(body: bytes, intervals: int) -> _Body:
    """Raises IntervalsDamaged, whatever is wrong with bytes from anywhere."""
    try:
        return _unpacked(*_opened(_raw(body)), intervals)
    except (struct.error, ValueError, TypeError, IndexError) as error:
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


def _opened(raw: bytes) -> tuple[list[list[Any]], bytes]:
    """The header, and what follows it."""
    (length,) = struct.unpack_from("<I", raw)
    return json.loads(raw[4 : 4 + length]), raw[4 + length :]


def _unpacked(header: list[list[Any]], raw: bytes, intervals: int) -> _Body:
    times, at = _columns(raw, 0, 2, intervals)
    parts = []
    for stream, direction, buckets, width in header:
        if direction not in COUNTED or not isinstance(stream, str):
            raise ValueError("a part of no stream and direction")
        sums, at = _columns(raw, at, len(SUMS), intervals)
        steps, at = _columns(raw, at, 1, buckets)
        counts, at = _counts(raw, at, (width, buckets, intervals))
        index = steps[0].cumsum()
        if buckets and not (index[0] >= 0 and index[-1] < bucket_count()):
            raise ValueError("a bin lies outside the layout")
        if (steps[0][1:] <= 0).any() or counts.min(initial=0) < 0:
            raise ValueError("the bins are not in order")
        parts.append(_Part((stream, direction), sums, index, counts))
    return _Body(times, tuple(parts))


def _columns(raw: bytes, at: int, columns: int, rows: int) -> tuple[Ints, int]:
    size = columns * rows
    flat = np.frombuffer(raw, np.uint8, 8 * size, at).reshape(8, size)
    table = np.ascontiguousarray(flat.T).view("<i8").reshape(columns, rows)
    return table, at + 8 * size


def _counts(
    raw: bytes, at: int, shape: tuple[int, int, int]
) -> tuple[npt.NDArray[np.integer], int]:
    width, buckets, intervals = shape
    if not 1 <= width <= 8:
        raise ValueError("counts of so many bytes")
    size = width * buckets * intervals
    planes = np.frombuffer(raw, np.uint8, size, at).reshape(shape)
    if width == 1:
        return planes[0], at + size
    counts = np.zeros((buckets, intervals), dtype=np.int64)
    for place, plane in enumerate(planes):
        counts |= plane.astype(np.int64) << (8 * place)
    return counts, at + size
