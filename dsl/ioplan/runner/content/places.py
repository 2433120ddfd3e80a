"""Where on a target its structures begin, and where blocks are drawn."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from ioplan.runner.content.superblocks import KIB, REACH_BYTES

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
