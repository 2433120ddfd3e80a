"""What the kernel erases by itself: holes in files, discards, zeros."""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct

from ioplan.backends import ProgressCallback
from ioplan.guard.target import Target

FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE = 1, 2
BLKDISCARD, BLKZEROOUT = 0x1277, 0x127F
PART_BYTES = 8 << 30
"""One call of the kernel's cannot be interrupted, and does not say how far it is."""


def punch(target: Target) -> str:
    """Give a file's blocks back; its size stays. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
    offset, length = ctypes.c_int64(0), ctypes.c_int64(os.fstat(target.fd).st_size)
    if libc.fallocate(target.fd, mode, offset, length):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return "punched out"


def discard(target: Target, tell: ProgressCallback) -> str:
    """Tell a device that nothing on it is needed. Raises OSError."""
    _in_parts(target, BLKDISCARD, tell)
    return "discarded"


def write_zeros(target: Target, tell: ProgressCallback) -> str:
    """Overwrite a device, or have it write zeros by itself. Raises OSError."""
    _in_parts(target, BLKZEROOUT, tell)
    return "overwritten with zeros"


def _in_parts(target: Target, call: int, tell: ProgressCallback) -> None:
    """The kernel takes start and length in bytes."""
    capacity = target.facts.capacity_bytes
    for start in range(0, capacity, PART_BYTES):
        length = min(PART_BYTES, capacity - start)
        fcntl.ioctl(target.fd, call, struct.pack("QQ", start, length))
        tell((start + length) / capacity)
