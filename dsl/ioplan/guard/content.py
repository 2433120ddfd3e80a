"""What is on a target, by sampling: nothing, noise, or something that has a structure.

A signature tells of file systems whose first blocks are whole. Archives, databases,
disk images, and file systems that have lost their first blocks have none where it is
looked for. So some 1,000 blocks are read, directly from the device: each is zeros (or
another constant), noise that does not compress, as load generators and ioplan write it,
both one after the other, or *structured*. Structured blocks are somebody's data.
"""

from __future__ import annotations

import mmap
import os
import random
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

BLOCK = 4096
ENDS_BYTES = 1 << 20
"""The first and the last of a target are read whole: most structures begin there."""
DRAWS = 1000
NOISE = 0.97
"""Noise does not become smaller than this share of its size; with deflate's own bytes
it becomes larger. A stamp at the head of a block may be compressed away."""
LEAST_NOISE_BYTES = 256
SHOWN_BYTES = 24
STAMP, STAMP_BYTES = b"ioplanVB", 40
"""The header of a block that was written with `verify`, as the engine writes it."""

BACKUPS = (
    *(8 << 20, 32 << 20, 64 << 20, 128 << 20, 384 << 20, 640 << 20),
    *((8 << 20) + 1024, 256 << 30),
)
"""Where ext4 (1, 2 and 4 KiB blocks) and btrfs keep copies of their superblock."""
PARTS = 4
"""XFS keeps one at the start of each allocation group, by default a quarter."""


@dataclass(frozen=True)
class Content:
    """What was seen: how many blocks were read, and which of them are structured."""

    blocks: int
    structured: tuple[int, ...]
    example: bytes = b""

    @property
    def text(self) -> str:
        """For a refusal: how much, where, and how it begins."""
        first = self.structured[0]
        shown = "".join(chr(b) if 32 <= b < 127 else "." for b in self.example)
        return (
            f"{len(self.structured)} of {self.blocks} sampled blocks hold structured "
            f"data, the first at byte {first} ({shown!r})"
        )


def content_of(fd: int, capacity_bytes: int, seed: int) -> Content:
    """Sample what is stored. Raises OSError where a block cannot be read."""
    structured, example, count = [], b"", 0
    again, size = _direct(fd)
    with closing(mmap.mmap(-1, ENDS_BYTES)) as buffer:
        try:
            for offset, length in _places(capacity_bytes, seed, size):
                read = os.preadv(again, [memoryview(buffer)[:length]], offset)
                for start in range(0, read, BLOCK):
                    block = buffer[start : min(start + BLOCK, read)]
                    count += 1
                    if is_structured(block):
                        structured.append(offset + start)
                        example = example or block.lstrip(b"\0")[:SHOWN_BYTES]
        finally:
            os.close(again)
    return Content(count, tuple(sorted(structured)), example)


def is_structured(block: bytes) -> bool:
    """Whether a block is neither constant nor noise, nor one after the other.

    Compressible data as load generators write it is noise and then a constant.
    """
    core = _without_constant_ends(_without_stamps(block))
    if not core:
        return False
    if len(core) < LEAST_NOISE_BYTES:
        return True
    return len(zlib.compress(core, 1)) < NOISE * len(core)


def _without_stamps(block: bytes) -> bytes:
    """Without what `verify` puts at the head of each logical block."""
    if not block.startswith(STAMP):
        return block
    return b"".join(part[STAMP_BYTES - len(STAMP) :] for part in block.split(STAMP))


def _without_constant_ends(block: bytes) -> bytes:
    for end in {block[:1], block[-1:]}:
        block = block.strip(end) if block.count(end) > len(block) // 64 else block
    return block


def _places(capacity_bytes: int, seed: int, size: int) -> Iterator[tuple[int, int]]:
    """Offset and length of each read; the ends first, as they say most."""
    ends = min(ENDS_BYTES, capacity_bytes // size * size)
    if not ends:
        return
    yield 0, ends
    last = (capacity_bytes - ends) // size * size
    if last >= ends:
        yield last, ends
    chance, blocks = random.Random(seed), capacity_bytes // BLOCK
    known = [one // BLOCK for one in BACKUPS]
    known += [blocks * part // PARTS for part in range(1, PARTS)]
    draws = [
        blocks * number // DRAWS + chance.randrange(max(1, blocks // DRAWS))
        for number in range(DRAWS)
    ]
    inner = {one for one in (*known, *draws) if ends <= one * BLOCK < last}
    yield from ((one * BLOCK, BLOCK) for one in sorted(inner))


def _direct(fd: int) -> tuple[int, int]:
    """The target once more, read past the page cache where that is possible."""
    path = f"/proc/self/fd/{fd}"
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC), BLOCK
    except OSError:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC), 1
