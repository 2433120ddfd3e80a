"""Where the target is: device, NUMA node, PCIe link, queue, interrupts, mount."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ioplan.runner.telemetry.disk import Disk, mount_of
from ioplan.runner.telemetry.procfs import Tree

QUEUE = (
    "scheduler",
    "write_cache",
    "nr_requests",
    "rq_affinity",
    "nomerges",
    "wbt_lat_usec",
)
LINK = (
    "current_link_speed",
    "max_link_speed",
    "current_link_width",
    "max_link_width",
)
NO_NODE = -1


def topology(tree: Tree, path: str, disk: Disk | None) -> dict[str, Any]:
    """Facts of the target that bear on its figures; unknown ones are absent."""
    facts: dict[str, Any] = {}
    if disk:
        facts["device"] = disk.folder.name
        facts |= _queue(tree, disk.whole)
        facts |= _bus(tree, disk.whole)
    if disk is None or not disk.is_target:
        facts |= _mount(tree, path)
    return {name: value for name, value in facts.items() if value not in ("", None, {})}


def _queue(tree: Tree, disk: Path) -> dict[str, Any]:
    facts = {name: tree.text(disk / "queue" / name) for name in QUEUE}
    return facts | {"scheduler": chosen(facts["scheduler"])}


def chosen(text: str) -> str:
    """`none` of `[none] mq-deadline`."""
    inside = text.partition("[")[2].partition("]")[0]
    return inside or text


def numa_node(tree: Tree, folder: Path) -> int | None:
    """That of a device's folder in sysfs, or of what it hangs on, however far above."""
    above = (one / "numa_node" for one in (folder, *folder.parents))
    number = next((tree.number(file) for file in above if file.exists()), None)
    return None if number == NO_NODE else number


def _bus(tree: Tree, disk: Path) -> dict[str, Any]:
    """Facts of the PCI device that a disk hangs on, however far above."""
    above = [disk, *disk.parents]
    link = next((one for one in above if (one / LINK[0]).exists()), None)
    facts: dict[str, Any] = {"numa_node": numa_node(tree, disk)}
    if link:
        facts["pci_address"] = link.name
        facts |= {name: tree.text(link / name) for name in LINK}
    facts["irq_affinity"] = _irqs(tree, interrupts(disk))
    return facts


def interrupts(disk: Path) -> list[int]:
    """Their numbers, of the PCI device that it hangs on; none where it has none."""
    above = (one / "msi_irqs" for one in (disk, *disk.parents))
    folder = next((one for one in above if one.is_dir()), None)
    names = [one.name for one in folder.iterdir()] if folder else []
    return sorted(int(name) for name in names if name.isdigit())


def _irqs(tree: Tree, numbers: list[int]) -> dict[str, str]:
    """Interrupt to the CPUs that it may come to."""
    return {
        str(number): tree.text(f"proc/irq/{number}/smp_affinity_list")
        for number in numbers
    }


def _mount(tree: Tree, path: str) -> dict[str, str]:
    mount = mount_of(tree, path)
    if mount is None:
        return {}
    return {"file_system": mount.kind, "mount_options": mount.options}
