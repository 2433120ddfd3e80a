"""Whether a drive has a volatile write cache, and whether that is on."""

from __future__ import annotations

from typing import Literal

from ioplan.runner.telemetry.disk import Disk
from ioplan.runner.telemetry.procfs import Tree
from ioplan.runner.telemetry.smart import Smart

CacheState = Literal["absent", "disabled", "enabled"]
NO_CACHE, ON = "write through", "write back"
DISK_WITH_CACHE = "sd"
"""SCSI and ATA: the kernel has asked the drive whether it is on."""
_OF_KERNEL: dict[str, CacheState] = {NO_CACHE: "disabled", ON: "enabled"}


def volatile_write_cache(
    tree: Tree, disk: Disk | None, smart: Smart | None
) -> CacheState | None:
    """What the drive says of it; None where nobody can tell.

    The kernel knows of an NVMe drive only whether it has one.
    """
    if disk is None or not disk.is_target:
        return None
    kernel = tree.text(disk.whole / "queue/write_cache")
    if disk.whole.name.startswith(DISK_WITH_CACHE):
        return _OF_KERNEL.get(kernel)
    if smart is None:
        return None
    return "absent" if kernel == NO_CACHE else smart.volatile_write_cache()
