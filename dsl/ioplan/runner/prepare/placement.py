"""Which CPUs the I/O of a session is done on, and where ioplan itself is meanwhile.

They are chosen once, for all backends: two that were placed differently would not
measure the same thing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from ioplan.backends.backend import Backend, BackendError, TargetFacts
from ioplan.core.cpu_claims import CpuClaims
from ioplan.job import Job
from ioplan.runner.telemetry.cpu_facts import NODE, listed
from ioplan.runner.telemetry.disk import disk_of
from ioplan.runner.telemetry.procfs import Tree
from ioplan.runner.telemetry.topology import numa_node

PCI_ADDRESS = re.compile(r"\b[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b", re.I)
TASKS = Path("/proc/self/task")


class PlacedJob(NamedTuple):
    """A job with its CPUs, and what is to be said of them."""

    job: Job
    warnings: tuple[str, ...] = ()


class Placement(Struct, frozen=True):
    """`cpus` are for the I/O, the best first; `allowed` are the process's own.

    Without any, the backend chooses, and ioplan stays where it is.
    """

    cpus: tuple[int, ...] = ()
    allowed: frozenset[int] = frozenset()
    claimed: bool = False
    shared: tuple[int, ...] = ()
    """CPUs `claimed` for many runs that another session has, too."""

    @contextmanager
    def held(self, threads: int) -> Iterator[Placement]:
        """This placement with CPUs for so many threads, which no other session gets."""
        with CpuClaims(self.cpus, threads) as claims:
            yield Placement(claims.order, self.allowed, True, tuple(claims.shared))

    @contextmanager
    def placed(self, job: Job) -> Iterator[PlacedJob]:
        """The job on CPUs that no other session has, where there are enough.

        ioplan, and what it starts, keeps off them meanwhile.
        """
        if not self.cpus:
            yield PlacedJob(job)
            return
        if not self.claimed:
            with self.held(job.threads) as held, held.placed(job) as placed:
                yield placed
            return
        job = job.model_copy(update={"cpus": self.cpus})
        used = set(self.shared).intersection(self.cpus[: job.threads])
        _move(self.own_cpus(job))
        try:
            yield PlacedJob(job, tuple(map(_shared, sorted(used))))
        finally:
            _move(self.allowed)

    def own_cpus(self, job: Job) -> frozenset[int]:
        """What is left for ioplan while a job runs; all, where nothing is left."""
        unnamed = self.allowed.difference(self.cpus)
        unused = self.allowed.difference(job.cpus[: job.threads])
        return unnamed or unused or self.allowed


def _shared(cpu: int) -> str:
    return (
        f"another session of ioplan used CPU {cpu}, too; run them one after the "
        "other, or set different `cpus` in the lab"
    )


def _move(cpus: frozenset[int]) -> None:
    """All threads of this process; one that has just ended needs no place."""
    for task in TASKS.iterdir():
        with suppress(OSError):
            os.sched_setaffinity(int(task.name), cpus)


def placement_of(backend: Backend, facts: TargetFacts, named: str | None) -> Placement:
    """The placement of a session; `named` are the lab's CPUs. Raises BackendError."""
    if not getattr(backend, "takes_cpus", False):
        return Placement()
    tree, allowed = Tree(), frozenset(os.sched_getaffinity(0))
    if named:
        return Placement(_named(named, allowed), allowed)
    return Placement(chosen_cpus(tree, node_of(tree, facts.path), allowed), allowed)


def _named(text: str, allowed: frozenset[int]) -> tuple[int, ...]:
    cpus = tuple(dict.fromkeys(listed(text)))
    if not cpus:
        raise BackendError(
            f"the lab's cpus {text} are an empty range; write the lower number first"
        )
    if forbidden := [cpu for cpu in cpus if cpu not in allowed]:
        raise BackendError(
            f"the lab's cpus {text} name CPU {forbidden[0]}, which ioplan may not use "
            f"on this host; allowed: {', '.join(map(str, sorted(allowed)))}"
        )
    return cpus


def chosen_cpus(
    tree: Tree, node: int | None, allowed: frozenset[int]
) -> tuple[int, ...]:
    """The allowed CPUs: those of the node first, and of these the last first.

    The kernel does its housekeeping on the first ones: an I/O at queue depth 1 took
    up to 25 % longer there.
    """
    near = set(listed(tree.text(f"{NODE}{node}/cpulist")))
    return tuple(sorted(allowed, key=lambda cpu: (cpu not in near, -cpu)))


def node_of(tree: Tree, path: str) -> int | None:
    """The NUMA node of a target: a device, a file on one, or an address on PCIe."""
    if disk := disk_of(tree, path):
        return numa_node(tree, disk.folder)
    if found := PCI_ADDRESS.search(path):
        return numa_node(tree, tree.path(f"sys/bus/pci/devices/{found[0]}").resolve())
    return None
