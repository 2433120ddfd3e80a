"""Block devices of this host, from sysfs."""

from __future__ import annotations

import os
import stat
from functools import cached_property
from itertools import chain
from pathlib import Path

from msgspec import Struct

from ioplan.runner.devices.file_id import Key, device_key

SYSFS = Path("/sys/dev/block")
CLASS = Path("/sys/class/block")
SECTOR_BYTES = 512
"""The unit of sizes in sysfs, whatever the device's block is."""


class NoDevice(LookupError):
    """sysfs has no such device; it may have been removed."""


class Device(Struct, frozen=True, dict=True):
    """A block device, by its folder in sysfs."""

    folder: Path

    @classmethod
    def numbered(cls, number: int) -> Device:
        """The device of a `st_rdev`. Raises NoDevice."""
        link = SYSFS / f"{os.major(number)}:{os.minor(number)}"
        if not link.is_dir():
            raise NoDevice(f"sysfs has no block device {link.name}")
        return cls(link.resolve())

    @property
    def name(self) -> str:
        """The kernel's name, such as `nvme0n1`; it may differ after a restart."""
        return self.folder.name.replace("!", "/")

    @property
    def node(self) -> Path:
        """Its special file."""
        return Path("/dev") / self.name

    @cached_property
    def number(self) -> int:
        """Its device number, as `st_rdev` has it. Raises NoDevice once it is gone."""
        major, _, minor = self.text("dev").partition(":")
        if not minor:
            raise NoDevice(f"sysfs has no block device {self.name} any more")
        return os.makedev(int(major), int(minor))

    @property
    def key(self) -> Key:
        """What all its special files have in common."""
        return device_key(self.number)

    @property
    def size_bytes(self) -> int:
        """Its capacity; 0 for a drive without a medium."""
        return int(self.text("size") or 0) * SECTOR_BYTES

    @property
    def read_only(self) -> bool:
        """Whether the kernel refuses to write to it."""
        return self.text("ro") == "1"

    @property
    def partition(self) -> int | None:
        """The partition's number; None for a whole disk."""
        text = self.text("partition")
        return int(text) if text else None

    @property
    def disk(self) -> Device:
        """The whole disk that it is a partition of, or itself."""
        return Device(self.folder.parent) if self.partition else self

    @property
    def partitions(self) -> list[Device]:
        """Its partitions, if it is a whole disk."""
        return [Device(one.parent) for one in sorted(self.folder.glob("*/partition"))]

    @property
    def holders(self) -> list[Device]:
        """The devices that are built directly on it: device-mapper, md, bcache."""
        return self._linked("holders")

    @property
    def below(self) -> list[Device]:
        """All devices under it: a partition's disk, and what a mapping maps."""
        found = [self.disk] if self.partition else self._linked("slaves")
        return list(dict.fromkeys(chain(found, *(one.below for one in found))))

    @property
    def disks(self) -> frozenset[Device]:
        """The whole disks at the bottom of the stack."""
        below = self._linked("slaves") or self.disk._linked("slaves")
        if not below:
            return frozenset({self.disk})
        return frozenset().union(*(one.disks for one in below))

    def _linked(self, what: str) -> list[Device]:
        links = self.folder / what
        found = sorted(links.iterdir()) if links.is_dir() else []
        return [Device(link.resolve()) for link in found]

    def text(self, attribute: str) -> str:
        """An attribute of sysfs as one printable line; empty if there is none."""
        return single_line(self.raw(attribute).decode(errors="replace"))

    def raw(self, attribute: str) -> bytes:
        """An attribute's bytes; empty if there is none."""
        try:
            return (self.folder / attribute).read_bytes()
        except OSError:
            return b""


def device_at(path: Path) -> Device | None:
    """The block device whose special file a path leads to."""
    try:
        status = path.stat()
        is_block = stat.S_ISBLK(status.st_mode)
        return Device.numbered(status.st_rdev) if is_block else None
    except (OSError, NoDevice):
        return None


def single_line(text: str) -> str:
    """A drive's own text without control characters, which could steer a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def devices() -> list[Device]:
    """All that have a size, sorted by name."""
    found = (Device(link.resolve()) for link in CLASS.iterdir() if _has_number(link))
    return sorted((one for one in found if one.size_bytes), key=_order)


def _has_number(link: Path) -> bool:
    """The single paths of a multipath NVMe drive are hidden, and have none."""
    return (link / "dev").is_file()


def _order(device: Device) -> tuple[str, int]:
    return device.disk.name, device.partition or 0
