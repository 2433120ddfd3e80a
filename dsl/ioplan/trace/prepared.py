"""The trace file that backends replay: fixed records, mapped into memory.

Little endian: a header of 64 bytes, then one record of 24 bytes for each I/O, in the
order of their times, which count from the first one. Where it is known how long they
took, which a flag of the header says, a record ends with that, and has 32 bytes.
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
ANSWERED = np.dtype([*DTYPE.descr, ("response_ns", "<u8")])
RESPONSES = 1
"""The flag of a trace with response times."""
NO_RESPONSE = 2**64 - 1
"""In place of one that is not known."""
READ, WRITE, FLUSH, DISCARD = range(4)
CHUNK = 1 << 18
"""I/Os that are looked at together; more would only take memory."""
Ios = npt.NDArray[np.void]


class Header(Struct, frozen=True):
    """What the first 64 bytes say."""

    count: int
    span_ns: int
    end_bytes: int
    dtype: np.dtype[np.void] = DTYPE

    @property
    def answers(self) -> bool:
        """Whether it has response times."""
        return self.dtype == ANSWERED


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
        ios = np.memmap(path, header.dtype, "r", HEADER.size, (header.count,))
        return cls(path, header, ios)

    def chunks(
        self, start: int = 0, end: int | None = None
    ) -> Iterator[tuple[int, Ios]]:
        """Parts of the trace, each with the number of its first I/O, from 0.

        They are read and not mapped: mapped ones would count as this program's memory.
        """
        with self.path.open("rb") as file:
            dtype = self.header.dtype
            file.seek(HEADER.size + start * dtype.itemsize)
            end = self.header.count if end is None else end
            for first in range(start, end, CHUNK):
                ios = np.fromfile(file, dtype, min(CHUNK, end - first))
                yield first, ios


def numbers_at(path: Path, count: int, times_ns: Sequence[int]) -> list[int]:
    """How many of a trace's I/Os are before each of these times. Raises OSError.

    Looked up in the file: to map it, or to search a column of it, would take as much
    memory as the trace has.
    """
    with path.open("rb") as file:
        item_bytes = _dtype(HEADER.unpack(file.read(HEADER.size))[-1]).itemsize

        def time_ns(number: int) -> int:
            at = HEADER.size + number * item_bytes
            return int.from_bytes(os.pread(file.fileno(), 8, at), "little")

        return [bisect_left(range(count), at, key=time_ns) for at in times_ns]


def _header(first: bytes, size: int) -> Header:
    if not first.startswith(MAGIC):
        raise TraceError("no ioplan trace: it does not begin with IOTRACE1")
    if len(first) < HEADER.size:
        raise TraceError(f"cut off in its header, at byte {len(first)}")
    _, count, span_ns, end_bytes, flags = HEADER.unpack(first)
    dtype = _dtype(flags)
    whole = HEADER.size + count * dtype.itemsize
    if size != whole:
        raise TraceError(f"{size} bytes, where its {count} I/Os need {whole}")
    if not count:
        raise TraceError("no I/O in it")
    return Header(count, span_ns, end_bytes, dtype)


def _dtype(flags: int) -> np.dtype[np.void]:
    if flags not in (0, RESPONSES):
        raise TraceError(f"made by a newer ioplan: flags {flags:#x}")
    return ANSWERED if flags else DTYPE


def write(path: Path, chunks: Iterable[npt.NDArray[Any]]) -> Header:
    """Write chunks of records, in the order of their times. Raises OSError.

    All of them are of DTYPE, or all of ANSWERED. The header comes last, so that what
    was broken off is no trace.
    """
    count, span_ns, end_bytes, dtype = 0, 0, 0, DTYPE
    with path.open("wb") as file:
        file.write(bytes(HEADER.size))
        for chunk in chunks:
            dtype = ANSWERED if chunk.dtype == ANSWERED else DTYPE
            file.write(np.ascontiguousarray(chunk, dtype).tobytes())
            if len(chunk):
                count, span_ns = count + len(chunk), int(chunk["time_ns"][-1])
                end_bytes = max(end_bytes, int((chunk["offset"] + chunk["size"]).max()))
        file.seek(0)
        flags = RESPONSES if dtype == ANSWERED else 0
        file.write(HEADER.pack(MAGIC, count, span_ns, end_bytes, flags))
    return Header(count, span_ns, end_bytes, dtype)
