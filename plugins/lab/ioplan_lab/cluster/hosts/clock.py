"""A worker compares its clock with the scheduler's, again and again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from distributed import Scheduler, Worker

from ioplan.records import HostClock
from ioplan_lab.cluster.hosts.service_log import log
from ioplan_lab.cluster.jobs.clock_file import keep_clock
from ioplan_lab.cluster.jobs.lane_folder import lanes_root
from ioplan_lab.cluster.keys.host_rights import CLOCK
from ioplan_lab.cluster.sync.start_skew import MIN_EXCHANGES, least_uncertain, offset_of

EVERY_S = 15.0
LOOK_S, SET_BACK_S = 1.0, 10.0


def tell_time(scheduler: Scheduler) -> None:
    """Have the scheduler answer what its clock says."""
    scheduler.handlers[CLOCK] = _now_ns


def _now_ns() -> int:
    """distributed asks handlers for their signature, which time_ns has none of."""
    return time.time_ns()


def _ahead_s() -> float:
    return time.time() - time.monotonic()


async def until_set_back(ahead_s: Callable[[], float] = _ahead_s) -> None:
    """Until this host's clock goes back by seconds.

    tornado's timers go by it, and would do nothing until it is where it was.
    """
    before_s = ahead_s()
    while before_s - (now_s := ahead_s()) < SET_BACK_S:
        before_s = now_s
        await asyncio.sleep(LOOK_S)
    log("the clock was set back: starting anew")


class WorkerClock:
    """The last measurement; `metric` is for the worker's heartbeats."""

    def __init__(self) -> None:
        self.found: HostClock | None = None

    def metric(self, worker: Worker) -> Any:
        """As JSON; None before the first measurement."""
        return self.found and self.found.model_dump(mode="json")

    async def measure_forever(self, worker: Worker) -> None:
        """Measure the clock again and again, also for the records of the lanes here."""
        while True:
            with suppress(OSError, TimeoutError):
                self.found = await _measured(worker)
                keep_clock(lanes_root(), self.found)
            await asyncio.sleep(EVERY_S)


async def _measured(worker: Worker) -> HostClock:
    """Over the lab's TLS link, which several questions in turn find idle."""
    offsets = []
    for _ in range(MIN_EXCHANGES):
        sent_ns = time.time_ns()
        there_ns = await getattr(worker.scheduler, CLOCK)()
        offsets.append(offset_of(sent_ns, there_ns, time.time_ns()))
    found = least_uncertain(offsets)
    return HostClock(
        offset_ns=-found.offset_ns,
        uncertainty_ns=found.uncertainty_ns,
        measured_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
    )
