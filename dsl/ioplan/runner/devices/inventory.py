"""The block devices of this host, and which of them a lab's entry names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from ioplan.core.error_kinds import TargetFault
from ioplan.runner.devices.device import Device, NoDevice, devices
from ioplan.runner.devices.file_id import Key, key_at
from ioplan.runner.devices.identity import (
    Backing,
    Identity,
    backing,
    differences,
    id_of,
    identity_of,
    matches_partly,
)
from ioplan.runner.devices.mounts import Mount, mounts, unescaped
from ioplan.runner.devices.proc import PROC
from ioplan.target_entry import LabTarget

# What this host uses a device or file for, and how to end that.


class Obstacle(Struct, frozen=True):
    """Why a target must not be written.

    `what` completes "the device …", `instead` says what to do.
    """

    kind: TargetFault
    what: str
    instead: str

    def __str__(self) -> str:
        return f"{self.what}; {self.instead}"


class Host:
    """The mounts, swaps and loop devices of this host, at one moment."""

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
        """Devices and files that are used as swap."""
        lines = (PROC / "swaps").read_text().splitlines()[1:]
        return [Path(unescaped(line.split()[0])) for line in lines]

    @cached_property
    def loops(self) -> list[tuple[Device, Backing]]:
        """Loop devices, and the file or device under each."""
        pairs = ((one, backing(one)) for one in self.devices)
        return [(device, under) for device, under in pairs if under]

    @cached_property
    def root_disks(self) -> frozenset[Device]:
        """The disks that hold `/`; none if `/` is on no block device."""
        found = (
            _device(one.number) for one in self.mounts if one.where == "/" and one.here
        )
        return frozenset().union(*(one.disks for one in found if one))

    def obstacles(self, device: Device) -> Iterator[Obstacle]:
        """Uses of a device, of its partitions, and of the disk of a partition."""
        if device.disks & self.root_disks:
            what = "is on the disk that contains /"
            yield Obstacle(TargetFault.ROOT_DISK, what, "use another target")
        yield from self._uses_of(device)
        for one in _related(device):
            with suppress(NoDevice):  # what was removed meanwhile is not in use
                yield from self._uses_of(one, f" (as {one.name})")
        yield from self._backing_obstacles(device.disk)

    def _uses_of(self, device: Device, suffix: str = "") -> Iterator[Obstacle]:
        yield from self._mounts_of(device, suffix)
        yield from self._swaps_on(device.key, suffix)
        yield from _holders_of(device, suffix)
        yield from self._loops_on(device.key, suffix)

    def file_obstacles(self, file: Key) -> Iterator[Obstacle]:
        """Uses of a file."""
        yield from self._loops_on(file)
        yield from self._swaps_on(file)

    def _mounts_of(self, device: Device, suffix: str) -> Iterator[Obstacle]:
        for one in self.mounts:
            if one.number != device.number:
                continue
            what, instead = f"is mounted on {one.where}", f"umount {device.node}"
            instead = f"unmount it first: {instead}"
            if not one.here:
                what += " in another mount namespace"
                instead = "unmount it there, or stop the container that uses it"
            yield Obstacle(TargetFault.MOUNTED, what + suffix, instead)

    def _swaps_on(self, key: Key, suffix: str = "") -> Iterator[Obstacle]:
        for path in self.swaps:
            if key_at(path) == key:
                instead = f"disable it first: swapoff {path}"
                yield Obstacle(TargetFault.SWAP, f"is used as swap{suffix}", instead)

    def _loops_on(self, key: Key, suffix: str = "") -> Iterator[Obstacle]:
        for loop, under in self.loops:
            if under.key == key:
                what = f"is used by the loop device {loop.name}{suffix}"
                yield Obstacle(TargetFault.UNDER_LOOP, what, _detach(loop))

    def _backing_obstacles(self, disk: Device) -> Iterator[Obstacle]:
        """Other uses of a loop device's file; a device below has to be used itself."""
        under = backing(disk)
        if under is None or under.key is None:
            return
        if under.key[0] != "file":
            what = f"is a loop device on the device {under}"
            yield Obstacle(TargetFault.LOOP_ON_DEVICE, what, f"use {under} itself")
            return
        for loop, backed in self.loops:
            if loop != disk and backed.key == under.key:
                what = f"shares its file {under} with the loop device {loop.name}"
                yield Obstacle(TargetFault.UNDER_LOOP, what, _detach(loop))
        yield from self._swaps_on(under.key)


def _detach(loop: Device) -> str:
    return f"detach it first: losetup -d {loop.node}"


def _related(device: Device) -> list[Device]:
    return [device.disk] if device.partition else device.partitions


def _holders_of(device: Device, suffix: str) -> Iterator[Obstacle]:
    for one in device.holders:
        name = one.text("dm/name") or one.name
        what = f"is held by the {holder_kind(one)} {name}{suffix}"
        yield Obstacle(TargetFault.STACKED, what, "remove it there first")


DM_KINDS = {
    "LVM-": "LVM volume",
    "mpath-": "multipath device",
    "CRYPT-": "dm-crypt device",
}
"""By the start of a device-mapper device's UUID."""


def holder_kind(device: Device) -> str:
    """What kind of device is built on another one."""
    uuid = device.text("dm/uuid")
    for prefix, kind in DM_KINDS.items():
        if uuid.startswith(prefix):
            return kind
    if device.name.startswith("dm-"):
        return "device-mapper device"
    return "array" if device.name.startswith("md") else "device"


def _device(number: int) -> Device | None:
    try:
        return Device.numbered(number)
    except NoDevice:
        return None


class Inventory:
    """All block devices of this host with their identities, at one moment."""

    def __init__(self) -> None:
        self.host = Host()

    @cached_property
    def identities(self) -> dict[Device, Identity]:
        """The identity of each device that has a size, and is still there."""
        found: dict[Device, Identity] = {}
        for one in self.host.devices:
            with suppress(NoDevice):  # removed since the list was made
                found[one] = identity_of(one)
        return found

    @property
    def all(self) -> list[Identity]:
        """All identities."""
        return list(self.identities.values())

    def identity(self, device: Device) -> Identity:
        """The identity of a device, also of one without a size."""
        return self.identities.get(device) or identity_of(device)

    def id(self, device: Device) -> str:
        """The ID that `ioplan targets` shows and `--overwrite` takes."""
        return id_of(self.identity(device), self.all)

    def matching(self, entry: LabTarget) -> list[Device]:
        """The devices that match all keys of a lab's entry."""
        return [
            device
            for device, identity in self.identities.items()
            if not differences(identity, entry)
        ]

    def nearly_matching(self, entry: LabTarget) -> Iterator[tuple[Device, list[str]]]:
        """The devices that match one of its names, and in what each differs."""
        for device, identity in self.identities.items():
            if matches_partly(identity, entry):
                yield device, differences(identity, entry)

    def lab_names(self, device: Device, targets: Mapping[str, LabTarget]) -> list[str]:
        """The names of the lab's targets that match a device."""
        identity = self.identity(device)
        return [
            name for name, entry in targets.items() if not differences(identity, entry)
        ]
