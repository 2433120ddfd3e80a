"""How often CPUs have slowed down for their heat."""

from __future__ import annotations

from ioplan.telemetry.tree import Tree

THROTTLE_FILES = "sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count"


def cpu_throttles(tree: Tree) -> int | None:
    """A counter over all CPUs; None where the processor has none."""
    counts = [tree.number(file) for file in tree.all(THROTTLE_FILES)]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
