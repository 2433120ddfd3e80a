"""The two programs of a lab: the scheduler, and a worker on each host."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import dask
from distributed import Scheduler, Worker

from ioplan.cluster.hosts.tls import check_address, security_for, tls_folder
from ioplan.cluster.hosts.worker_api import lane_states, versions
from ioplan.cluster.sync.relay import OP, relay

MOST_LANES = 1000
"""Of a host. Lanes are waited for without a thread, but each takes one's place."""
AGAIN_S = 2
SETTINGS: dict[str, Any] = {
    # a lane goes on whatever becomes of its worker, so no worker is to blame for it
    "distributed.scheduler.allowed-failures": 1_000_000,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.worker-ttl": None,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.daemon": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.worker.profile.enabled": False,
}
NO_PAGES = "127.0.0.1:0"
"""dask's own pages have no lock on their door."""


def resource(host: str) -> str:
    """Only the worker of a host has it; its address changes when it starts anew."""
    return f"host {host}"


async def schedule(address: str) -> None:
    """Be the scheduler until ended. Raises ClusterError, OSError."""
    check_address(address)
    place: Any = urlsplit(address)
    with dask.config.set(SETTINGS):
        async with Scheduler(
            host=f"{place.scheme}://{place.hostname}",
            port=place.port,
            security=security_for(address),
            dashboard=False,
            dashboard_address=NO_PAGES,
        ) as scheduler:
            await scheduler.finished()


async def serve(name: str, scheduler: str, host: str | None) -> None:
    """Be the worker of a host until the scheduler is lost. Raises ClusterError."""
    security = security_for(scheduler)
    folder = tls_folder().parent / "worker"
    with dask.config.set(SETTINGS):
        worker = Worker(
            scheduler,
            name=name,
            host=host,
            nthreads=MOST_LANES,
            resources={resource(name): MOST_LANES},
            security=security,
            metrics={"lanes": _lanes, "versions": _versions},
            memory_limit=0,
            local_directory=str(folder),
            dashboard=False,
            dashboard_address=NO_PAGES,
        )
        worker.handlers[OP] = relay
        with suppress(OSError, TimeoutError, asyncio.CancelledError):
            async with worker:
                await worker.finished()


def work_for_ever(name: str, scheduler: str, host: str | None) -> None:
    """A worker that comes back as a fresh process. Raises ClusterError."""
    check_address(scheduler)
    asyncio.run(_served(name, scheduler, host))
    os.execv(sys.executable, [sys.executable, "-m", "ioplan.cli", *sys.argv[1:]])


async def _served(name: str, scheduler: str, host: str | None) -> None:
    await serve(name, scheduler, host)
    await asyncio.sleep(AGAIN_S)


def _lanes(worker: Worker) -> Any:
    return lane_states()


def _versions(worker: Worker) -> Any:
    return versions()
