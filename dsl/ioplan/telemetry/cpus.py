"""Facts of the CPUs that bear on what is measured with them."""

from __future__ import annotations

import os
from typing import Any

from ioplan.telemetry.tree import Tree

CPU = "sys/devices/system/cpu"
NODES = "sys/devices/system/node/node[0-9]*"
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
    """The same of all CPUs, or all that there are."""
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


def listed(text: str) -> set[int]:
    """The numbers of a kernel's list."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found
