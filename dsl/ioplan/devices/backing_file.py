"""What is under a loop device."""

from __future__ import annotations

import fcntl
import os
import struct
from dataclasses import dataclass
from pathlib import Path

from ioplan.devices.device import Device
from ioplan.devices.file_id import Key, device_key, key_at, key_of

LOOP_GET_STATUS64 = 0x4C05
STATUS_BYTES = 232
DELETED = " (deleted)"


@dataclass(frozen=True)
class Backing:
    """A file or a device; `key` says which, if this user may know.

    `path` leads to it from here. It is empty where none is known: the file may have
    got another name, or lie in another mount namespace.
    """

    path: str
    key: Key | None
    offset_bytes: int = 0

    def __str__(self) -> str:
        return self.path or "a file that has no name here"


def backing(disk: Device) -> Backing | None:
    """None if it is no loop device, or a free one."""
    said = disk.raw("loop/backing_file").decode(errors="surrogateescape")
    if not said:
        return None
    path = said.rstrip("\n")
    if path.endswith(DELETED) or not path.isprintable():
        path = ""
    try:
        key, offset_bytes = _status(disk.node)
    except OSError:
        return Backing(path, key_at(Path(path)) if path else None)
    return Backing("" if _misleads(path, key) else path, key, offset_bytes)


def _misleads(path: str, key: Key) -> bool:
    """Whether it is a path of another mount namespace, or of what is gone."""
    try:
        return not path or key_of(Path(path).stat()) != key
    except PermissionError:
        return False  # it cannot be told from here
    except OSError:
        return True


def _status(node: Path) -> tuple[Key, int]:
    """The kernel's own word, which no renaming changes. Raises OSError."""
    fd = os.open(node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        answer = fcntl.ioctl(fd, LOOP_GET_STATUS64, bytes(STATUS_BYTES))
    finally:
        os.close(fd)
    device, inode, number, offset_bytes = struct.unpack_from("QQQQ", answer)
    return device_key(number) if number else ("file", device, inode), offset_bytes
