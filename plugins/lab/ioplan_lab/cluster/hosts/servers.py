"""The background programs of a lab: the scheduler, and a worker on each host."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import sys
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import dask
from distributed import Scheduler, Worker
from distributed.comm import Comm

from ioplan.core.state_folder import state_folder
from ioplan_lab.cluster.hosts.clock import WorkerClock, tell_time, until_set_back
from ioplan_lab.cluster.hosts.delivery import deliver_always
from ioplan_lab.cluster.hosts.programs import Programs
from ioplan_lab.cluster.hosts.seen_hosts import SeenHosts
from ioplan_lab.cluster.hosts.service import Service
from ioplan_lab.cluster.hosts.service_log import log
from ioplan_lab.cluster.hosts.worker_api import lane_states, versions
from ioplan_lab.cluster.keys.dask_security import security_for
from ioplan_lab.cluster.keys.handshake import shake_hands
from ioplan_lab.cluster.keys.host_rights import restrict
from ioplan_lab.cluster.keys.identity import Identity, KeysState
from ioplan_lab.cluster.keys.tls import check_address
from ioplan_lab.cluster.sync.relay import OP, relay_to

MAX_LANES = 1000
"""On one host. Waiting for a lane needs no thread, but counts as one to dask."""
LOOK_S = 1.0
"""Between two looks at its keys and its log."""
RESTART_S, MAX_WAIT_S = 2.0, 20.0
"""Between two tries to reach the scheduler; more if it refuses this host."""
FREE_TRIES, FREE_WAIT_S = 50, 0.2
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


def resource(host: str) -> str:
    """The dask resource that only this host's worker has; its address may change.

    With the versions in it, a lane waits for a worker that can do it, too.
    """
    said = " ".join(f"{name} {number}" for name, number in versions().items())
    return f"host {host}, {said}"


class LabScheduler(Scheduler):  # type: ignore[misc]
    """dask's, without its web pages, which have no access control."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        self.http_server = None

    def handle_comm(self, comm: Comm) -> Any:
        restrict(comm)
        return super().handle_comm(comm)

    async def add_worker(self, comm: Comm, *, address: str, **facts: Any) -> None:
        """A host may be back before its old connection is known to be lost.

        dask would refuse it then, and not even tell it.
        """
        if address in self.workers:
            await self.remove_worker(address, stimulus_id="back", close=False)
        await super().add_worker(comm, address=address, **facts)


class LabWorker(Worker):  # type: ignore[misc]
    """dask's, without its web pages."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        self.http_server = None


async def run_scheduler(address: str) -> None:
    """Run it until its keys or its clock change. Raises ClusterError, OSError."""
    identity = Identity("scheduler")
    keys = identity.state()
    security = security_for(address, identity)
    place: Any = urlsplit(address)
    await _until_free(place.hostname, place.port or 0)
    with dask.config.set(SETTINGS):
        async with LabScheduler(
            host=f"{place.scheme}://{place.hostname}",
            port=place.port,
            security=security,
            dashboard=False,
        ) as scheduler:
            tell_time(scheduler)
            await _either(
                scheduler.finished(),
                _until_keys_change("scheduler", identity, keys),
                until_set_back(),
                SeenHosts(scheduler).look_forever(),
            )


async def _until_free(host: str, port: int) -> None:
    """A scheduler that was killed gives up its lock a moment before its port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for _ in range(FREE_TRIES):
        try:
            socket.create_server((host, port), family=family).close()
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                return  # the scheduler itself says what is wrong
        else:
            return
        await asyncio.sleep(FREE_WAIT_S)


async def run_worker(
    name: str, scheduler: str, host: str | None, port: int, programs: Programs
) -> None:
    """Run a host's worker until the scheduler is lost, or keys or clock change."""
    identity, clock = Identity("host"), WorkerClock()
    keys = identity.state()
    with dask.config.set(SETTINGS):
        worker = LabWorker(
            scheduler,
            name=name,
            host=host,
            port=port,
            nthreads=MAX_LANES,
            resources={resource(name): MAX_LANES},
            security=security_for(scheduler, identity),
            metrics={
                "lanes": lambda _: lane_states(),
                "versions": lambda _: versions(),
                "clock": clock.metric,
            },
            memory_limit=0,
            local_directory=str(state_folder() / "worker"),
            dashboard=False,
        )
        worker.handlers[OP] = relay_to(programs.participant)
        with suppress(OSError, TimeoutError, asyncio.CancelledError):
            async with worker:
                await _either(
                    worker.finished(),
                    _until_keys_change("worker", identity, keys),
                    until_set_back(),
                    clock.measure_forever(worker),
                )


def run_scheduler_forever(address: str, programs: Programs) -> None:
    """Run the scheduler; with other keys it is a fresh process. Raises ClusterError."""
    Service("scheduler").be()
    asyncio.run(run_scheduler(address))
    _start_anew(programs)


def run_worker_forever(
    name: str, scheduler: str, host: str | None, port: int, programs: Programs
) -> None:
    """Run a worker, and restart it as a fresh process. Raises ClusterError."""
    Service("worker").be()
    once = _run_worker_once(name, scheduler, host, port, programs)
    asyncio.run(_delivering(once))
    _start_anew(programs)


def _start_anew(programs: Programs) -> None:
    os.execv(sys.executable, [sys.executable, "-m", programs.cli, *sys.argv[1:]])


async def _delivering(work: Coroutine[Any, Any, None]) -> None:
    """Results are delivered meanwhile, also where no scheduler is reached."""
    delivers = asyncio.create_task(deliver_always())
    try:
        await work
    finally:
        delivers.cancel()


async def _run_worker_once(
    name: str, scheduler: str, host: str | None, port: int, programs: Programs
) -> None:
    identity = Identity("host")
    keys = identity.state()
    check_address(scheduler)
    if not identity.exists:
        log("this host has no keys yet: waiting for `ioplan lab up`")
        await _until_keys_change("worker", identity, keys)
    if identity.state() != keys or not await _reach(scheduler, identity):
        return
    try:
        await run_worker(name, scheduler, host, port, programs)
    except (ValueError, RuntimeError) as error:
        log(f"the scheduler refuses the worker {name}: {error}")
        await _wait(MAX_WAIT_S, identity)
    if identity.state() == keys:
        await _wait(RESTART_S, identity)


async def _reach(scheduler: str, identity: Identity) -> bool:
    """Wait until the scheduler is there and takes these keys; False if they change.

    Says why it waits when that changes, not each time.
    """
    said, wait_s, keys = "", RESTART_S, identity.state()
    while identity.state() == keys:
        found = await asyncio.to_thread(shake_hands, scheduler, identity)
        if found.accepted:
            return True
        if found.reason != said:
            said = found.reason
            log(f"the scheduler {scheduler}: {said}; waiting")
        wait_s = min(wait_s * 2, MAX_WAIT_S) if found.is_refused else RESTART_S
        await _wait(wait_s, identity)
    return False


async def _wait(seconds: float, identity: Identity) -> None:
    """Not longer than until the keys change."""
    changed = _until_keys_change("worker", identity, identity.state())
    with suppress(TimeoutError):
        await asyncio.wait_for(changed, seconds)


async def _until_keys_change(
    service: str, identity: Identity, before: KeysState
) -> None:
    """Wait until the keys change, and bound the log meanwhile."""
    own = Service(service)
    while identity.state() == before:
        await asyncio.sleep(LOOK_S)
        own.bound_log()


async def _either(*works: Coroutine[Any, Any, None]) -> None:
    """Until the first of them has ended."""
    tasks = [asyncio.ensure_future(one) for one in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
