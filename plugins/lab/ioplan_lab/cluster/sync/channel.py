"""Lines of JSON to and from the participants of a session, over the lab's TLS."""

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

from ioplan.core import Cause, ClusterFault
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.sync.messages import SILENT_S, Message
from ioplan_lab.cluster.sync.relay import OP
from ioplan_lab.cluster.sync.start_skew import (
    MAX_EXCHANGES,
    Offset,
    is_known,
    least_uncertain,
    offset_of,
)

CONNECT_S = 10
PING_S, BURST_S = 1.0, 0.004
CLOCK_S, PATIENT_S = 5.0, 1.0
STARTUP_S = 20.0
"""A participant's process needs some time before its first answer."""
Received = tuple[str, Message]
"""A host, and a message of its participant."""


class Channels:
    """A channel to each host. All messages come into one queue."""

    def __init__(self, client: Client, addresses: dict[str, str], session: str) -> None:
        """Connect to all. Raises ClusterError."""
        self.received: SimpleQueue[Received] = SimpleQueue()
        self.lost: set[str] = set()
        self.clocks: dict[str, deque[Offset]] = {}
        self.client, self.session = client, session
        self.loop = client.loop.asyncio_loop
        self.comms: dict[str, Comm] = {}
        self.received_s: dict[str, float] = {}
        self.locks: dict[str, asyncio.Lock] = {}
        self.tasks: list[asyncio.Task[None]] = []
        try:
            self._run(self._connect(addresses)).result(2 * CONNECT_S)
        except (OSError, TimeoutError) as error:
            raise ClusterError(
                f"the workers of {', '.join(addresses)} cannot be reached: {error}; "
                f"start them with `ioplan lab up`",
                ClusterFault.NO_WORKER,
            ) from error

    def _run(self, coroutine: Any) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    async def _connect(self, addresses: dict[str, str]) -> None:
        arguments = self.client.connection_args
        for host, address in addresses.items():
            comm = await connect(address, timeout=CONNECT_S, **arguments)
            await comm.write({"op": OP, "session": self.session, "reply": False})
            self.comms[host], self.locks[host] = comm, asyncio.Lock()
            self.clocks[host] = deque(maxlen=MAX_EXCHANGES)
            self.received_s[host] = time.monotonic() + STARTUP_S
        for host in addresses:
            for work in (self._listen(host), self._ping(host)):
                self.tasks.append(asyncio.create_task(work))

    # ---- sending

    def send(self, host: str, **message: Any) -> None:
        """Send a message to a host, unless it is lost."""
        if host not in self.lost:
            self._run(self._write(host, message))

    async def _write(self, host: str, message: Message) -> None:
        with suppress(OSError):  # the listener notices it, too
            async with self.locks[host]:
                await self.comms[host].write(json.dumps(message))

    async def _ping(self, host: str) -> None:
        """Ask for its time: a participant that receives nothing ends its I/O."""
        while host not in self.lost:
            if time.monotonic() - self.received_s[host] > SILENT_S:
                self._lose(host, f"it has been silent for {SILENT_S:.0f} s")
                self.comms[host].abort()
                return
            asyncio.create_task(self._write(host, _clock_question()))  # noqa: RUF006  a cut link must not hold it up
            await asyncio.sleep(PING_S)

    # ---- receiving

    def receive(self, timeout_s: float) -> Received | None:
        """The next message of any host; None if there is none in time."""
        try:
            return self.received.get(timeout=timeout_s)
        except Empty:
            return None

    async def _listen(self, host: str) -> None:
        try:
            while True:
                line: Any = await self.comms[host].read()
                self._handle(host, json.loads(line), time.time_ns())
        except OSError as error:
            self._lose(host, f"its link ended: {error}")

    def _lose(self, host: str, why: str) -> None:
        if host not in self.lost:
            self.lost.add(host)
            self.received.put((host, {"said": "lost", "text": why}))

    def _handle(self, host: str, message: Message, now_ns: int) -> None:
        self.received_s[host] = time.monotonic()
        if message["said"] == "clock":
            found = offset_of(message["sent_ns"], message["at_ns"], now_ns)
            self.clocks[host].append(found)
        else:
            self.received.put((host, message))

    # ---- clocks

    def offsets(self, hosts: Sequence[str]) -> dict[str, Offset]:
        """The hosts' clock offsets, measured now. Raises ClusterError."""
        for host in hosts:
            self.clocks[host].clear()
            self._run(self._burst(host))
        begun_s = time.monotonic()
        deadline_s, patient_s = begun_s + CLOCK_S, begun_s + PATIENT_S
        while few := [
            one
            for one in hosts
            if not is_known(tuple(self.clocks[one]), time.monotonic() < patient_s)
        ]:
            if self.lost & set(hosts) or time.monotonic() > deadline_s:
                why = f"it is lost (it did not tell the time within {CLOCK_S:.0f} s)"
                text = "; ".join(f"{host}: {why}" for host in few)
                raise ClusterError(text, Cause.HOST_LOST)
            time.sleep(BURST_S)
        return {host: least_uncertain(tuple(self.clocks[host])) for host in hosts}

    async def _burst(self, host: str) -> None:
        for _ in range(MAX_EXCHANGES):
            if is_known(self.clocks[host], patient=True):
                return
            await self._write(host, _clock_question())
            await asyncio.sleep(BURST_S)

    # ---- the end

    def disconnect(self, host: str) -> None:
        """Cut one channel: its participant ends."""
        self.loop.call_soon_threadsafe(self.comms[host].abort)

    def close(self) -> None:
        """Cut all channels."""
        with suppress(TimeoutError, RuntimeError):
            self._run(self._close()).result(2)
        self.client.close(timeout=2)

    async def _close(self) -> None:
        for task in self.tasks:
            task.cancel()
        for comm in self.comms.values():
            comm.abort()


def _clock_question() -> Message:
    return {"do": "clock", "sent_ns": time.time_ns()}
