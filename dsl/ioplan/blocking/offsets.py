"""Where the next I/O of a thread goes, how large it is, and which way."""

from __future__ import annotations

import os
from math import inf
from random import Random
from threading import Lock
from typing import NamedTuple

from ioplan.job import JobStream
from ioplan.workload import Direction


class ByteBudget:
    """Bytes that may still be moved; the last I/O may go beyond them.

    What is taken from one is also taken from the `shared` one that it is a part of.
    """

    def __init__(
        self, left_bytes: float = inf, shared: ByteBudget | None = None
    ) -> None:
        self.left_bytes, self.shared, self.lock = left_bytes, shared, Lock()

    def take(self, size_bytes: int) -> bool:
        """Whether an I/O of that size may be done; then it is counted."""
        with self.lock:
            shared = self.shared or UNLIMITED
            if self.left_bytes <= 0 or not shared.take(size_bytes):
                return False
            self.left_bytes -= size_bytes
            return True


class _Unlimited(ByteBudget):
    def take(self, size_bytes: int) -> bool:
        return True


UNLIMITED = _Unlimited()
"""What the warm-up takes from."""

RANDOM_BYTES = os.urandom(1 << 16)
"""What random data is cut from."""
BLOCK_BYTES, TOKEN_BYTES = 4096, 8


class Io(NamedTuple):
    """One I/O to be done; `data` is what a write writes."""

    direction: Direction
    offset: int
    size_bytes: int
    data: bytes


class IoGenerator:
    """The I/Os of one thread of a stream; its workers take them in turn.

    Sequential threads have disjoint parts of the region; random ones share it.
    """

    def __init__(self, stream: JobStream, thread: int, seed: int) -> None:
        self.stream, self.random = stream, Random(f"{seed} {stream.name} {thread}")
        self.start, self.end = _part(stream, thread)
        self.position, self.lock = self.start, Lock()
        self.source = RANDOM_BYTES
        if stream.data.kind != "random":
            self.source = bytes(len(RANDOM_BYTES))

    def next(self, budget: ByteBudget) -> Io | None:
        """The next I/O, if there is to be one."""
        with self.lock:
            direction = self._direction()
            size = self._size(direction)
            if not budget.take(size):
                return None
            offset = self._offset(size)
            data = self._data(size) if direction == "write" else b""
        return Io(direction, offset, size, data)

    def _direction(self) -> Direction:
        reads = self.random.random() * 100 < self.stream.read_percent
        return "read" if reads else "write"

    def _size(self, direction: Direction) -> int:
        sizes = self.stream.read_sizes
        if direction == "write":
            sizes = self.stream.write_sizes
        if len(sizes) == 1:
            return sizes[0].size_bytes
        weights = [one.percent for one in sizes]
        return self.random.choices(sizes, weights)[0].size_bytes

    def _offset(self, size: int) -> int:
        align = self.stream.align_bytes or size
        first = -(-self.start // align) * align
        if self.stream.pattern == "random":
            places = (self.end - first - size) // align + 1
            return first + self.random.randrange(places) * align
        offset = -(-self.position // align) * align
        if offset + size > self.end:
            offset = first
        self.position = offset + size
        return offset

    def _data(self, size: int) -> bytes:
        """Bytes of which no block of 4 KiB is that of another write, unless zeros."""
        start = self.random.randrange(len(self.source))
        data = self.source[start:] + self.source * (size // len(self.source) + 1)
        if self.source is not RANDOM_BYTES:
            return data[:size]
        unique = bytearray(data[:size])
        for at in range(0, size, BLOCK_BYTES):
            unique[at : at + TOKEN_BYTES] = self.random.randbytes(TOKEN_BYTES)
        return bytes(unique)


def _part(stream: JobStream, thread: int) -> tuple[int, int]:
    """A thread's part of the region, in whole I/Os of the largest size."""
    start, end = stream.region_start_bytes, stream.region_end_bytes
    if stream.pattern == "random":
        return start, end
    sizes = (*stream.read_sizes, *stream.write_sizes)
    unit = max(stream.align_bytes or 0, *(one.size_bytes for one in sizes))
    length = (end - start) // stream.threads // unit * unit
    last = thread + 1 == stream.threads
    return start + thread * length, end if last else start + (thread + 1) * length
