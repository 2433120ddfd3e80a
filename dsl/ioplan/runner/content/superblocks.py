"""What names a file system, an encrypted volume or a member of an array.

The table has what util-linux's libblkid looks for, as offsets from where the structure
begins; magic numbers of two bytes have a check more. util-linux itself looks at the
start of a device only, so that what begins at 1 MiB of a disk that has lost its
partition table is not found by it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from msgspec import Struct

Details = Callable[[bytes], str | None]
"""Describes the bytes from the structure's start on; None if it is none."""

KIB = 1 << 10
REACH_BYTES = 136 * KIB
"""From a start to behind its last magic number (ZFS: its first uberblocks)."""


class Superblock(Struct, frozen=True):
    """`magics` are alternatives: the offset in bytes, and what stands there."""

    name: str
    magics: tuple[tuple[int, bytes], ...]
    details: Details = lambda _: ""


def found_at(start: bytes) -> str:
    """The name and description of what begins with these bytes; empty if nothing."""
    return next(_all_at(start), "")


def _all_at(start: bytes) -> Iterator[str]:
    for kind in SUPERBLOCKS:
        if any(start.startswith(magic, at) for at, magic in kind.magics):
            described = kind.details(start)
            if described is not None:
                yield f"{kind.name} ({described})" if described else kind.name


def _text(raw: bytes) -> str:
    text = raw.split(b"\0")[0].decode(errors="replace").strip()
    return f"label {text}" if text and text.isprintable() else ""


def _label(at: int, length: int) -> Details:
    return lambda start: _text(start[at : at + length])


