"""Figures of a target that change when anything writes to it.

A block device counts what was written to it and discarded since it appeared (see
Documentation/block/stat.rst of Linux), a file keeps when it was last changed. They
prove that a state still holds; writing straight to the drive below a partition
counts too, as it is the whole drive that is asked. Of what is stacked upon other
devices, those are asked, and of a loop device also the file under it.
"""

from __future__ import annotations

import os
from pathlib import Path

from ioplan.backends import TargetFacts
from ioplan.devices.backing_file import Backing, backing
from ioplan.devices.device import Device
from ioplan.devices.file_id import key_of

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
WRITTEN_SECTORS, DISCARDED_SECTORS = 6, 13
"""Places of the two counters in a device's stat file."""

Evidence = dict[str, str]


def evidence_of(facts: TargetFacts) -> Evidence:
    """The figures now; empty where nothing counts, so that nothing is proven."""
    path = Path(facts.path)
    try:
        if facts.kind == "file":
            return {"boot": _boot(), "changed": _changed(path.stat())}
        if facts.kind == "block":
            device = Device.numbered(path.stat().st_rdev)
            return {"boot": _boot(), "written": _written(device)}
    except (OSError, LookupError):
        pass
    return {}


def _boot() -> str:
    return BOOT_ID.read_text().strip()


def _changed(status: os.stat_result) -> str:
    """Without ctime, which changes with the mark of a scratch file."""
    inode = f"{status.st_dev}:{status.st_ino}"
    return f"{inode} {status.st_size} {status.st_mtime_ns}"


def _written(device: Device) -> str:
    """Of all disks that it lies on."""
    disks = sorted(device.disks, key=lambda one: one.name)
    return ", ".join(f"{one.name} {_counted(one)}" for one in disks)


def _counted(disk: Device) -> str:
    fields = disk.text("stat").split()
    counted = f"{fields[WRITTEN_SECTORS]} {fields[DISCARDED_SECTORS]}"
    under = backing(disk)
    return f"{counted} {_below(under)}" if under else counted


def _below(under: Backing) -> str:
    """A loop device counts for whatever was under it, and only its own writes."""
    status = Path(under.path).stat()
    if not under.path or key_of(status) != under.key:
        raise FileNotFoundError(under.path)
    if status.st_rdev:
        return _written(Device.numbered(status.st_rdev))
    return f"{under.offset_bytes} {_changed(status)}"
