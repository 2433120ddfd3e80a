"""Warnings of a host that distorts what is measured on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ioplan.telemetry.cpus import listed

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
            "the CPU governor is powersave, which makes latencies longer, above all at "
            "low queue depth: `cpupower frequency-set -g performance`"
        )


def _node(host: dict[str, Any], target: dict[str, Any]) -> Iterator[str]:
    node, nodes = target.get("numa_node"), host.get("numa_nodes", {})
    near = listed(nodes.get(str(node), ""))
    far = set(host.get("cpus_allowed", ())) - near
    if len(nodes) > 1 and near and far:
        yield (
            f"the drive is on NUMA node {node}, and ioplan may run on CPUs of others: "
            f"`numactl --cpunodebind={node} --membind={node} ioplan …`"
        )


def _link(target: dict[str, Any]) -> Iterator[str]:
    width, most = target.get("current_link_width", ""), target.get("max_link_width", "")
    if width.isdigit() and most.isdigit() and int(width) < int(most):
        yield f"the PCIe link has {width} lanes of {most}: look at the slot"
    speed, fastest = target.get("current_link_speed"), target.get("max_link_speed")
    if speed and fastest and _gt_per_s(speed) < _gt_per_s(fastest):
        yield f"the PCIe link runs at {speed} of {fastest}: look at the slot"


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