def _together(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def ext_details(block: bytes) -> str | None:
    """Details of a superblock of ext2, ext3 or ext4, 1,024 bytes from the start.

    Layout: the Linux kernel's Documentation/filesystems/ext4/super.rst.
    """
    if len(block) < 264:
        return None
    inodes, _, _, _, free_inodes, _, block_log = struct.unpack_from("<7I", block)
    written_s, state = *struct.unpack_from("<I", block, 48), block[58]
    if not inodes > 0 or free_inodes > inodes or block_log > 6 or state > 7:
        return None
    day = datetime.fromtimestamp(written_s, UTC).date() if written_s else None
    return _together(
        _text(block[120:136]),
        f"{inodes - free_inodes:,} inodes",
        f"last written {day}" if day else "",
    )


def _ext(block: bytes) -> str | None:
    """Not of a copy, which has the number of its group."""
    return None if any(block[90:92]) else ext_details(block)


def _xfs(start: bytes) -> str | None:
    count = int.from_bytes(start[128:136], "big")
    return _together(_text(start[108:120]), f"{count:,} inodes allocated")


def _fat(start: bytes) -> str | None:
    if start[510:512] != b"\x55\xaa":
        return None
    at = 71 if start.startswith(b"FAT32", 82) else 43
    label = _text(start[at : at + 11])
    return "" if label == "label NO NAME" else label


def _hfs(start: bytes) -> str | None:
    return "" if start[1026:1028] in {b"\0\4", b"\0\5"} else None


def _luks(start: bytes) -> str:
    version = int.from_bytes(start[6:8], "big")
    return _together(f"version {version}", _text(start[24:72]) if version == 2 else "")


def _swap(start: bytes) -> str:
    return _text(start[1024 + 28 : 1024 + 44])


PAGES = (4 * KIB, 8 * KIB, 16 * KIB, 64 * KIB)
"""Sizes of memory pages: swap's magic number ends the first."""
SWAP = tuple(
    (page - 10, magic) for page in PAGES for magic in (b"SWAPSPACE2", b"SWAP-SPACE")
)
ZFS = tuple(
    (at, magic)
    for at in range(128 * KIB, REACH_BYTES, KIB)
    for magic in (bytes.fromhex("0cb1ba00"), bytes.fromhex("0000000000bab10c"))
)
BCACHE = bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81")
BCACHEFS = bytes.fromhex("c68573f666ce90a9d96a60cf803df7ef")

SUPERBLOCKS = (
    Superblock("ext4", ((1080, b"\x53\xef"),), lambda at: _ext(at[1024:])),
    Superblock("xfs", ((0, b"XFSB"),), _xfs),
    Superblock("btrfs", ((64 * KIB + 64, b"_BHRfS_M"),), _label(64 * KIB + 299, 256)),
    Superblock("zfs_member", ZFS),
    Superblock("LUKS", ((0, b"LUKS\xba\xbe"),), _luks),
    Superblock(
        "LUKS 2, its second header",
        tuple((16 * KIB << n, b"SKUL\xba\xbe") for n in range(4)),
    ),
    Superblock("LVM physical volume", tuple((512 * n, b"LABELONE") for n in range(4))),
    Superblock("ntfs", ((3, b"NTFS    "),)),
    Superblock("exfat", ((3, b"EXFAT   "),)),
    Superblock("ReFS", ((3, b"ReFS\0"),)),
    Superblock("BitLocker", ((3, b"-FVE-FS-"),)),
    Superblock(
        "vfat",
        (
            (82, b"FAT32   "),
            *((54, b) for b in (b"FAT12   ", b"FAT16   ", b"FAT     ")),
        ),
        _fat,
    ),
    Superblock("f2fs", ((KIB, bytes.fromhex("1020f5f2")),)),
    Superblock("bcache", ((4 * KIB + 24, BCACHE),)),
    Superblock("bcachefs", ((4 * KIB + 24, BCACHEFS), (4 * KIB + 24, BCACHE[::-1]))),
    Superblock(
        "member of a Linux RAID",
        ((0, b"\xfc\x4e\x2b\xa9"), (4 * KIB, b"\xfc\x4e\x2b\xa9")),
    ),
    Superblock("swap", SWAP, _swap),
    Superblock("iso9660", ((32769, b"CD001"),), _label(32808, 32)),
    Superblock("udf", tuple((32769, b) for b in (b"BEA01", b"NSR02", b"NSR03"))),
    Superblock("apfs", ((32, b"NXSB"),)),
    Superblock("hfsplus", ((KIB, b"H+"), (KIB, b"HX")), _hfs),
    Superblock("jfs", ((32 * KIB, b"JFS1"),)),
    Superblock(
        "reiserfs",
        tuple(
            (at + 52, magic)
            for at in (8 * KIB, 64 * KIB)
            for magic in (b"ReIsErFs", b"ReIsEr2Fs", b"ReIsEr3Fs")
        ),
    ),
    Superblock("reiser4", ((64 * KIB, b"ReIsEr4"),)),
    Superblock("gfs2", ((64 * KIB, b"\x01\x16\x19\x70"),)),
    Superblock("ocfs2", tuple((KIB << n, b"OCFSV2") for n in range(4))),
    Superblock("squashfs", ((0, b"hsqs"), (0, b"sqsh"))),
    Superblock("erofs", ((KIB, bytes.fromhex("e2e1f5e0")),)),
    Superblock("cramfs", ((0, b"\x45\x3d\xcd\x28"),)),
    Superblock("zonefs", ((0, b"SFOZ"),)),
    Superblock("ubi", ((0, b"UBI#"),)),
    Superblock("ubifs", ((0, b"\x31\x18\x10\x06"),)),
    Superblock("ufs", ((8 * KIB + 1372, b"\x54\x19\x01\0"), (9564, b"\0\1\x19\x54"))),
    Superblock("ufs2", ((64 * KIB + 1372, b"\x19\x01\x54\x19"),)),
    Superblock("befs", ((512 + 32, b"1SFB"), (512 + 32, b"BFS1"))),
    Superblock("vxfs", ((KIB, b"\xf5\xfc\x01\xa5"),)),
    Superblock("hpfs", ((8 * KIB, b"\x49\xe8\x95\xf9"),)),
    Superblock("log of an ext4", ((KIB, b"\xc0\x3b\x39\x98"),)),
    Superblock("Ceph BlueStore", ((0, b"bluestore block device"),)),
    Superblock("Stratis pool", ((516, b"!Stra0tis\x86\xff\x02^\x41rh"),)),
    Superblock("VDO", ((0, b"dmvdo001"),)),
    Superblock("dm-verity", ((0, b"verity\0\0"),)),
    Superblock("dm-integrity", ((0, b"integrt\0"),)),
    Superblock("snapshot store", ((0, b"SnAp"),)),
    Superblock("Oracle ASM", ((32, b"ORCLDISK"),)),
    Superblock("Netware volume", ((4 * KIB, b"SPB5"),)),
    Superblock("EFI partition table", ((512, b"EFI PART"), (4 * KIB, b"EFI PART"))),
)
