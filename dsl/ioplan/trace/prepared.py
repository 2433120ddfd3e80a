"""The trace file that backends replay: fixed records, mapped into memory.

Little endian: a header of 64 bytes, then one record of 24 bytes for each I/O, in the
order of their times, which count from the first one.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ioplan.trace.facts import TraceError

MAGIC = b"IOTRACE1"
HEADER = struct.Struct("<8sQQQQ24x")
"""Magic, count of I/Os, time of the last, largest end of one in bytes, flags."""
DTYPE = np.dtype(
    [
        *(("time_ns", "<u8"), ("offset", "<u8"), ("size", "<u4")),
        *(("kind", "u1"), ("flags", "u1"), ("source", "<u2")),
    ]
)
READ, WRITE, FLUSH, DISCARD = range(4)
CHUNK = 1 << 18
"""I/Os that are looked at together; more would only take memory."""
Ios = npt.NDArray[np.void]


class Header(Struct, frozen=True):
    """What the first 64 bytes say."""

    count: int
    span_ns: int
    end_bytes: int


class Prepared(Struct, frozen=True):
    """An open trace file; `ios` are in its pages, not in this program's memory."""

    path: Path
    header: Header
    ios: Ios

    @classmethod
    def open(cls, path: Path) -> Prepared:
        """Map a file. Raises TraceError for what is no whole trace, and OSError."""
        with path.open("rb") as file:
            first, size = file.read(HEADER.size), file.seek(0, 2)
        header = _header(first, size)
        ios = np.memmap(path, DTYPE, "r", HEADER.size, (header.count,))
        return cls(path, header, ios)

    def chunks(
        self, start: int = 0, end: int | None = None
    ) -> Iterator[tuple[int, Ios]]:
        """Parts of the trace, each with the number of its first I/O, from 0.

        They are read and not mapped: mapped ones would count as this program's memory.
        """
        with self.path.open("rb") as file:
            file.seek(HEADER.size + start * DTYPE.itemsize)
            end = self.header.count if end is None else end
            for first in range(start, end, CHUNK):
                ios = np.fromfile(file, DTYPE, min(CHUNK, end - first))
                yield first, ios


def numbers_at(path: Path, count: int, times_ns: Sequence[int]) -> list[int]:
    """How many of a trace's I/Os are before each of these times. Raises OSError.

    Looked up in the file: to map it, or to search a column of it, would take as much
    memory as the trace has.
    """
    with path.open("rb") as file:

        def time_ns(number: int) -> int:
            at = HEADER.size + number * DTYPE.itemsize
            return int.from_bytes(os.pread(file.fileno(), 8, at), "little")

        return [bisect_left(range(count), at, key=time_ns) for at in times_ns]


def _header(first: bytes, size: int) -> Header:
    if not first.startswith(MAGIC):
        raise TraceError("no ioplan trace: it does not begin with IOTRACE1")
    if len(first) < HEADER.size:
        raise TraceError(f"cut off in its header, at byte {len(first)}")
    _, count, span_ns, end_bytes, flags = HEADER.unpack(first)
    whole = HEADER.size + count * DTYPE.itemsize
    if size != whole:
        raise TraceError(f"{size} bytes, where its {count} I/Os need {whole}")
    if not count:
        raise TraceError("no I/O in it")
    if flags:
        raise TraceError(f"made by a newer ioplan: flags {flags:#x}")
    return Header(count, span_ns, end_bytes)


def write(path: Path, chunks: Iterable[npt.NDArray[Any]]) -> Header:
    """Write chunks of records of DTYPE, in the order of their times. Raises OSError.

    The header comes last, so that what was broken off is no trace.
    """
    count = span_ns = end_bytes = 0
    with path.open("wb") as file:
        file.write(bytes(HEADER.size))
        for chunk in chunks:
            file.write(np.ascontiguousarray(chunk, DTYPE).tobytes())
            if len(chunk):
                count, span_ns = count + len(chunk), int(chunk["time_ns"][-1])
                end_bytes = max(end_bytes, int((chunk["offset"] + chunk["size"]).max()))
        file.seek(0)
        file.write(HEADER.pack(MAGIC, count, span_ns, end_bytes, 0))
    return Header(count, span_ns, end_bytes)
