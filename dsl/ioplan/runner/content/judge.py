"""Whether a block could be what a load generator wrote, or must be somebody's data.

For the blocks that a session wrote which was killed: nothing but their kind tells of
them. Everything else is compared with what was there, and noise proves nothing.
"""

from __future__ import annotations

import zlib

from ioplan.runner.content.file_kinds import kind_of
from ioplan.runner.content.superblocks import KIB, found_at

SECTOR = 512
NOISE = 0.8
"""Noise does not become smaller than this share of its size by deflate. fio's becomes
0.82 to 1.0 (131,072 blocks of 3.33), text as base64 0.76."""
LEAST_NOISE_BYTES = 256
LEAST_CONSTANT_BYTES = 16
STAMP, STAMP_BYTES = b"ioplanVB", 48
"""The header of a block that was written with `verify`, as the engine writes it."""


def is_foreign(block: bytes) -> bool:
    """Whether a block cannot have been written by a load generator."""
    return is_structured(block) or has_name(block)


def has_name(block: bytes) -> bool:
    """Whether a sector of it begins as a file or a file system does."""
    sectors = (block[at : at + 2 * KIB] for at in range(0, len(block), SECTOR))
    return bool(found_at(block)) or any(map(kind_of, sectors))


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
