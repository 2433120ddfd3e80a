"""What is on a target: every block that is read and is not constant is data.

Nothing is inferred from noise: compressed and encrypted files look like what load
generators write. Whose data it is, is for the guard to know.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import blake2b

from msgspec import Struct

from ioplan.runner.content.places import BLOCK, MIB, drawn, reads

READERS = 32
GONE = {
    *(errno.ENOTCONN, errno.ECONNABORTED, errno.ESTALE, errno.ENODEV, errno.ENXIO),
}
"""Errors of a target that has vanished, rather than of an unreadable block."""
DIGEST_BYTES = 8


class Block(Struct, frozen=True):
    """One that is not constant; its bytes are kept as a digest only."""

    at_bytes: int
    digest: str


class Scan(Struct, frozen=True):
    """What was read of a target.

    `drawn` and `drawn_data` count the blocks drawn at random, whose share estimates
    the share of the drive that holds data.
    """

    capacity_bytes: int
    read_bytes: int = 0
    data: dict[int, str] = {}
    drawn: int = 0
    drawn_data: int = 0
    unreadable: tuple[int, ...] = ()

    @property
    def ends_unreadable(self) -> bool:
        """Whether a part of the first or the last MiB cannot be read."""
        last = self.capacity_bytes - MIB
        return any(at < MIB or at >= last for at in self.unreadable)

    def share(self) -> float:
        """How much of the drive holds data, from the blocks drawn; 0 to 1."""
        return self.drawn_data / self.drawn if self.drawn else 0.0


def scan(fd: int, capacity_bytes: int, seed: int, starts: Iterable[int] = ()) -> Scan:
    """Read fixed and drawn places, past the page cache where that is possible."""
    again, size = opened_past_cache(fd)
    try:
        fixed = sorted(set(reads(capacity_bytes, starts)))
        chance = [(at, BLOCK) for at in drawn(capacity_bytes, seed)]
        data, unreadable, read_bytes = _all(again, [*fixed, *chance], size)
    finally:
        os.close(again)
    return Scan(
        capacity_bytes=capacity_bytes,
        read_bytes=read_bytes,
        data=data,
        drawn=len(chance),
        drawn_data=sum(at in data for at, _ in chance),
        unreadable=tuple(sorted(set(unreadable))),
    )


def _all(
    fd: int, places: list[tuple[int, int]], size: int
) -> tuple[dict[int, str], list[int], int]:
    """Many reads at a time, as a drive of 2 ms would take a minute otherwise."""
    data, unreadable, read_bytes = dict[int, str](), list[int](), 0
    shares = [places[number::READERS] for number in range(READERS)]
    with ThreadPoolExecutor(READERS) as readers:
        for part in readers.map(lambda share: list(_share(fd, share, size)), shares):
            for at, length, found in part:
                read_bytes += length
                data.update(found)
                unreadable += [] if length else [at]
    return data, unreadable, read_bytes


def _share(
    fd: int, places: list[tuple[int, int]], size: int
) -> Iterator[tuple[int, int, dict[int, str]]]:
    """Offset, length and data of each read; one that fails has the length 0."""
    with closing(mmap.mmap(-1, MIB)) as buffer:
        for place in places:
            for at, length in _read(fd, buffer, place, size):
                yield at, length, dict(_data(buffer, at, length))


def _read(
    fd: int, buffer: mmap.mmap, place: tuple[int, int], size: int
) -> Iterator[tuple[int, int]]:
    """Offset and length of what is in the buffer: block by block where a longer read
    fails."""
    at, wanted = place
    try:
        with memoryview(buffer) as whole, whole[: -(-wanted // size) * size] as part:
            length = os.preadv(fd, [part], at)
        yield at, length
    except OSError as error:
        if error.errno in GONE:
            raise
        if wanted <= BLOCK:
            yield at, 0
            return
        for one in range(at, at + wanted, BLOCK):
            length = min(BLOCK, at + wanted - one)
            yield from _read(fd, buffer, (one, length), size)


def _data(buffer: mmap.mmap, at: int, length: int) -> Iterator[tuple[int, str]]:
    """The blocks that are not constant. A constant read is known by one look."""
    if is_constant(buffer[:length]):
        return
    for start in range(0, length, BLOCK):
        block = buffer[start : min(start + BLOCK, length)]
        if not is_constant(block):
            digest = blake2b(block, digest_size=DIGEST_BYTES).hexdigest()
            yield at + start, digest


def blocks_at(fd: int, offsets: Iterable[int], length: int) -> Iterator[bytes]:
    """Their content now, past the page cache; `length` bytes of text where there is
    an error, as what cannot be read may be anything."""
    again, size = opened_past_cache(fd)
    try:
        with closing(mmap.mmap(-1, -(-length // size) * size)) as buffer:
            for at in offsets:
                try:
                    yield buffer[: os.preadv(again, [buffer], at)]
                except OSError:
                    yield b"unreadable".ljust(length, b"?")
    finally:
        os.close(again)


def is_constant(block: bytes) -> bool:
    """Whether all bytes are equal, as after a discard or a format."""
    return block.count(block[:1]) == len(block)


def opened_past_cache(fd: int) -> tuple[int, int]:
    """The target once more, and the unit in bytes of what may be read of it."""
    path = f"/proc/self/fd/{fd}"
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC), 512
    except OSError:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC), 1
