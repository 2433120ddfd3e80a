"""Figures of a target that change when anything writes to it.

A block device counts what was written to it and discarded since it appeared (see
Documentation/block/stat.rst of Linux), a file keeps when it was last changed. They
prove that a state still holds; writing straight to the drive below a partition
counts too, as it is the whole drive that is asked.
"""

from __future__ import annotations

import os
from pathlib import Path

from ioplan.backends import TargetFacts

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
WRITTEN_SECTORS, DISCARDED_SECTORS = 6, 13
"""Places of the two counters in a device's stat file."""

Evidence = dict[str, str]


def evidence_of(facts: TargetFacts) -> Evidence:
    """The figures now; empty where nothing counts, so that nothing is proven."""
    try:
        if facts.kind == "file":
            return {"boot": _boot(), "changed": _changed(facts.path)}
        if facts.kind == "block":
            return {"boot": _boot(), "written": _written(facts.path)}
    except (OSError, IndexError):
        pass
    return {}


def _boot() -> str:
    return BOOT_ID.read_text().strip()


def _changed(path: str) -> str:
    status = Path(path).stat()
    return f"{status.st_dev}:{status.st_ino} {status.st_size} {status.st_ctime_ns}"


def _written(path: str) -> str:
    device = Path(path).stat().st_rdev
    folder = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    if (folder / "partition").exists():
        folder = folder.parent
    fields = (folder / "stat").read_text().split()
    return f"{fields[WRITTEN_SECTORS]} {fields[DISCARDED_SECTORS]}"
