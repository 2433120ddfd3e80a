"""Partition tables: MBR, GPT, and the copy of a GPT at the end of a drive.

Layout: UEFI Specification 2.10, section 5.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from msgspec import Struct

from ioplan.runner.content.places import TAIL_BYTES

SECTORS = (512, 4096)
MAGIC = b"EFI PART"
MOST_ENTRIES = 1024
MBR_ENTRIES, MBR_END = 446, b"\x55\xaa"
PROTECTIVE = 0xEE


class Partition(Struct, frozen=True):
    """A part of a drive, by its table."""

    start_bytes: int
    length_bytes: int
    name: str = ""


class Table(Struct, frozen=True):
    """A partition table; `where` is empty for one in its usual place."""

    kind: str
    partitions: tuple[Partition, ...]
    where: str = ""

    def __str__(self) -> str:
        count = len(self.partitions)
        noun = "partition" if count == 1 else "partitions"
        return f"{self.kind}{self.where} with {count} {noun}"


def tables(fd: int, capacity_bytes: int) -> Iterator[Table]:
    """All that are found, those at the start first."""
    head = os.pread(fd, 2 * max(SECTORS), 0)
    for sector in SECTORS:
        yield from _gpt(fd, head[sector:], sector, "")
    yield from _mbr(head)
    at = max(0, capacity_bytes - TAIL_BYTES)
    tail, found = os.pread(fd, TAIL_BYTES, at), -1
    while (found := tail.find(MAGIC, found + 1)) >= 0:
        if (at + found) % min(SECTORS) == 0:
            for sector in SECTORS:
                yield from _gpt(fd, tail[found:], sector, " (its copy at the end)")


def _gpt(fd: int, header: bytes, sector: int, where: str) -> Iterator[Table]:
    """The table of a GPT header; none where its entries do not fit that sector size."""
    if not header.startswith(MAGIC) or len(header) < 92:
        return
    first, count, size = struct.unpack_from("<QII", header, 72)
    if not (0 < count <= MOST_ENTRIES and 128 <= size <= 4096):
        return
    raw = os.pread(fd, count * size, first * sector)
    entries = (raw[at : at + size] for at in range(0, len(raw), size))
    partitions = tuple(_gpt_entry(one, sector) for one in entries if any(one[:16]))
    if partitions and all(one.length_bytes > 0 for one in partitions):
        yield Table("GPT", partitions, where)


def _gpt_entry(entry: bytes, sector: int) -> Partition:
    first, last = struct.unpack_from("<QQ", entry, 32)
    name = entry[56:128].decode("utf-16-le", "replace").split("\0")[0]
    return Partition(first * sector, (last - first + 1) * sector, name)


def _mbr(head: bytes) -> Iterator[Table]:
    entries = [head[at : at + 16] for at in range(MBR_ENTRIES, 510, 16)]
    if head[510:512] != MBR_END or any(one[:1] not in b"\0\x80" for one in entries):
        return
    found = tuple(_mbr_entry(one) for one in entries if one[4:5] != b"\0")
    if found and entries[0][4] != PROTECTIVE:
        yield Table("MBR", found)


def _mbr_entry(entry: bytes) -> Partition:
    first, count = struct.unpack_from("<II", entry, 8)
    return Partition(first * 512, count * 512)
