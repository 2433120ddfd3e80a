"""Starting and ending a lab: the scheduler here, a worker on each host."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

from ioplan.cluster.errors import ClusterError
from ioplan.cluster.hosts import tls
from ioplan.cluster.hosts.service import Service
from ioplan.cluster.hosts.ssh import called
from ioplan.cluster.hosts.worker_api import check_versions
from ioplan.cluster.jobs.lane_folder import folders, lanes_root
from ioplan.lab.hosts import LabHost
from ioplan.lab.lab import Lab

AT_ONCE = 32
START_S = 30

Tell = Callable[[str], None]


def up(lab: Lab, tell: Tell) -> None:
    """Start what is not up yet. Raises ClusterError before anything is changed
    where a host cannot be reached, or has another version."""
    address = _scheduler_of(lab)
    tls.check_address(address)
    _each(lab, lambda name, host: check_versions(name, called(name, host, "versions")))
    keys = tls.kept() if address.startswith("tls:") else {}
    _start_scheduler(address, tell)

    def join(name: str, host: LabHost) -> None:
        told: dict[str, Any] = {"name": name, "address": host.address or name}
        told |= {"scheduler": address, "keys": keys, "store": host.store}
        done = called(name, host, "join", told=told)
        tell(f"{name}: {'started' if done['started'] else 'is up'}")

    _each(lab, join)
    _wait_for(lab, address)


def down(lab: Lab, tell: Tell) -> None:
    """End the workers and the scheduler. Lanes that go on are left alone."""

    def leave(name: str, host: LabHost) -> None:
        done = called(name, host, "leave", told={"store": host.store})
        lanes = f"; {done['lanes']} lanes go on there" if done["lanes"] else ""
        tell(f"{name}: {'ended' if done['ended'] else 'was not up'}{lanes}")

    try:
        _each(lab, leave)
    finally:
        if Service("scheduler").stop():
            tell("the scheduler: ended")


def _scheduler_of(lab: Lab) -> str:
    if lab.scheduler is None or not lab.hosts:
        raise ClusterError(
            "the lab needs hosts and a scheduler; write into its file for example\n"
            'scheduler = "tls://10.0.0.1:8786"\n[hosts.h1]\naddress = "10.0.0.2"'
        )
    return lab.scheduler


def _each(lab: Lab, do: Callable[[str, LabHost], Any]) -> None:
    """All hosts at once; all that fails is told."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        waiting = [pool.submit(do, name, host) for name, host in lab.hosts.items()]
        errors = [one.exception() for one in waiting]
    _raise(error for error in errors if error)


def _raise(errors: Iterable[BaseException]) -> None:
    found = list(errors)
    for error in found:
        if not isinstance(error, ClusterError):
            raise error
    if found:
        raise ClusterError("\n".join(map(str, found)))


def _start_scheduler(address: str, tell: Tell) -> None:
    service = Service("scheduler")
    started = service.start(["lab", "scheduler", "--at", address])
    deadline_s = time.monotonic() + START_S
    while not _listens(address):
        if not service.is_up() or time.monotonic() > deadline_s:
            raise ClusterError(
                f"the scheduler at {address} does not start; its address must be one "
                f"of this host; its log ends with:\n{service.last_words()}"
            )
        time.sleep(0.1)
    tell(f"the scheduler: {'started' if started else 'is up'}, {address}")


def _listens(address: str) -> bool:
    place = urlsplit(address)
    try:
        with socket.create_connection((place.hostname or "", place.port or 0), 1):
            return True
    except OSError:
        return False


def _wait_for(lab: Lab, address: str) -> None:
    """Until all workers are heard of."""
    from ioplan.cluster.hosts.dask_client import Rack  # noqa: PLC0415  takes a second to import

    rack = Rack(address)
    try:
        deadline_s = time.monotonic() + START_S
        while missing := set(lab.hosts) - rack.hosts():
            if time.monotonic() > deadline_s:
                raise ClusterError(
                    f"the workers of {', '.join(sorted(missing))} do not get through "
                    f"to {address}; see worker.log in ~/.local/state/ioplan there, "
                    f"and that nothing stops the way"
                )
            time.sleep(0.2)
    finally:
        rack.close()


# ---- on the host


def join(told: dict[str, Any]) -> dict[str, Any]:
    """Keep the keys and start this host's worker. Raises OSError."""
    if told["keys"]:
        tls.keep(told["keys"])
    words = ["lab", "worker", "--name", told["name"], "--host", told["address"]]
    words += ["--scheduler", told["scheduler"]]
    words += ["--store", told["store"]] if told["store"] else []
    return {"started": Service("worker").start(words)}


def leave(told: dict[str, Any]) -> dict[str, Any]:
    """End this host's worker."""
    ended = Service("worker").stop()
    lanes = [one for one in folders(lanes_root(told["store"])) if one.is_held()]
    return {"ended": ended, "lanes": len(lanes)}
