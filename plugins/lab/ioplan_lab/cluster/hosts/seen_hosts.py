"""What the scheduler last heard of each host, also of those that have gone.

distributed forgets a worker as soon as its link ends, with the states of its lanes.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from distributed import Scheduler

HOSTS_OP = "ioplan_hosts"
LOOK_S = 1.0


class SeenHosts:
    """The last heartbeat of each host that was ever there."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.found: dict[str, dict[str, Any]] = {}
        scheduler.handlers[HOSTS_OP] = self.answer

    async def look_forever(self) -> None:
        """A worker that goes within a second was seen a second ago at most."""
        while True:
            self._look()
            await asyncio.sleep(LOOK_S)

    def _look(self) -> None:
        for worker in self.scheduler.workers.values():
            metrics = worker.metrics
            self.found[worker.name] = {
                "address": worker.address,
                "seen_s": worker.last_seen,
                "lanes": metrics.get("lanes", []),
                "clock": metrics.get("clock"),
                "versions": metrics.get("versions", {}),
            }

    def answer(self) -> dict[str, dict[str, Any]]:
        """By host: its address, lanes, versions, clock, `silent_s`; `gone`: no link."""
        self._look()
        now_s = time.time()
        there = {worker.name for worker in self.scheduler.workers.values()}
        return {
            name: {
                **{key: value for key, value in one.items() if key != "seen_s"},
                "silent_s": now_s - one["seen_s"],
                "gone": name not in there,
            }
            for name, one in self.found.items()
        }
