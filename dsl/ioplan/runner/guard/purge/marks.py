"""Marks: blocks written all over a target before a purge, to see if any is left."""

from __future__ import annotations

import errno
import mmap
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from msgspec import Struct

from ioplan.runner.guard.target import Target

MARKS = 128
SECTOR_BYTES = 512


class MarksFound(Struct, frozen=True):
    """How many marks were written, are left, and read back as all zeros or ones.

    `first_byte` is the offset of the first one left.
    """

    count: int
    left: int
    first_byte: int
    zeros: int
    ones: int

    def __str__(self) -> str:
        """After a purge that left none."""
        if self.zeros == self.count:
            return f"{self.count} marks read back as zeros"
        if self.ones == self.count:
            return f"{self.count} marks read back as ones"
        other = self.count - self.zeros - self.ones
        return f"all of {self.count} marks are gone, {other} read back as other data"


class Marks:
    """Random blocks: the first, the last, and one in each equal part between."""

    def __init__(self, target: Target) -> None:
        self.target, self.block_bytes = target, target.facts.block_bytes
        blocks = target.facts.capacity_bytes // self.block_bytes
        self.marks = {
            number * self.block_bytes: os.urandom(self.block_bytes)
            for number in numbers(blocks, min(MARKS, blocks))
        }

    def write(self) -> None:
        """Write them, and flush them to the medium. Raises OSError."""
        with self._direct(os.O_RDWR) as (fd, buffer):
            for offset, mark in self.marks.items():
                buffer[:] = mark
                os.pwritev(fd, [buffer], offset)
            os.fsync(fd)

    def read(self) -> MarksFound:
        """Look for them past the page cache. Raises OSError."""
        with self._direct(os.O_RDONLY) as (fd, buffer):
            data = {offset: _read(fd, offset, buffer) for offset in self.marks}
        left = [at for at, mark in self.marks.items() if _is_left(mark, data[at])]
        byte_values = [set(block) for block in data.values()]
        return MarksFound(
            count=len(data),
            left=len(left),
            first_byte=left[0] if left else 0,
            zeros=byte_values.count({0}),
            ones=byte_values.count({255}),
        )

    @contextmanager
    def _direct(self, mode: int) -> Iterator[tuple[int, mmap.mmap]]:
        """The open file or device, opened again, whatever its path leads to now."""
        same = f"/proc/self/fd/{self.target.fd}"
        fd = os.open(same, mode | os.O_DIRECT | os.O_CLOEXEC)
        try:
            with mmap.mmap(-1, self.block_bytes) as buffer:
                yield fd, buffer
        finally:
            os.close(fd)


def numbers(blocks: int, count: int) -> Iterator[int]:
    """`count` different block numbers, in order."""
    edges = [blocks * part // count for part in range(count + 1)]
    for part, (start, end) in enumerate(pairwise(edges), 1):
        last = part == count
        yield start if part == 1 else end - 1 if last else random.randrange(start, end)


def _read(fd: int, offset: int, buffer: mmap.mmap) -> bytes:
    if os.preadv(fd, [buffer], offset) != len(buffer):
        raise OSError(errno.EIO, f"a short read at byte {offset}")
    return bytes(buffer)


def _is_left(mark: bytes, data: bytes) -> bool:
    """Whether any sector of a mark reads back as it was written."""
    starts = range(0, len(mark), SECTOR_BYTES)
    sectors = (slice(start, start + SECTOR_BYTES) for start in starts)
    return any(mark[sector] == data[sector] for sector in sectors)
