"""All slots of a run, connected, started and ended together."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from errno import errorcode
from math import inf
from threading import Thread
from typing import Any

from ioplan.blocking.device import Device, hang_up
from ioplan.blocking.offsets import FREE, Budget, Io, Walk
from ioplan.job import Job, JobStream
from ioplan.workload import Direction

MOST_ERRORS = 1000
"""A target that fails so often, and never succeeds in between, is given up."""

Done = tuple[Direction, int, int, int]
"""Direction, bytes, latency in ns or -1 for an error, and when it ended."""


class Slot(Thread):
    """A closed loop on a connection of its own."""

    def __init__(self, device: Device, walk: Walk, budget: Budget, place: int) -> None:
        super().__init__(daemon=True, name=f"ioplan slot {place}")
        self.device, self.walk, self.budget, self.place = device, walk, budget, place
        self.done: deque[Done] = deque()
        self.failed: Exception | None = None
        self.first_error: tuple[int, dict[str, Any]] | None = None
        self.ending: Callable[[int], bool] = lambda now_ns: True
        self.measured_from_ns = 0

    def run(self) -> None:
        """Issue I/Os until it is time to end, or there is none left to do."""
        errors, now_ns = 0, time.monotonic_ns()
        try:
            while not self.ending(now_ns) and (io := self._next(now_ns)):
                well, now_ns = self._do(io)
                errors = 0 if well else errors + 1
                if errors >= MOST_ERRORS:
                    raise ConnectionError(
                        f"{errors} I/Os failed one after the other, the first of all "
                        f"by {self.first_error and self.first_error[1]['name']}"
                    )
        except Exception as error:  # an author's code: anything may come
            self.failed = error

    def _next(self, now_ns: int) -> Io | None:
        warm = now_ns < self.measured_from_ns
        return self.walk.next(FREE if warm else self.budget)

    def _do(self, io: Io) -> tuple[bool, int]:
        """Whether it went well, and when it ended."""
        latency_ns, start_ns = -1, time.monotonic_ns()
        try:
            if io.direction == "read":
                self.device.read(io.offset, io.size)
            else:
                self.device.write(io.offset, io.data)
            end_ns = time.monotonic_ns()
            latency_ns = end_ns - start_ns
        except ConnectionError:
            raise
        except OSError as error:
            end_ns = time.monotonic_ns()
            self.first_error = self.first_error or (end_ns, facts_of(error, io))
        self.done.append((io.direction, io.size, latency_ns, end_ns))
        return latency_ns >= 0, end_ns


def facts_of(error: OSError, io: Io) -> dict[str, Any]:
    """What a Result tells of the first error; see `ioplan.backends.Execution`."""
    return {
        "errno": error.errno,
        "name": errorcode.get(error.errno or 0, str(error) or type(error).__name__),
        "direction": io.direction,
        "offset": io.offset,
        "bytes": io.size,
    }


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
