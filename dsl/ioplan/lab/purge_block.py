"""What the kernel erases by itself: holes in files, discards, zeros."""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
from collections.abc import Iterator

from ioplan.backends import BackendError
from ioplan.lab.device import Device
from ioplan.lab.target import Target

FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE = 1, 2
BLKDISCARD, BLKZEROOUT = 0x1277, 0x127F
PART_BYTES = 64 << 30
"""One call of the kernel's cannot be interrupted, so it gets no more than this."""


def punch(target: Target) -> str:
    """Give a file's blocks back; its size stays. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
    offset, length = ctypes.c_int64(0), ctypes.c_int64(os.fstat(target.fd).st_size)
    if libc.fallocate(target.fd, mode, offset, length):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return "punched out"


def discard(target: Target) -> str:
    """Tell a device that nothing on it is needed. Raises OSError."""
    for part in _parts(target):
        fcntl.ioctl(target.fd, BLKDISCARD, part)
    return "discarded"


def write_zeros(target: Target) -> str:
    """Overwrite a device, or have it write zeros by itself. Raises OSError."""
    for part in _parts(target):
        fcntl.ioctl(target.fd, BLKZEROOUT, part)
    return "overwritten with zeros"


def _parts(target: Target) -> Iterator[bytes]:
    """Start and length in bytes, as the kernel takes them."""
    capacity = target.facts.capacity_bytes
    for start in range(0, capacity, PART_BYTES):
        yield struct.pack("QQ", start, min(PART_BYTES, capacity - start))


def check_not_zoned(target: Target) -> None:
    """Zones are reset, not discarded, and not written at random."""
    disk = Device.numbered(os.fstat(target.fd).st_rdev).disk
    zoned = disk.text("queue/zoned")
    if zoned not in ("", "none"):
        raise BackendError(
            f"cannot purge {target.facts.path}, a {zoned} zoned device; reset its "
            f"zones with `blkzone reset`, and plan without `purge`"
        )
