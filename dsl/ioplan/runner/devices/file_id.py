"""What identifies a file or device, whatever path leads to it."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

from ioplan.core.system import fcntl

Key = tuple[str, int, int]
"""("file", device, inode) or ("device", number, 0)."""

AT_EMPTY_PATH = 0x1000
STATX_BTIME = 0x800
STATX_BYTES = 256
BTIME_OFFSET = 80
FS_IOC_GETVERSION = 0x80087601


def key_of(status: os.stat_result) -> Key:
    """One key for all special files of a device, and for all names of a file."""
    if status.st_rdev:
        return device_key(status.st_rdev)
    return "file", status.st_dev, status.st_ino


def device_key(number: int) -> Key:
    """The key of the block device with this `st_rdev`."""
    return "device", number, 0


def key_at(path: Path) -> Key | None:
    """The key of what a path leads to; None if it leads nowhere."""
    try:
        return key_of(path.stat())
    except OSError:
        return None


def is_there(path: Path | str) -> bool:
    """Whether a path leads to something, be it to a server that is dead.

    `Path.exists` raises there; who opens it says why it cannot be used.
    """
    try:
        Path(path).stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError:
        return True
    return True


def key_held(fd: int) -> Key | None:
    """The key of an open file or device; None if it is gone, as of a dead server."""
    try:
        return key_of(os.fstat(fd))
    except OSError:
        return None


def birth(fd: int) -> str:
    """Tells a file from a later one with the same inode number; empty if unknown.

    The file's time of birth, else its inode's generation.
    """
    return _birth_time(fd) or _generation(fd)


def _birth_time(fd: int) -> str:
    """statx(2), which Python's os does not have yet."""
    found = ctypes.create_string_buffer(STATX_BYTES)
    try:
        statx = ctypes.CDLL(None).statx
    except AttributeError:
        return ""
    failed = statx(fd, b"", AT_EMPTY_PATH, STATX_BTIME, found)
    (mask,) = struct.unpack_from("I", found)
    if failed or not mask & STATX_BTIME:
        return ""
    seconds, nanoseconds = struct.unpack_from("qI", found, BTIME_OFFSET)
    return f"{seconds}.{nanoseconds:09}"


def _generation(fd: int) -> str:
    try:
        answer = fcntl.ioctl(fd, FS_IOC_GETVERSION, bytes(8))
    except OSError:
        return ""
    return f"generation-{struct.unpack_from('I', answer)[0]}"
