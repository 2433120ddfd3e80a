"""What this host uses a device for, and how to end it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ioplan.devices.backing_file import Backing, backing
from ioplan.devices.device import Device, NoDevice, devices
from ioplan.devices.file_id import Key, key_at
from ioplan.devices.mounts import PROC, Mount, mounts, plain


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
    def loops(self) -> list[tuple[Device, Backing]]:
        """Loop devices, and what is under each."""
        pairs = ((one, backing(one)) for one in self.devices)
        return [(device, under) for device, under in pairs if under]

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
        if device.key in map(key_at, self.swaps):
            yield Use(f"is swapped to{part}", f"first: swapoff {device.node}")

    def _looped(self, device: Device, part: str) -> Iterator[Use]:
        for loop, under in self.loops:
            if under.key == device.key:
                what = f"is under the loop device {loop.name}{part}"
                yield Use(what, f"first: losetup -d {loop.node}")

    def _sharing(self, device: Device) -> Iterator[Use]:
        """Of a loop device, through what is under it."""
        under = backing(device.disk)
        if under and under.key and under.key[0] == "file":
            yield from self._shared_file(under, device.disk)
        elif under and under.key:
            yield Use(f"is a loop device on the device {under}", f"name {under} itself")

    def _shared_file(self, under: Backing, loop: Device) -> Iterator[Use]:
        for other, backed in self.loops:
            if other != loop and backed.key == under.key:
                what = f"has its data in {under}, as has the loop device {other.name}"
                yield Use(what, f"first: losetup -d {other.node}")
        yield from self._swapped_file(under.key)

    def file_uses(self, file: Key) -> Iterator[Use]:
        """Of a file: what would be overwritten with it."""
        for loop, under in self.loops:
            if under.key == file:
                what = f"is under the loop device {loop.name}"
                yield Use(what, f"first: losetup -d {loop.node}")
        yield from self._swapped_file(file)

    def _swapped_file(self, file: Key | None) -> Iterator[Use]:
        for path in self.swaps:
            if key_at(path) == file:
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
