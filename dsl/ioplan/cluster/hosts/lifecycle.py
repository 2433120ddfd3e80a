"""Starting and stopping a lab: the scheduler here, a worker on each host."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

from ioplan.cluster.errors import ClusterError
from ioplan.cluster.hosts import tls
from ioplan.cluster.hosts.programs import Programs
from ioplan.cluster.hosts.service import Service
from ioplan.cluster.hosts.ssh import call_host
from ioplan.cluster.hosts.worker_api import check_versions
from ioplan.cluster.jobs.lane_folder import lane_folders, lanes_root
from ioplan.core.error_kinds import ClusterFault
from ioplan.core.text import did_you_mean
from ioplan.lab.hosts import LabHost
from ioplan.lab.lab import Lab

PARALLEL_HOSTS = 64
START_S, PUT_BACK_S = 30, 60

Faults = dict[str, ClusterError]
"""By host."""
ProgressCallback = Callable[[str], None]
"""Called with a line for each host and for the scheduler."""


def up(lab: Lab, programs: Programs, on_progress: ProgressCallback) -> Faults:
    """Start what does not run yet.

    Returns the hosts that are left out, and why: they do not answer, or have another
    version. Raises ClusterError, and before anything is changed if this is so of all.
    """
    address = _scheduler_of(lab)
    tls.check_address(address)

    def check(name: str, host: LabHost) -> None:
        check_versions(name, call_host(name, host, programs, "versions"))

    faults = _on_each_host(lab, check)
    lab = without(lab, faults)
    if not lab.hosts:
        _raise(faults)
    keys = tls.load_or_make_keys() if address.startswith("tls:") else {}
    _start_scheduler(address, programs, on_progress)

    def join(name: str, host: LabHost) -> None:
        request: dict[str, Any] = {"name": name, "address": host.address or name}
        request |= {"scheduler": address, "keys": keys, "store": host.store}
        answer = call_host(name, host, programs, "join", request)
        on_progress(f"{name}: {'started' if answer['started'] else 'is up'}")

    faults |= _on_each_host(lab, join)
    return faults | _await_workers(set(lab.hosts) - set(faults), address, programs)


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
        lanes = f"; {answer['lanes']} lanes go on there" if answer["lanes"] else ""
        on_progress(f"{name}: {'ended' if answer['ended'] else 'was not up'}{lanes}")

    try:
        _raise(_on_each_host(lab, leave))
    finally:
        if Service("scheduler").stop():
            on_progress("the scheduler: ended")


def put_back(lab: Lab, programs: Programs, on_progress: ProgressCallback) -> None:
    """Have each host undo what killed sessions have set there. Raises ClusterError."""

    def one(name: str, host: LabHost) -> None:
        answer = call_host(name, host, programs, "put-back", timeout_s=PUT_BACK_S)
        for note in answer["notes"]:
            on_progress(f"{name}: {note}")

    _raise(_on_each_host(lab, one))


def _scheduler_of(lab: Lab) -> str:
    if lab.scheduler is None or not lab.hosts:
        raise ClusterError(
            "the lab needs hosts and a scheduler; write into its file for example\n"
            'scheduler = "tls://10.0.0.1:8786"\n[hosts.h1]\naddress = "10.0.0.2"',
            ClusterFault.NO_SCHEDULER,
        )
    return lab.scheduler


def _on_each_host(lab: Lab, do: Callable[[str, LabHost], None]) -> Faults:
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


def _start_scheduler(
    address: str, programs: Programs, on_progress: ProgressCallback
) -> None:
    service = Service("scheduler")
    started = service.start(programs.cli, ["lab", "scheduler", "--at", address])
    deadline_s = time.monotonic() + START_S
    while not _listens(address):
        if not service.is_up() or time.monotonic() > deadline_s:
            raise ClusterError(
                f"the scheduler at {address} does not start; its address must be one "
                f"of this host; its log ends with:\n{service.log_end()}",
                ClusterFault.SCHEDULER_FAILED,
            )
        time.sleep(0.1)
    on_progress(f"the scheduler: {'started' if started else 'is up'}, {address}")


def _listens(address: str) -> bool:
    place = urlsplit(address)
    try:
        with socket.create_connection((place.hostname or "", place.port or 0), 1):
            return True
    except OSError:
        return False


def _await_workers(hosts: set[str], address: str, programs: Programs) -> Faults:
    """Until all of them have reported to the scheduler; returns those that do not."""
    from ioplan.cluster.hosts.dask_client import DaskClient  # noqa: PLC0415  takes a second to import

    client = DaskClient(address, programs)
    try:
        deadline_s = time.monotonic() + START_S
        while missing := hosts - client.hosts():
            if time.monotonic() > deadline_s:
                break
            time.sleep(0.2)
    finally:
        client.close()
    return {
        name: ClusterError(
            f"the worker of {name} does not reach {address}; see worker.log in "
            f"~/.local/state/ioplan there, and check that no firewall is in the way",
            ClusterFault.NO_WORKER,
        )
        for name in sorted(missing)
    }


# ---- on the host


def join(request: dict[str, Any], programs: Programs) -> dict[str, Any]:
    """Store the keys and start this host's worker. Raises OSError."""
    if request["keys"]:
        tls.store_keys(request["keys"])
    words = ["lab", "worker", "--name", request["name"], "--host", request["address"]]
    words += ["--scheduler", request["scheduler"]]
    words += ["--store", request["store"]] if request["store"] else []
    return {"started": Service("worker").start(programs.cli, words)}


def leave(request: dict[str, Any]) -> dict[str, Any]:
    """Stop this host's worker."""
    ended = Service("worker").stop()
    lanes = lane_folders(lanes_root(request["store"]))
    return {"ended": ended, "lanes": sum(lane.is_running() for lane in lanes)}
