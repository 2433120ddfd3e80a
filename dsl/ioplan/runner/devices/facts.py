"""Facts of an open target: capacity, block size and identity."""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path

from ioplan.backends.backend import TargetFacts
from ioplan.core.system import fcntl
from ioplan.runner.devices.file_id import birth
from ioplan.runner.devices.identity import Identity

BLKGETSIZE64 = 0x80081272
BLKSSZGET = 0x1268
BLOCK_CANDIDATES = (512, 1024, 2048, 4096)


def device_facts(path: Path, fd: int, identity: Identity, firmware: str) -> TargetFacts:
    """The facts of a block device. Raises OSError."""
    named = identity.facts()
    return TargetFacts(
        path=str(path),
        kind="block",
        capacity_bytes=_ioctl_int(fd, BLKGETSIZE64, "Q"),
        block_bytes=_ioctl_int(fd, BLKSSZGET, "i"),
        identity=named | {"firmware": firmware} if firmware else named,
    )


def file_facts(path: Path, fd: int) -> TargetFacts:
    """The facts of a regular file. Raises OSError."""
    status = os.fstat(fd)
    block = _direct_block(fd, status.st_size)
    return TargetFacts(
        path=str(path),
        kind="file",
        capacity_bytes=status.st_size // block * block,
        block_bytes=block,
        identity=file_identity(fd),
    )


def file_identity(fd: int) -> dict[str, str]:
    """A later file may get the inode number of a removed one; its birth differs."""
    status, born = os.fstat(fd), birth(fd)
    inode = {"inode": f"{status.st_dev}:{status.st_ino}"}
    return inode | {"born": born} if born else inode


def _ioctl_int(fd: int, request: int, kind: str) -> int:
    answer = fcntl.ioctl(fd, request, bytes(struct.calcsize(kind)))
    return int(struct.unpack(kind, answer)[0])


def _direct_block(file: int, size: int) -> int:
    """The smallest block that direct I/O on the file accepts, found by trying."""
    try:
        again = f"/proc/self/fd/{file}"
        fd = os.open(again, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    except OSError:
        return BLOCK_CANDIDATES[0]  # the backend refuses buffered I/O, and says so
    try:
        return next((b for b in BLOCK_CANDIDATES if _reads(fd, b, size)), 4096)
    finally:
        os.close(fd)


def _reads(fd: int, block: int, size: int) -> bool:
    if size < 2 * block:
        return True
    with mmap.mmap(-1, block) as buffer:
        try:
            return os.preadv(fd, [buffer], block) == block
        except OSError:
            return False
