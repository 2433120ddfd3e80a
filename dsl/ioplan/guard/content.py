"""What is on a target, by sampling: nothing, noise, or something that has a structure.

A signature tells of file systems whose first blocks are whole. Archives, databases,
disk images, and file systems that have lost their first blocks have none where it is
looked for. So some 1,000 blocks are read, directly from the device: each is zeros (or
another constant), noise that does not compress, as load generators and ioplan write it,
both one after the other, or *structured*. Structured blocks are somebody's data.
"""

from __future__ import annotations

import math
import mmap
import os
import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial, reduce
from hashlib import blake2b

from msgspec import Struct
from msgspec.structs import replace

BLOCK, SECTOR = 4096, 512
ENDS_BYTES = 1 << 20
"""The first and the last of a target are read whole: most structures begin there."""
DRAWS = 1000
READERS = 16
NOISE = 0.8
"""Noise does not become smaller than this share of its size by deflate. fio's becomes
0.82 to 1.0 (131,072 blocks of 3.33), text as base64 0.76."""
LEAST_NOISE_BYTES = 256
LEAST_CONSTANT_BYTES = 16
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


class Content(Struct, frozen=True):
    """How many blocks were read; offset and digest of each that is structured, and the
    offsets of those that cannot be read."""

    blocks: int
    structured: dict[int, str] = {}
    unreadable: tuple[int, ...] = ()
    example: str = ""

    def __bool__(self) -> bool:
        """Whether there is anything that may be somebody's."""
        return bool(self.structured or self.unreadable)

    def without(self, known: Mapping[int, str]) -> Content:
        """What is not as it was when it was known."""
        other = {
            at: what for at, what in self.structured.items() if known.get(at) != what
        }
        return replace(self, structured=other)

    def __str__(self) -> str:
        """For a refusal: how much, where, and how it begins."""
        seen = f"of {self.blocks} sampled blocks "
        if not self:
            return f"{seen}none contains data"
        if not self.structured:
            first, count = min(self.unreadable), len(self.unreadable)
            return f"{seen}{count} cannot be read, the first at byte {first}"
        first, count = min(self.structured), len(self.structured)
        text = f"{seen}{count} contain structured data, the first at byte {first}"
        return f"{text} ({self.example!r})" if self.example else text


NOTHING = Content(0)


def content_of(fd: int, capacity_bytes: int, seed: int) -> Content:
    """Sample what is stored, whatever the page cache says.

    Raises OSError where the first or the last MiB cannot be read.
    """
    again, size = _direct(fd)
    try:
        return _sampled(again, list(_places(capacity_bytes, seed, size)))
    finally:
        os.close(again)


def _sampled(fd: int, places: Sequence[tuple[int, int]]) -> Content:
    """Several reads at a time: on a target of 2 ms they would take seconds."""
    with ThreadPoolExecutor(READERS) as readers:
        shares = [places[first::READERS] for first in range(READERS)]
        return reduce(_both, readers.map(partial(_share, fd), shares))


def _share(fd: int, places: Sequence[tuple[int, int]]) -> Content:
    """What one reader finds, block after block."""
    structured, unreadable, example, count = dict[int, str](), list[int](), "", 0
    with closing(mmap.mmap(-1, ENDS_BYTES)) as buffer:
        for offset, length in places:
            try:
                read = os.preadv(fd, [memoryview(buffer)[:length]], offset)
            except OSError:
                if length > BLOCK:
                    raise
                read = 0
                unreadable.append(offset)
            for start in range(0, read, BLOCK):
                block = buffer[start : min(start + BLOCK, read)]
                count += 1
                if is_structured(block):
                    structured[offset + start] = _digest(block)
                    if offset + start == min(structured):
                        example = _shown(block)
    return Content(count + len(unreadable), structured, tuple(unreadable), example)


def _both(one: Content, other: Content) -> Content:
    first = min((one, other), key=lambda part: min(part.structured, default=math.inf))
    structured = sorted((one.structured | other.structured).items())
    return Content(
        blocks=one.blocks + other.blocks,
        structured=dict(structured),
        unreadable=tuple(sorted(one.unreadable + other.unreadable)),
        example=first.example,
    )


def _shown(block: bytes) -> str:
    """How a block begins, if that says anything to a person."""
    begin = block.lstrip(b"\0")[:SHOWN_BYTES]
    text = "".join(chr(b) if 32 <= b < 127 else "." for b in begin)
    letters = sum(one.isalnum() for one in text)
    return text if 2 * letters > len(text) else ""


def _digest(block: bytes) -> str:
    return blake2b(block, digest_size=8).hexdigest()


def is_structured(block: bytes) -> bool:
    """Whether a block is neither constant nor noise, nor one after the other.

    Compressible data as load generators write it is noise and then a constant, in each
    block or, as fio writes it, in each 512 bytes.
    """
    whole = _without_stamps(block)
    parts = (whole[at : at + SECTOR] for at in range(0, len(whole), SECTOR))
    core = b"".join(map(_without_constant_ends, parts))
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
        block = block.strip(end) if block.count(end) > LEAST_CONSTANT_BYTES else block
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
