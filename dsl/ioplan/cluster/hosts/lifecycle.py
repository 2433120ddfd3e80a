"""Starting and stopping a lab: the scheduler here, a worker on each host."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable
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
from ioplan.lab.hosts import LabHost
from ioplan.lab.lab import Lab

PARALLEL_HOSTS = 32
START_S = 30

ProgressCallback = Callable[[str], None]
"""Called with a line for each host and for the scheduler."""


def up(lab: Lab, programs: Programs, on_progress: ProgressCallback) -> None:
    """Start what does not run yet.

    Raises ClusterError, and before anything is changed if a host cannot be reached or
    has another version.
    """
    address = _scheduler_of(lab)
    tls.check_address(address)

    def check(name: str, host: LabHost) -> None:
        check_versions(name, call_host(name, host, programs, "versions"))

    _on_each_host(lab, check)
    keys = tls.load_or_make_keys() if address.startswith("tls:") else {}
    _start_scheduler(address, programs, on_progress)

    def join(name: str, host: LabHost) -> None:
        request: dict[str, Any] = {"name": name, "address": host.address or name}
        request |= {"scheduler": address, "keys": keys, "store": host.store}
        answer = call_host(name, host, programs, "join", request)
        on_progress(f"{name}: {'started' if answer['started'] else 'is up'}")

    _on_each_host(lab, join)
    _await_workers(lab, address, programs)


def down(lab: Lab, programs: Programs, on_progress: ProgressCallback) -> None:
    """Stop the workers and the scheduler; running lanes go on. Raises ClusterError."""

    def leave(name: str, host: LabHost) -> None:
        answer = call_host(name, host, programs, "leave", {"store": host.store})
        lanes = f"; {answer['lanes']} lanes go on there" if answer["lanes"] else ""
        on_progress(f"{name}: {'ended' if answer['ended'] else 'was not up'}{lanes}")

    try:
        _on_each_host(lab, leave)
    finally:
        if Service("scheduler").stop():
            on_progress("the scheduler: ended")


def put_back(lab: Lab, programs: Programs, on_progress: ProgressCallback) -> None:
    """Have each host undo what killed sessions have set there. Raises ClusterError."""

    def one(name: str, host: LabHost) -> None:
        for note in call_host(name, host, programs, "put-back")["notes"]:
            on_progress(f"{name}: {note}")

    _on_each_host(lab, one)


def _scheduler_of(lab: Lab) -> str:
    if lab.scheduler is None or not lab.hosts:
        raise ClusterError(
            "the lab needs hosts and a scheduler; write into its file for example\n"
            'scheduler = "tls://10.0.0.1:8786"\n[hosts.h1]\naddress = "10.0.0.2"',
            ClusterFault.NO_SCHEDULER,
        )
    return lab.scheduler


def _on_each_host(lab: Lab, do: Callable[[str, LabHost], None]) -> None:
    """In parallel. Raises ClusterError with all that failed."""
    with ThreadPoolExecutor(PARALLEL_HOSTS) as pool:
        waiting = [pool.submit(do, name, host) for name, host in lab.hosts.items()]
        errors = [one.exception() for one in waiting]
    _raise(error for error in errors if error)


def _raise(errors: Iterable[BaseException]) -> None:
    """The kind of several errors is that of the first."""
    found: list[ClusterError] = []
    for error in errors:
        if not isinstance(error, ClusterError):
            raise error
        found.append(error)
    if found:
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


def _await_workers(lab: Lab, address: str, programs: Programs) -> None:
    """Until all of them have reported to the scheduler."""
    from ioplan.cluster.hosts.dask_client import DaskClient  # noqa: PLC0415  takes a second to import

    client = DaskClient(address, programs)
    try:
        deadline_s = time.monotonic() + START_S
        while missing := set(lab.hosts) - client.hosts():
            if time.monotonic() > deadline_s:
                raise ClusterError(
                    f"the workers of {', '.join(sorted(missing))} do not reach "
                    f"{address}; see worker.log in ~/.local/state/ioplan there, and "
                    f"check that no firewall is in the way",
                    ClusterFault.NO_WORKER,
                )
            time.sleep(0.2)
    finally:
        client.close()


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
