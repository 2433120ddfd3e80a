"""What is on a target: every block that is read and is not constant is data.

Nothing is inferred from noise: compressed and encrypted files look like what load
generators write. Whose data it is, is for the guard to know.
"""

from __future__ import annotations

import errno
import mmap
import os
import random
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import blake2b

from msgspec import Struct

from ioplan.runner.content.superblocks import KIB, REACH_BYTES

# Where on a target its structures begin, and where blocks are drawn.

BLOCK, MIB, GIB = 4 * KIB, 1 << 20, 1 << 30
HEAD_BYTES, TAIL_BYTES = 64 * MIB, 16 * MIB
"""Read whole: where partitions begin, and where copies of tables and labels end."""
USUAL_STARTS = (0, 63 * 512, MIB)
"""Where file systems begin on whole drives, in old partitions, and since 2009."""
FINE_STEP, COARSE_STEP, FINE_END = 4 * MIB, 16 * MIB, 4 * GIB
MOST_STEPS = 16_384
"""Coarse steps grow beyond 256 GiB, so that looking ends within seconds."""
EXT_GROUPS = (1, 3, 5, 7, 9, 25, 27, 49, 81, 125, 243)
"""The block groups that have a copy of the superblock with `sparse_super`."""
EXT_BLOCKS = (KIB, 2 * KIB, 4 * KIB)
NTFS_INDEX = 786_432 * BLOCK
BTRFS_COPIES = (64 * MIB, 256 * GIB)
DRAWS_AT_1_TB, FEWEST_DRAWS, MOST_DRAWS = 4_000, 1_000, 16_000
TERABYTE = 10**12


def draws(capacity_bytes: int) -> int:
    """How many blocks are drawn: in proportion to the root of the size."""
    wanted = DRAWS_AT_1_TB * (capacity_bytes / TERABYTE) ** 0.5
    return int(min(max(wanted, FEWEST_DRAWS), MOST_DRAWS))


def drawn(capacity_bytes: int, seed: int) -> Iterator[int]:
    """The offsets of that many blocks, one from each of as many equal parts."""
    blocks, count = capacity_bytes // BLOCK, draws(capacity_bytes)
    chance, part = random.Random(seed), max(1, blocks // count)
    for number in range(min(count, blocks)):
        yield BLOCK * (blocks * number // count + chance.randrange(part))


def steps(capacity_bytes: int) -> Iterator[int]:
    """Where a partition may begin beyond the first 64 MiB."""
    yield from range(HEAD_BYTES, min(FINE_END, capacity_bytes), FINE_STEP)
    coarse = max(COARSE_STEP, capacity_bytes // MOST_STEPS // COARSE_STEP * COARSE_STEP)
    yield from range(FINE_END, capacity_bytes, coarse)


def copies(start: int, end: int) -> Iterator[int]:
    """Where a file system from `start` to `end` has copies of its beginning.

    They are those of ext with blocks of 1, 2 and 4 KiB, btrfs, and NTFS: one in its
    middle.
    """
    for block_bytes in EXT_BLOCKS:
        group_bytes = 8 * block_bytes * block_bytes
        first = KIB if block_bytes == KIB else 0
        yield from (start + first + group_bytes * group for group in EXT_GROUPS)
    yield from (start + at for at in BTRFS_COPIES)
    yield start + NTFS_INDEX
    yield start + (end - start) // 2


def quarters(start: int, end: int) -> Iterator[int]:
    """Just before each quarter, where an XFS has a copy by default."""
    for number in (1, 2, 3):
        yield start + (end - start) * number // 4 - REACH_BYTES // 2


def reads(capacity_bytes: int, starts: Iterable[int] = ()) -> Iterator[tuple[int, int]]:
    """Offset and length in bytes of what is read at fixed places, block by block.

    `starts` are those of partitions that a table names.
    """
    head = min(HEAD_BYTES, capacity_bytes)
    tail = max(head, capacity_bytes - TAIL_BYTES) // BLOCK * BLOCK
    yield from ((at, min(MIB, head - at)) for at in range(0, head, MIB))
    yield from (
        (at, min(MIB, capacity_bytes - at)) for at in range(tail, capacity_bytes, MIB)
    )
    known = [*USUAL_STARTS, *starts]
    places = [(at, REACH_BYTES) for at in starts]
    places += [(at, BLOCK) for one in known for at in copies(one, capacity_bytes)]
    places += [
        (at, REACH_BYTES) for one in known for at in quarters(one, capacity_bytes)
    ]
    places += [(at, 2 * BLOCK) for at in steps(capacity_bytes)]
    for at, length in places:
        first = at // BLOCK * BLOCK
        if head <= first and first + length <= tail:
            yield first, length


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
