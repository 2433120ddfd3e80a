"""The file or device that a loop device has its data in."""

from __future__ import annotations

import os
import struct
from pathlib import Path

from msgspec import Struct

from ioplan.core.system import fcntl
from ioplan.runner.devices.device import Device
from ioplan.runner.devices.file_id import Key, device_key, key_at, key_of

LOOP_GET_STATUS64 = 0x4C05
STATUS_BYTES = 232
DELETED = " (deleted)"


class Backing(Struct, frozen=True):
    """A file or a device; `key` says which one, unless this user may not know.

    `path` leads to it in this mount namespace. It is empty where no path is known:
    the file may have been renamed, or be in another namespace.
    """

    path: str
    key: Key | None
    offset_bytes: int = 0

    def __str__(self) -> str:
        return self.path or "a file that has no name here"


def backing(disk: Device) -> Backing | None:
    """None if it is no loop device, or one without a file."""
    text = disk.raw("loop/backing_file").decode(errors="surrogateescape")
    if not text:
        return None
    path = text.rstrip("\n")
    if path.endswith(DELETED) or not path.isprintable():
        path = ""
    try:
        key, offset_bytes = _status(disk.node)
    except OSError:
        return Backing(path, key_at(Path(path)) if path else None)
    return Backing("" if _misleads(path, key) else path, key, offset_bytes)


def _misleads(path: str, key: Key) -> bool:
    """Whether the path leads to another file here, or nowhere."""
    try:
        return not path or key_of(Path(path).stat()) != key
    except PermissionError:
        return False  # this user cannot tell
    except OSError:
        return True


def _status(node: Path) -> tuple[Key, int]:
    """What the kernel has open, however its file is called now. Raises OSError."""
    fd = os.open(node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        answer = fcntl.ioctl(fd, LOOP_GET_STATUS64, bytes(STATUS_BYTES))
    finally:
        os.close(fd)
    device, inode, number, offset_bytes = struct.unpack_from("QQQQ", answer)
    return device_key(number) if number else ("file", device, inode), offset_bytes
