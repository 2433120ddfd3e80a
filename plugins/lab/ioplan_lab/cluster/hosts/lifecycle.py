"""Starting and stopping a lab: the scheduler here, a worker on each host."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ioplan.core.error_kinds import ClusterFault
from ioplan.core.text import did_you_mean
from ioplan.runner.lab.hosts import LabHost
from ioplan.runner.lab.lab import Lab
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.hosts.programs import Programs
from ioplan_lab.cluster.hosts.scheduler_start import START_S, start_scheduler
from ioplan_lab.cluster.hosts.service import Service
from ioplan_lab.cluster.hosts.ssh import call_host
from ioplan_lab.cluster.hosts.units import worker_words
from ioplan_lab.cluster.hosts.unseen import why_unseen
from ioplan_lab.cluster.hosts.worker_api import check_versions
from ioplan_lab.cluster.jobs.lane_folder import lane_folders, lanes_root
from ioplan_lab.cluster.keys.enrolment import enrol
from ioplan_lab.cluster.keys.tls import check_address

PARALLEL_HOSTS = 64
PUT_BACK_S, CLOCK_S = 60, 5

Faults = dict[str, ClusterError]
"""By host."""
if TYPE_CHECKING:
    from ioplan_lab.cluster.hosts.dask_client import DaskClient

ProgressCallback = Callable[[str], None]
"""Called with a line for each host and for the scheduler."""


def up(lab: Lab, programs: Programs, on_progress: ProgressCallback) -> Faults:
    """Start what does not run yet.

    Returns the hosts that are left out, and why: they do not answer, have another
    version, or belong to another desk. Raises ClusterError, and before anything is
    changed if all do not answer or have another version.
    """
    address = scheduler_of(lab)
    check_address(address)

    def check(name: str, host: LabHost) -> None:
        check_versions(name, call_host(name, host, programs, "versions"))

    faults = on_each_host(lab, check)
    lab = without(lab, faults)
    if not lab.hosts:
        _raise(faults)
    start_scheduler(address, programs, on_progress)

    def join(name: str, host: LabHost) -> None:
        made = enrol(name, host, programs)
        request: dict[str, Any] = {"words": worker_words(name, host, address)}
        answer = call_host(name, host, programs, "join", request)
        said = "started" if answer["started"] else "is up"
        on_progress(f"{name}: {said}{made.text and f'; {made.text}'}")

    faults |= on_each_host(lab, join)
    joined = without(lab, faults)
    return faults | _await_workers(joined, address, programs, on_progress)


def without(lab: Lab, names: Collection[str]) -> Lab:
    """The lab without these hosts."""
    hosts = {name: host for name, host in lab.hosts.items() if name not in names}
    return lab.model_copy(update={"hosts": hosts})


def some_hosts(lab: Lab, names: Sequence[str]) -> Lab:
    """The lab with only these hosts; with all if none is named. Raises ClusterError."""
    for name in names:
        if name not in lab.hosts:
            near = did_you_mean(name, lab.hosts)
            text = f"the lab has no host {name!r}{near}"
            raise ClusterError(text, ClusterFault.UNKNOWN_HOST)
    hosts = {name: lab.hosts[name] for name in names or lab.hosts}
    return lab.model_copy(update={"hosts": hosts})


def down(lab: Lab, programs: Programs, on_progress: ProgressCallback) -> None:
    """Stop the workers and the scheduler; running lanes go on. Raises ClusterError."""

    def leave(name: str, host: LabHost) -> None:
        answer = call_host(name, host, programs, "leave", {"store": host.store})
        lanes = f"; {answer['lanes']} lanes continue there" if answer["lanes"] else ""
        on_progress(f"{name}: {'ended' if answer['ended'] else 'was not up'}{lanes}")

    try:
        _raise(on_each_host(lab, leave))
    finally:
        if Service("scheduler").stop():
            on_progress("the scheduler: ended")


def put_back(lab: Lab, programs: Programs, on_progress: ProgressCallback) -> None:
    """Have each host undo what killed sessions have set there. Raises ClusterError."""

    def one(name: str, host: LabHost) -> None:
        answer = call_host(name, host, programs, "put-back", timeout_s=PUT_BACK_S)
        for note in answer["notes"]:
            on_progress(f"{name}: {note}")

    _raise(on_each_host(lab, one))


def scheduler_of(lab: Lab, hosts: Sequence[str] = ()) -> str:
    """Its address. Raises ClusterError if the lab has none, or no host."""
    if lab.scheduler is None or not (hosts or lab.hosts):
        raise ClusterError(
            "the lab needs hosts and a scheduler; write into its file for example\n"
            'scheduler = "tls://10.0.0.1:8786"\n[hosts.h1]\naddress = "10.0.0.2"',
            ClusterFault.NO_SCHEDULER,
        )
    return lab.scheduler


def on_each_host(lab: Lab, do: Callable[[str, LabHost], None]) -> Faults:
    """In parallel; returns those where it failed."""
    with ThreadPoolExecutor(PARALLEL_HOSTS) as pool:
        hosts = lab.hosts.items()
        waiting = {name: pool.submit(do, name, host) for name, host in hosts}
    faults: Faults = {}
    for name, one in waiting.items():
        error = one.exception()
        if isinstance(error, ClusterError):
            faults[name] = error
        elif error:
            raise error
    return faults


def _raise(faults: Faults) -> None:
    """The kind of several errors is that of the first."""
    if faults:
        found = list(faults.values())
        raise ClusterError("\n".join(map(str, found)), found[0].kind)


def _await_workers(
    lab: Lab, address: str, programs: Programs, on_progress: ProgressCallback
) -> Faults:
    """Until all of them have reported to the scheduler; returns those that do not."""
    from ioplan_lab.cluster.hosts.dask_client import DaskClient  # noqa: PLC0415  takes a second to import

    client = DaskClient(address, programs)
    try:
        deadline_s = time.monotonic() + START_S
        while missing := set(lab.hosts) - client.hosts():
            if time.monotonic() > deadline_s:
                break
            time.sleep(0.2)
        _tell_clocks(client, set(lab.hosts) - missing, on_progress)
    finally:
        client.close()
    with ThreadPoolExecutor(PARALLEL_HOSTS) as pool:
        names = sorted(missing)
        found = pool.map(
            lambda name: why_unseen(name, lab.hosts[name], address, programs), names
        )
        return dict(zip(names, found, strict=True))


def _tell_clocks(
    client: DaskClient, hosts: set[str], on_progress: ProgressCallback
) -> None:
    """How far they are from the scheduler's, once each has measured it."""
    deadline_s = time.monotonic() + CLOCK_S
    while hosts - set(found := client.clocks()) and time.monotonic() < deadline_s:
        time.sleep(0.2)
    clocks = {name: found[name] for name in sorted(hosts) if name in found}
    for name, one in clocks.items():
        if one.warning:
            on_progress(f"warning: {name}: {one.warning}")
    if clocks:
        worst = max(clocks, key=lambda name: abs(clocks[name].offset_ns))
        on_progress(f"clocks: {worst} is the farthest off, {clocks[worst]}")


# ---- on the host


def join(request: dict[str, Any], programs: Programs) -> dict[str, Any]:
    """Start this host's worker."""
    return {"started": Service("worker").start(programs.cli, request["words"])}


def leave(request: dict[str, Any]) -> dict[str, Any]:
    """Stop this host's worker."""
    ended = Service("worker").stop()
    lanes = lane_folders(lanes_root(request["store"]))
    return {"ended": ended, "lanes": sum(lane.is_running() for lane in lanes)}
