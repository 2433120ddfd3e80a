"""Lines to and from the parts of a session on several hosts, over the lab's TLS."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from distributed import Client
from distributed.comm import Comm, connect

from ioplan.cluster.errors import ClusterError
from ioplan.cluster.sync.participant import SILENT_S
from ioplan.cluster.sync.relay import OP
from ioplan.cluster.sync.start_skew import FEWEST, MOST, Offset, exchanged, surest

CONNECT_S = 10
PING_S, BURST_S = 1.0, 0.004
SURE_S = 5.0
STARTING_S = 20.0
"""A part's process takes a while until it answers."""
Heard = tuple[str, dict[str, Any]]
"""A host, and what its part says."""


class Links:
    """One link for each host. What all of them say comes into one queue."""

    def __init__(self, client: Client, addresses: dict[str, str], session: str) -> None:
        """Raises ClusterError."""
        self.heard: SimpleQueue[Heard] = SimpleQueue()
        self.lost: set[str] = set()
        self.clocks: dict[str, deque[Offset]] = {}
        self.client, self.session = client, session
        self.loop = client.loop.asyncio_loop
        self.comms: dict[str, Comm] = {}
        self.heard_s: dict[str, float] = {}
        self.locks: dict[str, asyncio.Lock] = {}
        self.tasks: list[asyncio.Task[None]] = []
        try:
            self._do(self._connect(addresses)).result(2 * CONNECT_S)
        except (OSError, TimeoutError) as error:
            raise ClusterError(
                f"the workers of {', '.join(addresses)} cannot be reached: {error}; "
                f"start them with `ioplan lab up`"
            ) from error

    def _do(self, what: Any) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(what, self.loop)

    async def _connect(self, addresses: dict[str, str]) -> None:
        arguments = self.client.connection_args
        for host, address in addresses.items():
            comm = await connect(address, timeout=CONNECT_S, **arguments)
            await comm.write({"op": OP, "session": self.session, "reply": False})
            self.comms[host], self.locks[host] = comm, asyncio.Lock()
            self.clocks[host] = deque(maxlen=MOST)
            self.heard_s[host] = time.monotonic() + STARTING_S
        for host in addresses:
            for work in (self._listen(host), self._ping(host)):
                self.tasks.append(asyncio.create_task(work))

    # ---- what is said

    def say(self, host: str, **message: Any) -> None:
        """Say something to a host; one that is lost does not hear it."""
        if host not in self.lost:
            self._do(self._write(host, message))

    async def _write(self, host: str, message: dict[str, Any]) -> None:
        with suppress(OSError):  # the listener notices it, too
            async with self.locks[host]:
                await self.comms[host].write(json.dumps(message))

    async def _ping(self, host: str) -> None:
        """A part that hears nothing ends its I/O. Also keeps its clock in view."""
        while host not in self.lost:
            if time.monotonic() - self.heard_s[host] > SILENT_S:
                self._lose(host, f"nothing was heard of it for {SILENT_S:.0f} s")
                self.comms[host].abort()
                return
            asyncio.create_task(self._write(host, _what_time()))  # noqa: RUF006  a cut link must not hold it up
            await asyncio.sleep(PING_S)

    # ---- what is heard

    def next(self, wait_s: float) -> Heard | None:
        """What comes next, from any host; None where nothing does."""
        try:
            return self.heard.get(timeout=wait_s)
        except Empty:
            return None

    async def _listen(self, host: str) -> None:
        try:
            while True:
                line: Any = await self.comms[host].read()
                self._take(host, json.loads(line), time.time_ns())
        except OSError as error:
            self._lose(host, f"its link ended: {error}")

    def _lose(self, host: str, why: str) -> None:
        if host not in self.lost:
            self.lost.add(host)
            self.heard.put((host, {"said": "lost", "text": why}))

    def _take(self, host: str, message: dict[str, Any], now_ns: int) -> None:
        self.heard_s[host] = time.monotonic()
        if message["said"] == "clock":
            found = exchanged(message["sent_ns"], message["at_ns"], now_ns)
            self.clocks[host].append(found)
        else:
            self.heard.put((host, message))

    # ---- clocks

    def offsets(self, hosts: Sequence[str]) -> dict[str, Offset]:
        """How far their clocks are off, asked anew. Raises ClusterError."""
        for host in hosts:
            self.clocks[host].clear()
            self._do(self._burst(host))
        deadline_s = time.monotonic() + SURE_S
        while unsure := [one for one in hosts if len(self.clocks[one]) < FEWEST]:
            if self.lost & set(hosts) or time.monotonic() > deadline_s:
                why = f"it is lost (it did not tell the time within {SURE_S:.0f} s)"
                raise ClusterError("; ".join(f"{host}: {why}" for host in unsure))
            time.sleep(BURST_S)
        return {host: surest(tuple(self.clocks[host])) for host in hosts}

    async def _burst(self, host: str) -> None:
        for _ in range(2 * FEWEST):
            await self._write(host, _what_time())
            await asyncio.sleep(BURST_S)

    # ---- the end

    def drop(self, host: str) -> None:
        """Hang up on one: its part ends."""
        self.loop.call_soon_threadsafe(self.comms[host].abort)

    def close(self) -> None:
        """Hang up on all."""
        with suppress(TimeoutError, RuntimeError):
            self._do(self._close()).result(2)
        self.client.close(timeout=2)

    async def _close(self) -> None:
        for task in self.tasks:
            task.cancel()
        for comm in self.comms.values():
            comm.abort()


def _what_time() -> dict[str, Any]:
    return {"do": "clock", "sent_ns": time.time_ns()}
