"""Facts of the CPUs that bear on what is measured with them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ioplan.runner.telemetry.procfs import Tree, raw

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node/node"
NODES = f"{NODE}[0-9]*"
HARMLESS = "Not affected"


def cpu_facts(tree: Tree) -> dict[str, Any]:
    """Governor, mitigations, and which CPUs ioplan may use on which NUMA node."""
    return {
        "governor": governor(tree),
        "cpu_driver": tree.text(f"{CPU}/cpu0/cpufreq/scaling_driver") or None,
        "mitigations": mitigations(tree),
        "numa_nodes": numa_nodes(tree),
        "cpus_allowed": sorted(os.sched_getaffinity(0)),
    }


def governor(tree: Tree) -> str | None:
    """The scaling governor of the CPUs, or all that there are."""
    files = tree.all(f"{CPU}/cpu[0-9]*/cpufreq/scaling_governor")
    return ", ".join(sorted({tree.text(file) for file in files})) or None


def mitigations(tree: Tree) -> dict[str, str]:
    """What the kernel does about each flaw that the processor has."""
    files = tree.all(f"{CPU}/vulnerabilities/*")
    found = {file.name: tree.text(file) for file in files}
    return {name: text for name, text in found.items() if text != HARMLESS}


def numa_nodes(tree: Tree) -> dict[str, str]:
    """Node to its CPUs, as the kernel writes lists: `0-3,8-11`."""
    folders = tree.all(NODES)
    return {
        one.name.removeprefix("node"): tree.text(one / "cpulist") for one in folders
    }


def listed(text: str) -> list[int]:
    """The numbers of a kernel's list, in its order."""
    found: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


FREQUENCY_FILES = "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"


def frequency_files(tree: Tree) -> list[Path]:
    """A file for each CPU, in order; none in most virtual machines."""
    return tree.all(FREQUENCY_FILES)


def frequencies_mhz(files: list[Path]) -> tuple[float, ...]:
    """What they say now; a CPU that says nothing makes all of them worthless."""
    texts = [raw(file).strip() for file in files]
    if not all(text.isdigit() for text in texts):
        return ()
    return tuple(int(text) / 1000 for text in texts)


THROTTLE_FILES = "sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count"


def cpu_throttles(tree: Tree) -> int | None:
    """A counter over all CPUs; None where the processor has none."""
    counts = [tree.number(file) for file in tree.all(THROTTLE_FILES)]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


POWERSAVE, WRITE_THROUGH = "powersave", "write through"
DISK_WITH_CACHE = "sd"
"""SCSI and ATA. NVMe drives with a protected cache rightly have none to switch on."""


def distortions(host: dict[str, Any]) -> Iterator[str]:
    """`host` is as `host_facts` gives it."""
    target = host.get("target", {})
    yield from _governor(host)
    yield from _node(host, target)
    yield from _link(target)
    yield from _cache(target)


def _governor(host: dict[str, Any]) -> Iterator[str]:
    if POWERSAVE in (host.get("governor") or ""):
        yield (
            "the CPU governor is powersave, which increases latencies, especially at "
            "low queue depth: `cpupower frequency-set -g performance`"
        )


def _node(host: dict[str, Any], target: dict[str, Any]) -> Iterator[str]:
    node, nodes = target.get("numa_node"), host.get("numa_nodes", {})
    near = set(listed(nodes.get(str(node), "")))
    if len(nodes) > 1 and near and not near & set(host.get("cpus_allowed", ())):
        yield (
            f"the drive is on NUMA node {node}, and ioplan may use only CPUs of other "
            f"nodes: `numactl --cpunodebind={node} --membind={node} ioplan …`"
        )


def _link(target: dict[str, Any]) -> Iterator[str]:
    width, most = target.get("current_link_width", ""), target.get("max_link_width", "")
    if width.isdigit() and most.isdigit() and int(width) < int(most):
        yield f"the PCIe link has {width} lanes of {most}: check the slot"
    speed, fastest = target.get("current_link_speed"), target.get("max_link_speed")
    if speed and fastest and _gt_per_s(speed) < _gt_per_s(fastest):
        yield f"the PCIe link runs at {speed} of {fastest}: check the slot"


def _gt_per_s(text: str) -> float:
    """`8.0 GT/s PCIe`; `Unknown` is 0."""
    try:
        return float(text.split(maxsplit=1)[0])
    except (ValueError, IndexError):
        return 0.0


def _cache(target: dict[str, Any]) -> Iterator[str]:
    name = target.get("device", "")
    if name.startswith(DISK_WITH_CACHE) and target.get("write_cache") == WRITE_THROUGH:
        yield "the drive's write cache is off: its writes are slower than usual"
