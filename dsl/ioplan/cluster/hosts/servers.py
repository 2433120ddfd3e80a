"""The background programs of a lab: the scheduler, and a worker on each host."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import dask
from distributed import Scheduler, Worker

from ioplan.cluster.hosts.programs import Programs
from ioplan.cluster.hosts.seen_hosts import SeenHosts
from ioplan.cluster.hosts.tls import check_address, security_for, tls_folder
from ioplan.cluster.hosts.worker_api import lane_states, versions
from ioplan.cluster.sync.relay import OP, relay_to

MAX_LANES = 1000
"""On one host. Waiting for a lane needs no thread, but counts as one to dask."""
RESTART_S = 2
SETTINGS: dict[str, Any] = {
    # a lane does not depend on its worker, so none is blamed for a lane
    "distributed.scheduler.allowed-failures": 1_000_000,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.worker-ttl": None,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.daemon": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.worker.profile.enabled": False,
}
NO_DASHBOARD = "127.0.0.1:0"
"""dask's web pages have no access control."""


def resource(host: str) -> str:
    """The dask resource that only this host's worker has; its address may change.

    With the versions in it, a lane waits for a worker that can do it, too.
    """
    said = " ".join(f"{name} {number}" for name, number in versions().items())
    return f"host {host}, {said}"


async def run_scheduler(address: str) -> None:
    """Run the scheduler until it is ended. Raises ClusterError, OSError."""
    check_address(address)
    place: Any = urlsplit(address)
    with dask.config.set(SETTINGS):
        async with Scheduler(
            host=f"{place.scheme}://{place.hostname}",
            port=place.port,
            security=security_for(address),
            dashboard=False,
            dashboard_address=NO_DASHBOARD,
        ) as scheduler:
            looks = asyncio.create_task(SeenHosts(scheduler).look_forever())
            await scheduler.finished()
            looks.cancel()


async def run_worker(
    name: str, scheduler: str, host: str | None, programs: Programs
) -> None:
    """Run a host's worker until the scheduler is lost. Raises ClusterError."""
    security = security_for(scheduler)
    folder = tls_folder().parent / "worker"
    with dask.config.set(SETTINGS):
        worker = Worker(
            scheduler,
            name=name,
            host=host,
            nthreads=MAX_LANES,
            resources={resource(name): MAX_LANES},
            security=security,
            metrics={"lanes": _lanes, "versions": _versions},
            memory_limit=0,
            local_directory=str(folder),
            dashboard=False,
            dashboard_address=NO_DASHBOARD,
        )
        worker.handlers[OP] = relay_to(programs.participant)
        with suppress(OSError, TimeoutError, asyncio.CancelledError):
            async with worker:
                await worker.finished()


def run_worker_forever(
    name: str, scheduler: str, host: str | None, programs: Programs
) -> None:
    """Run a worker, and restart it as a fresh process. Raises ClusterError."""
    check_address(scheduler)
    asyncio.run(_run_worker_once(name, scheduler, host, programs))
    os.execv(sys.executable, [sys.executable, "-m", programs.cli, *sys.argv[1:]])


async def _run_worker_once(
    name: str, scheduler: str, host: str | None, programs: Programs
) -> None:
    await run_worker(name, scheduler, host, programs)
    await asyncio.sleep(RESTART_S)


def _lanes(worker: Worker) -> Any:
    return lane_states()


def _versions(worker: Worker) -> Any:
    return versions()
