"""What this host uses a device for, and how to end it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ioplan.lab.device import Device, NoDevice, devices
from ioplan.lab.identity import backing_file
from ioplan.lab.mounts import PROC, Mount, mounts, plain


@dataclass(frozen=True)
class Use:
    """`what` completes "the device …"; `instead` is what to do."""

    what: str
    instead: str

    def __str__(self) -> str:
        return f"{self.what}; {self.instead}"


class Host:
    """This host's mounts, swaps and loop devices at one moment."""

    @cached_property
    def mounts(self) -> list[Mount]:
        """All mounts of block devices."""
        return mounts()

    @cached_property
    def devices(self) -> list[Device]:
        """All block devices."""
        return devices()

    @cached_property
    def swaps(self) -> list[Path]:
        """Devices and files that are swapped to."""
        lines = (PROC / "swaps").read_text().splitlines()[1:]
        return [Path(plain(line.split()[0])) for line in lines]

    @cached_property
    def loops(self) -> list[tuple[Device, Path]]:
        """Loop devices, and what is under each."""
        pairs = ((one, backing_file(one)) for one in self.devices if not one.partition)
        return [(device, Path(path)) for device, path in pairs if path]

    @cached_property
    def root_disks(self) -> frozenset[Device]:
        """The disks that hold `/`, as far as `/` lies on any."""
        found = (
            _device(one.number) for one in self.mounts if one.where == "/" and one.here
        )
        return frozenset().union(*(one.disks for one in found if one))

    def uses(self, device: Device) -> Iterator[Use]:
        """Of a device, of its partitions, and of the disk it is a partition of."""
        if device.disks & self.root_disks:
            yield Use("is on the disk that holds /", "name another one")
        for one in _related(device):
            part = f" (as {one.name})" if one != device else ""
            yield from self._mounted(one, part)
            yield from self._swapped(one, part)
            yield from _held(one, part)
            yield from self._looped(one, part)
        yield from self._sharing(device)

    def _mounted(self, device: Device, part: str) -> Iterator[Use]:
        for one in self.mounts:
            if one.number == device.number and one.here:
                what = f"is mounted on {one.where}{part}"
                yield Use(what, f"unmount it first: umount {device.node}")
            elif one.number == device.number:
                what = f"is mounted on {one.where} in another mount namespace{part}"
                yield Use(what, "unmount it there, or end the container that has it")

    def _swapped(self, device: Device, part: str) -> Iterator[Use]:
        if any(_number(path) == device.number for path in self.swaps):
            yield Use(f"is swapped to{part}", f"first: swapoff {device.node}")

    def _looped(self, device: Device, part: str) -> Iterator[Use]:
        for loop, path in self.loops:
            if _number(path) == device.number:
                what = f"is under the loop device {loop.name}{part}"
                yield Use(what, f"first: losetup -d {loop.node}")

    def _sharing(self, device: Device) -> Iterator[Use]:
        """Of a loop device, through what is under it."""
        under = backing_file(device.disk)
        if not under:
            return
        if _number(Path(under)) is not None:
            yield Use(f"is a loop device on the device {under}", f"name {under} itself")
        elif (status := _status(Path(under))) is not None:
            yield from self.file_uses(status, but=device.disk)

    def file_uses(
        self, status: os.stat_result, but: Device | None = None
    ) -> Iterator[Use]:
        """Of a file: what would be overwritten with it."""
        for loop, path in self.loops:
            if loop != but and _same(path, status):
                what = f"has its data in {path}, as has" if but else "is under"
                yield Use(
                    f"{what} the loop device {loop.name}",
                    f"first: losetup -d {loop.node}",
                )
        for path in self.swaps:
            if _same(path, status):
                yield Use("is swapped to", f"first: swapoff {path}")


def _related(device: Device) -> list[Device]:
    others = [device.disk] if device.partition else device.partitions
    return [device, *others]


def _held(device: Device, part: str) -> Iterator[Use]:
    for one in device.holders:
        name = one.text("dm/name") or one.name
        what = f"is held by {holder_kind(one)} {name}{part}"
        yield Use(what, "take it out of there first")


def holder_kind(device: Device) -> str:
    """What kind of device is stacked there."""
    uuid = device.text("dm/uuid")
    for start, kind in (
        ("LVM-", "LVM's"),
        ("mpath-", "multipath"),
        ("CRYPT-", "dm-crypt"),
    ):
        if uuid.startswith(start):
            return kind
    if device.name.startswith("dm-"):
        return "device-mapper's"
    return "the array" if device.name.startswith("md") else "the device"


def _device(number: int) -> Device | None:
    try:
        return Device.numbered(number)
    except NoDevice:
        return None


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _number(path: Path) -> int | None:
    """Of a block device; `st_rdev` is 0 of a file."""
    status = _status(path)
    return status.st_rdev if status and status.st_rdev else None


def _same(path: Path, status: os.stat_result) -> bool:
    other = _status(path)
    return other is not None and os.path.samestat(other, status)
