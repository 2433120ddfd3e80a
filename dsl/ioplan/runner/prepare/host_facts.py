"""Facts of the host that a record keeps."""

from __future__ import annotations

import os
import platform
from typing import Any

from ioplan.backends.backend import TargetFacts
from ioplan.core.system import configured
from ioplan.runner.telemetry.cpu_facts import cpu_facts, distortions
from ioplan.runner.telemetry.instruments import Instruments
from ioplan.runner.telemetry.procfs import Tree
from ioplan.runner.telemetry.smart import volatile_write_cache
from ioplan.runner.telemetry.topology import topology


def host_facts(
    target: TargetFacts | None = None,
    meter: tuple[str, ...] = (),
    tree: Tree | None = None,
) -> dict[str, Any]:
    """What machine this is, and what bears on its figures.

    With a target, also how that is attached, `warnings` of what distorts, and what
    is `not_measured` here. A target in virtual time is on no host.
    """
    tree = tree or Tree()
    facts = _machine(tree) | cpu_facts(tree)
    if target is None:
        return facts
    instruments = Instruments(target, meter, tree)
    facts["target"] = topology(tree, target.path, instruments.disk)
    cache = volatile_write_cache(tree, instruments.disk, instruments.smart)
    facts["target"] |= {"volatile_write_cache": cache} if cache else {}
    facts["warnings"] = list(distortions(facts))
    facts["not_measured"] = list(instruments.unavailable())
    return facts


def _machine(tree: Tree) -> dict[str, Any]:
    return {
        "hostname": platform.node(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "os": _os_name(),
        "cpu": _cpu_model(tree),
        "cpus": os.cpu_count(),
        "memory_bytes": configured("SC_PAGE_SIZE", 0) * configured("SC_PHYS_PAGES", 0),
        "python": platform.python_version(),
    }


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _cpu_model(tree: Tree) -> str:
    for line in tree.text("proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()
