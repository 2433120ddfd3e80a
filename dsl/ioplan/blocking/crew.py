"""All slots of a run, connected, started and ended together."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import Any

from ioplan.blocking.budget import Budget
from ioplan.blocking.device import Device, hang_up
from ioplan.blocking.slot import Slot
from ioplan.blocking.walk import Walk
from ioplan.job import Job, JobStream

GRACE_S, PATIENCE_S = 1.0, 60.0
"""How long an I/O may take to come back: from a run that is stopped, or over."""


class Crew:
    """`qd` slots for each thread of each stream."""

    def __init__(self, job: Job, connect: Callable[[], Device]) -> None:
        """Raises what `connect` raises; nothing stays connected then."""
        self.job, self.connect = job, connect
        self.slots: list[Slot] = []
        self.stopped = self.hurried = False
        whole = Budget(job.limit_bytes or inf)
        try:
            for place, stream in enumerate(job.streams):
                for thread in range(stream.threads):
                    self._thread(place, stream, thread, whole)
        except BaseException:
            self.close()
            raise

    def _thread(
        self, place: int, stream: JobStream, thread: int, whole: Budget
    ) -> None:
        walk = Walk(stream, thread, self.job.seed)
        share = stream.region_bytes
        if stream.pattern == "sequential":
            share = walk.end - walk.start
        else:
            share //= stream.threads
        budget = Budget(share * (self.job.passes or inf), whole)
        for _ in range(stream.qd):
            self.slots.append(Slot(self.connect(), walk, budget, place))

    def start(self, measured_from_ns: int) -> None:
        """Begin. The I/O ends after the job's time, when stopped, or by its bytes."""
        end_ns = measured_from_ns + (self.job.run_ns or inf)
        for slot in self.slots:
            slot.measured_from_ns = measured_from_ns
            slot.ending = lambda now_ns: self.stopped or now_ns >= end_ns
        for slot in self.slots:
            slot.start()

    def wait(self, until_ns: int) -> bool:
        """Wait for that time, or until all have ended; returns whether they have."""
        for slot in self.slots:
            while slot.is_alive() and not self.failed and not self.stopped:
                left_ns = until_ns - time.monotonic_ns()
                if left_ns <= 0:
                    return False
                slot.join(min(left_ns / 1e9, 0.1))
        return True

    @property
    def failed(self) -> Exception | None:
        """Why the run cannot go on, if it cannot."""
        return next((slot.failed for slot in self.slots if slot.failed), None)

    @property
    def first_error(self) -> dict[str, Any] | None:
        """The first I/O that failed, if one did."""
        found = [slot.first_error for slot in self.slots if slot.first_error]
        return min(found, key=lambda one: one[0])[1] if found else None

    def hurry(self) -> None:
        """Begin no other I/O, and wait not long for those under way."""
        self.stopped = self.hurried = True

    def end(self) -> int:
        """Wait for what is under way; returns how many I/Os never came back."""
        self.stopped, waited_s = True, 0.0
        for slot in self.slots:
            while slot.is_alive() and waited_s < self._patience_s:
                began_s = time.monotonic()
                slot.join(0.1)
                waited_s += time.monotonic() - began_s
        return sum(slot.is_alive() for slot in self.slots)

    @property
    def _patience_s(self) -> float:
        return GRACE_S if self.hurried or self.failed else PATIENCE_S

    def cut(self) -> None:
        """End all connections; what still waits for an answer gets an error."""
        for slot in self.slots:
            hang_up(slot.device)

    def close(self) -> None:
        """End all connections, and wait a moment for those who used them."""
        self.cut()
        for slot in self.slots:
            if slot.ident is not None:
                slot.join(GRACE_S)
        self.slots.clear()
