"""The files of the kernel that a session may change, and no others."""

from __future__ import annotations

import os
import re

from ioplan.core.error_kinds import ExplainedError, HostFault
from ioplan.runner.telemetry.cpu_facts import listed
from ioplan.runner.telemetry.procfs import Tree
from ioplan.runner.telemetry.topology import chosen

CPU = "sys/devices/system/cpu"
KNOWN = re.compile(
    rf"{CPU}/cpufreq/policy\d+/scaling_governor|{CPU}/cpufreq/boost"
    rf"|{CPU}/intel_pstate/no_turbo|{CPU}/cpu\d+/cpuidle/state\d+/disable"
    r"|proc/irq/\d+/smp_affinity_list"
    r"|sys/block/(?!\.)[A-Za-z0-9_.!-]+/queue/"
    r"(scheduler|nomerges|nr_requests|wbt_lat_usec|iosched/[a-z_]+)"
)
SCHEDULER, AFFINITY = "/scheduler", "/smp_affinity_list"


class HostError(ExplainedError):
    """A host cannot be prepared; the text says what, where and what to do."""

    kind = HostFault.HOST_SETTING


def current(tree: Tree, name: str) -> str | None:
    """What a file is set to, in one way of writing it; None where there is none."""
    if not tree.path(name).exists():
        return None
    return canonical(name, tree.text(name))


def canonical(name: str, text: str) -> str:
    """`none` of `[none] kyber`, and `0,1,2` of `0-2`, so that two can be compared."""
    if name.endswith(SCHEDULER):
        return chosen(text)
    if name.endswith(AFFINITY):
        return ",".join(map(str, sorted(set(listed(text)))))
    return text.strip()


def write(tree: Tree, name: str, text: str) -> None:
    """Set a known file, which is there. Raises OSError, and HostError for another."""
    if not KNOWN.fullmatch(name):
        raise HostError(
            f"/{name} is not a setting that ioplan changes; it is not restored"
        )
    flags = os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(tree.path(name), flags)
    try:
        os.write(fd, f"{text}\n".encode())
    finally:
        os.close(fd)
