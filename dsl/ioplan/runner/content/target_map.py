"""A map of what a target holds, for the person who decides whether it may go."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from ioplan.core.model import Model
from ioplan.core.text import counted
from ioplan.core.units import bytes_text, percent_text
from ioplan.runner.content.file_kinds import kind_of
from ioplan.runner.content.scan import (
    BLOCK,
    HEAD_BYTES,
    MIB,
    TAIL_BYTES,
    USUAL_STARTS,
    Scan,
    scan,
    steps,
)
from ioplan.runner.content.superblocks import KIB, REACH_BYTES, ext_details, found_at

# Partition tables: MBR, GPT, and the copy of a GPT at the end of a drive.
#
# Layout: UEFI Specification 2.10, section 5.

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


MOST_NAMED = 2_000
"""Blocks with data that are looked at for a name."""
EXT_MAGIC_AT, EXT_MAGIC = 56, b"\x53\xef"
BTRFS_MAGIC_AT, BTRFS_MAGIC = 64, b"_BHRfS_M"

Read = Callable[[int, int], bytes]


class Found(Model):
    """A structure with a name, and where it begins."""

    at_bytes: int
    what: str

    def __str__(self) -> str:
        name, _, details = self.what.partition(" (")
        end = f" ({details}" if details else ""
        return f"{name} at {_at(self.at_bytes)}{end}"


class TargetMap(Model):
    """What was seen, of how much that was read.

    `share` is that of the blocks drawn at random which hold data, 0 to 1.
    """

    capacity_bytes: int
    tables: list[str] = []
    found: list[Found] = []
    read_bytes: int = 0
    drawn: int = 0
    share: float = 0.0
    first_data_bytes: int | None = None
    unreadable: list[int] = []

    @property
    def is_empty(self) -> bool:
        """Whether nothing was seen in what was read: no proof of what was not."""
        return self.first_data_bytes is None and not self.unreadable

    def __str__(self) -> str:
        """One sentence: size, tables, structures, share of blocks with data."""
        parts = [", ".join(self.tables) or "no partition table"]
        parts += map(str, self.found) if self.found else [self._unnamed()]
        share = _percent(self.share)
        parts.append(f"{share} of {self.drawn:,} sampled blocks hold data")
        if self.is_empty:
            parts[1:] = [f"no data in the {bytes_text(self.read_bytes)} that were read"]
        if self.unreadable:
            places = counted(len(self.unreadable), "place")
            first = _at(self.unreadable[0])
            parts.append(f"{places} cannot be read, the first at {first}")
        return f"{bytes_text(self.capacity_bytes)}: {'; '.join(filter(None, parts))}"

    def _unnamed(self) -> str:
        if self.first_data_bytes is None or self.tables:
            return ""
        return f"data of an unknown kind from {_at(self.first_data_bytes)} on"


def map_of(
    fd: int, capacity_bytes: int, seed: int, seen: Scan | None = None
) -> TargetMap:
    """Read tables, plausible starts, copies and drawn blocks; nothing is written.

    What was `seen` a moment ago is read again only where a table names partitions.
    """
    found_tables = list(tables(fd, capacity_bytes))
    starts = {one.start_bytes for table in found_tables for one in table.partitions}
    starts = {at for at in starts if at < capacity_bytes}
    if seen is None or starts:
        seen = scan(fd, capacity_bytes, seed, sorted(starts))
    return TargetMap(
        capacity_bytes=capacity_bytes,
        tables=_named(found_tables),
        found=list(_structures(fd, seen, starts)),
        read_bytes=seen.read_bytes,
        drawn=seen.drawn,
        share=seen.share(),
        first_data_bytes=min(seen.data, default=None),
        unreadable=list(seen.unreadable),
    )


def _named(found: list[Table]) -> list[str]:
    """A copy is named only where the table at the start is gone."""
    at_start = [one for one in found if not one.where]
    return list(dict.fromkeys(map(str, at_start or found)))


def _structures(fd: int, seen: Scan, starts: Iterable[int]) -> Iterator[Found]:
    """Each begins once: file systems, then what only a copy or a file tells of."""

    def read(at: int, length: int) -> bytes:
        try:
            return os.pread(fd, length, at)
        except OSError:
            return b""

    begun = list(_begins(read, seen, starts))
    yield from begun
    if not begun:
        yield from _first_of_each(_single(read, at) for at in _first(seen.data))


def _first(data: Iterable[int]) -> list[int]:
    return sorted(data)[:MOST_NAMED]


def _begins(read: Read, seen: Scan, starts: Iterable[int]) -> Iterator[Found]:
    inside = range(0, min(HEAD_BYTES, seen.capacity_bytes), MIB)
    candidates = {*USUAL_STARTS, *starts, *inside}
    candidates |= {at for at in steps(seen.capacity_bytes) if at in seen.data}
    for at in sorted(candidates):
        what = found_at(read(at, REACH_BYTES)) if _has_data(seen, at) else ""
        if what and not what.startswith("EFI partition table"):
            yield Found(at_bytes=at, what=what)


def _has_data(seen: Scan, start: int) -> bool:
    first = start // BLOCK * BLOCK
    return any(at in seen.data for at in range(first, start + REACH_BYTES, BLOCK))


def _single(read: Read, at: int) -> Found | None:
    """By one block: a copy of a superblock, a file's beginning."""
    block = read(at, BLOCK)
    for offset in (0, KIB):
        part = block[offset:]
        if part.startswith(EXT_MAGIC, EXT_MAGIC_AT) and (details := ext_details(part)):
            return Found(at_bytes=at, what=f"copy of an ext4 superblock ({details})")
    if block.startswith(BTRFS_MAGIC, BTRFS_MAGIC_AT):
        return Found(at_bytes=at, what="copy of a btrfs superblock")
    what = found_at(block) or kind_of(block)
    return Found(at_bytes=at, what=what) if what else None


def _first_of_each(found: Iterable[Found | None]) -> Iterator[Found]:
    """A thousand files of a kind are one line."""
    known = set[str]()
    for one in filter(None, found):
        name = one.what.partition(" (")[0]
        if name not in known:
            known.add(name)
            yield one


def _at(at_bytes: int) -> str:
    if at_bytes and at_bytes % MIB == 0:
        return f"{at_bytes // MIB:,} MiB"
    return f"byte {at_bytes:,}"


def _percent(share: float) -> str:
    return percent_text(100 * share)
