"""Blocks written all over a target before a purge, to see whether one is left."""

from __future__ import annotations

import errno
import mmap
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

from ioplan.guard.target import Target

MARKS = 128
SECTOR_BYTES = 512


@dataclass(frozen=True)
class Found:
    """What reads back in the places of the marks."""

    count: int
    left: int
    first_byte: int
    zeros: int
    ones: int

    def __str__(self) -> str:
        """For one that left no mark."""
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
        """Write them, and have them on the medium. Raises OSError."""
        with self._direct(os.O_RDWR) as (fd, buffer):
            for place, mark in self.marks.items():
                buffer[:] = mark
                os.pwritev(fd, [buffer], place)
            os.fsync(fd)

    def read(self) -> Found:
        """Look for them past the page cache. Raises OSError."""
        with self._direct(os.O_RDONLY) as (fd, buffer):
            back = {place: _read(fd, place, buffer) for place in self.marks}
        left = [p for p, mark in self.marks.items() if _is_left(mark, back[p])]
        blank = [set(data) for data in back.values()]
        return Found(
            count=len(back),
            left=len(left),
            first_byte=left[0] if left else 0,
            zeros=blank.count({0}),
            ones=blank.count({255}),
        )

    @contextmanager
    def _direct(self, mode: int) -> Iterator[tuple[int, mmap.mmap]]:
        """The very file that is held, once more, whatever its name means by now."""
        again = f"/proc/self/fd/{self.target.fd}"
        fd = os.open(again, mode | os.O_DIRECT | os.O_CLOEXEC)
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


def _read(fd: int, place: int, buffer: mmap.mmap) -> bytes:
    if os.preadv(fd, [buffer], place) != len(buffer):
        raise OSError(errno.EIO, f"a short read at byte {place}")
    return bytes(buffer)


def _is_left(mark: bytes, back: bytes) -> bool:
    """Whether any sector of a mark is as it was written."""
    starts = range(0, len(mark), SECTOR_BYTES)
    parts = (slice(start, start + SECTOR_BYTES) for start in starts)
    return any(mark[part] == back[part] for part in parts)
