"""One outstanding I/O: a thread that issues the next when the last has come back."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from errno import errorcode
from threading import Thread
from typing import Any

from ioplan.blocking.budget import FREE, Budget
from ioplan.blocking.device import Device
from ioplan.blocking.walk import Io, Walk
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
