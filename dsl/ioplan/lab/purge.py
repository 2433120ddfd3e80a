"""Makes a target as new, and proves it by reading back."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import struct

from ioplan.backends import BackendError
from ioplan.lab.target import Target

FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE = 1, 2
BLKDISCARD = 0x1277
SAMPLES = 64
SAMPLE_BYTES = 4096


def purge(target: Target) -> str:
    """Punch a file out, or discard a device. Returns how. Raises BackendError."""
    try:
        return _purged(target)
    except OSError as error:
        raise BackendError(
            f"cannot purge {target.facts.path}: {error.strerror}"
        ) from error


def _purged(target: Target) -> str:
    if target.facts.kind == "block":
        extent = struct.pack("QQ", 0, target.facts.capacity_bytes)
        fcntl.ioctl(target.fd, BLKDISCARD, extent)
        how = "discarded"
    else:
        _punch(target.fd, os.fstat(target.fd).st_size)
        how = "punched out"
    os.fsync(target.fd)
    left = _samples_left(target)
    return f"{how}; {left}"


def _punch(fd: int, size_bytes: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
    offset, length = ctypes.c_int64(0), ctypes.c_int64(size_bytes)
    if libc.fallocate(fd, mode, offset, length):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _samples_left(target: Target) -> str:
    """Read samples over the whole target, past the page cache."""
    capacity = target.facts.capacity_bytes
    last = max(0, capacity - SAMPLE_BYTES) // SAMPLE_BYTES
    places = {last * i // (SAMPLES - 1) * SAMPLE_BYTES for i in range(SAMPLES)}
    fd = os.open(target.facts.path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    try:
        with mmap.mmap(-1, SAMPLE_BYTES) as buffer:
            kept = sum(_holds_data(fd, place, buffer) for place in places)
    finally:
        os.close(fd)
    if not kept:
        return f"{len(places)} samples read back as zeros"
    if target.facts.kind == "file":
        raise BackendError(f"{kept} of {len(places)} samples still hold data")
    return f"{kept} of {len(places)} samples still hold data, as a discard may leave it"


def _holds_data(fd: int, place: int, buffer: mmap.mmap) -> bool:
    count = os.preadv(fd, [buffer], place)
    return any(buffer[:count])
