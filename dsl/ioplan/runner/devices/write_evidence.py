"""Counters of a target that change when anything writes to it.

A block device counts the sectors written and discarded since it appeared (see
Documentation/block/stat.rst of Linux), a file has the time of its last change. While
they are equal, the target's state is unchanged. The counters are those of the whole
disks at the bottom of the stack, so that writes past a partition or a mapping count
too; a loop device also has those of its file.
"""

from __future__ import annotations

import os
from pathlib import Path

from ioplan.backends.backend import TargetFacts
from ioplan.runner.devices.device import Device
from ioplan.runner.devices.file_id import key_of
from ioplan.runner.devices.identity import Backing, backing

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
WRITTEN_SECTORS, DISCARDED_SECTORS = 6, 13
"""Positions of the two counters in a device's stat file."""

TICK_S = 0.02
"""Longer than the kernel's clock for times of change stands still."""
COARSE_S = 2.0
"""That of the coarsest file systems."""

WriteCounters = dict[str, str]


def write_counters(facts: TargetFacts) -> WriteCounters:
    """The counters now; empty where there are none, so that nothing is proven."""
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


def tick_s(counters: WriteCounters) -> float:
    """How long changes may leave them equal: some file systems keep whole seconds."""
    parts = ", ".join(counters.values()).split(", ")
    is_coarse = any(part.endswith("0" * 9) for part in parts)
    return TICK_S + (COARSE_S if is_coarse else 0)


def _boot() -> str:
    return BOOT_ID.read_text().strip()


def _changed(status: os.stat_result) -> str:
    """By ctime, which no program can set back as it can the time of modification."""
    inode = f"{status.st_dev}:{status.st_ino}"
    return f"{inode} {status.st_size} {status.st_ctime_ns}"


def _written(device: Device) -> str:
    """The counters of all disks under it."""
    disks = sorted(device.disks, key=lambda one: one.name)
    return ", ".join(f"{one.name} {_disk_counters(one)}" for one in disks)


def _disk_counters(disk: Device) -> str:
    fields = disk.text("stat").split()
    counters = f"{fields[WRITTEN_SECTORS]} {fields[DISCARDED_SECTORS]}"
    under = backing(disk)
    return f"{counters} {_backing_counters(under)}" if under else counters


def _backing_counters(under: Backing) -> str:
    """A loop device goes on counting with another file, and counts only its writes."""
    status = Path(under.path).stat()
    if not under.path or key_of(status) != under.key:
        raise FileNotFoundError(under.path)
    if status.st_rdev:
        return _written(Device.numbered(status.st_rdev))
    return f"{under.offset_bytes} {_changed(status)}"
