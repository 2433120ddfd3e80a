"""Erasing by the kernel's own calls: punched holes, discards, zeros."""

from __future__ import annotations

import ctypes
import os
import struct

from ioplan.backends.backend import ProgressCallback
from ioplan.core.system import fcntl
from ioplan.runner.guard.target import Target

FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE = 1, 2
BLKDISCARD, BLKZEROOUT = 0x1277, 0x127F
PART_BYTES = 8 << 30
"""One call cannot be interrupted, and does not report progress."""


def punch(target: Target) -> str:
    """Give a file's blocks back to the file system; it keeps its size.

    Raises OSError.
    """
    punch_hole(target.fd, 0, os.fstat(target.fd).st_size)
    return "punched out"


def punch_hole(fd: int, start_bytes: int, length_bytes: int) -> None:
    """Make a part of a file zeros without blocks. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
    if libc.fallocate(
        fd, mode, ctypes.c_int64(start_bytes), ctypes.c_int64(length_bytes)
    ):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def discard(target: Target, on_progress: ProgressCallback) -> str:
    """ProgressCallback a device that nothing on it is needed. Raises OSError."""
    _in_parts(target, BLKDISCARD, on_progress)
    return "discarded"


def write_zeros(target: Target, on_progress: ProgressCallback) -> str:
    """Overwrite a device with zeros, by its own command if it has one.

    Raises OSError.
    """
    _in_parts(target, BLKZEROOUT, on_progress)
    return "overwritten with zeros"


def _in_parts(target: Target, call: int, on_progress: ProgressCallback) -> None:
    """The calls take start and length in bytes."""
    capacity = target.facts.capacity_bytes
    for start in range(0, capacity, PART_BYTES):
        length = min(PART_BYTES, capacity - start)
        fcntl.ioctl(target.fd, call, struct.pack("QQ", start, length))
        on_progress((start + length) / capacity)
