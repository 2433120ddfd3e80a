"""The threads that do the I/O: connected, started and ended together; think time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from errno import errorcode
from math import inf
from threading import Condition, Thread
from typing import Any, NamedTuple, Protocol

from ioplan.blocking.offsets import UNLIMITED, ByteBudget, Io, IoGenerator
from ioplan.job import SECOND_NS, Job, JobStream
from ioplan.workload import Direction

# What an author gives: a connection that reads and writes, one I/O at a time.


class Device(Protocol):
    """One connection to a target; it is used by one thread at a time.

    An I/O that fails raises OSError and is counted. ConnectionError says that the
    connection is of no more use, and ends the run.
    """

    @property
    def size_bytes(self) -> int:
        """How large the target is."""

    def read(self, offset: int, size: int, /) -> object:
        """Read so many bytes there; returns when they have come."""

    def write(self, offset: int, data: bytes, /) -> object:
        """Write the data there; returns when the target has taken it."""

    def close(self) -> None:
        """End the connection; also from another thread, while an I/O waits."""


def hang_up(device: Device) -> None:
    """Close a connection, also one that is broken already."""
    with suppress(OSError):
        device.close()


POLL_NS = 20_000_000
"""So soon does a pause notice that the run is over."""


class Pause:
    """Think time of a thread, which all its workers pass before an I/O and after it.

    The next group begins `pause_ns` after the last I/O of this one has come back.
    """

    def __init__(self, stream: JobStream) -> None:
        self.pause_ns, self.every = stream.pause_ns, stream.pause_every
        self.issued = self.outstanding = 0
        self.until_ns = 0
        self.changed = Condition()

    def enter(self, is_over: Callable[[int], bool]) -> bool:
        """Wait until an I/O may be issued; False if the run is over before."""
        with self.changed:
            while not is_over(now_ns := time.monotonic_ns()):
                if self.issued < self.every and now_ns >= self.until_ns:
                    self.issued += 1
                    self.outstanding += 1
                    return True
                left_ns = self.until_ns - now_ns if self.until_ns > now_ns else POLL_NS
                self.changed.wait(min(left_ns, POLL_NS) / SECOND_NS)
            return False

    def leave(self) -> None:
        """An I/O has come back, well or not; or there was none left to issue."""
        with self.changed:
            self.outstanding -= 1
            if self.outstanding or self.issued < self.every:
                return
            self.issued, self.until_ns = 0, time.monotonic_ns() + self.pause_ns
            self.changed.notify_all()


MAX_ERRORS = 1000
"""A target that fails so often, and never succeeds in between, is given up."""
GRACE_S, PATIENCE_S = 1.0, 60.0
"""How long an I/O may take to come back: from a run that is stopped, or over."""


class Done(NamedTuple):
    """An I/O that has come back; a latency below 0 says that it failed."""

    direction: Direction
    size_bytes: int
    latency_ns: int
    end_ns: int


class Worker(Thread):
    """A closed loop on a connection of its own: one of a stream's outstanding I/Os."""

    def __init__(
        self,
        device: Device,
        ios: IoGenerator,
        budget: ByteBudget,
        pause: Pause | None,
        stream_index: int,
    ) -> None:
        super().__init__(daemon=True, name=f"ioplan worker of stream {stream_index}")
        self.device, self.ios, self.budget = device, ios, budget
        self.pause, self.stream_index = pause, stream_index
        self.done: deque[Done] = deque()
        self.failure: Exception | None = None
        self.first_error: tuple[int, dict[str, Any]] | None = None
        self.is_over: Callable[[int], bool] = lambda now_ns: True
        self.measured_from_ns = 0

    def run(self) -> None:
        """Issue I/Os until it is time to end, or there is none left to do."""
        errors, now_ns = 0, time.monotonic_ns()
        try:
            while not self.is_over(now_ns) and (done := self._next(now_ns)):
                self.done.append(done)
                now_ns = done.end_ns
                errors = errors + 1 if done.latency_ns < 0 else 0
                if errors >= MAX_ERRORS:
                    raise ConnectionError(
                        f"{errors} I/Os failed one after the other, the first of all "
                        f"by {self.first_error and self.first_error[1]['name']}"
                    )
        except Exception as error:  # an author's code: anything may come
            self.failure = error

    def _next(self, now_ns: int) -> Done | None:
        """The next I/O, done; None if there is none."""
        if not self.pause:
            return self._issue(now_ns)
        if not self.pause.enter(self.is_over):
            return None
        try:
            return self._issue(time.monotonic_ns())
        finally:
            self.pause.leave()

    def _issue(self, now_ns: int) -> Done | None:
        warm = now_ns < self.measured_from_ns
        io = self.ios.next(UNLIMITED if warm else self.budget)
        return self._perform(io) if io else None

    def _perform(self, io: Io) -> Done:
        latency_ns, start_ns = -1, time.monotonic_ns()
        try:
            if io.direction == "read":
                self.device.read(io.offset, io.size_bytes)
            else:
                self.device.write(io.offset, io.data)
            end_ns = time.monotonic_ns()
            latency_ns = end_ns - start_ns
        except ConnectionError:
            raise
        except OSError as error:
            end_ns = time.monotonic_ns()
            self.first_error = self.first_error or (end_ns, _error_facts(error, io))
        return Done(io.direction, io.size_bytes, latency_ns, end_ns)


def _error_facts(error: OSError, io: Io) -> dict[str, Any]:
    """What a Result tells of the first error; see `ioplan.backends.Execution`."""
    return {
        "errno": error.errno,
        "name": errorcode.get(error.errno or 0, str(error) or type(error).__name__),
        "direction": io.direction,
        "offset": io.offset,
        "bytes": io.size_bytes,
    }


class WorkerPool:
    """`qd` workers for each thread of each stream."""

    def __init__(self, job: Job, connect: Callable[[], Device]) -> None:
        """Raises what `connect` raises; nothing stays connected then."""
        self.job, self.connect = job, connect
        self.workers: list[Worker] = []
        self.stopped = self.hurried = False
        budget = ByteBudget(job.limit_bytes or inf)
        try:
            for index, stream in enumerate(job.streams):
                for thread in range(stream.threads):
                    self._add_thread(index, stream, thread, budget)
        except BaseException:
            self.close()
            raise

    def _add_thread(
        self, index: int, stream: JobStream, thread: int, budget: ByteBudget
    ) -> None:
        ios = IoGenerator(stream, thread, self.job.seed)
        own_bytes = stream.region_bytes // stream.threads
        if stream.pattern == "sequential":
            own_bytes = ios.end - ios.start
        own = ByteBudget(own_bytes * (self.job.passes or inf), budget)
        pause = Pause(stream) if stream.pause_ns else None
        for _ in range(stream.qd):
            self.workers.append(Worker(self.connect(), ios, own, pause, index))

    def start(self, measured_from_ns: int) -> None:
        """Begin. The I/O ends after the job's time, when stopped, or by its bytes."""
        end_ns = measured_from_ns + (self.job.run_ns or inf)
        for worker in self.workers:
            worker.measured_from_ns = measured_from_ns
            worker.is_over = lambda now_ns: self.stopped or now_ns >= end_ns
        for worker in self.workers:
            worker.start()

    def wait(self, until_ns: int) -> bool:
        """Wait for that time, or until all have ended; returns whether they have."""
        for worker in self.workers:
            while worker.is_alive() and not self.failure and not self.stopped:
                left_ns = until_ns - time.monotonic_ns()
                if left_ns <= 0:
                    return False
                worker.join(min(left_ns / 1e9, 0.1))
        return True

    @property
    def failure(self) -> Exception | None:
        """Why the run cannot go on, if it cannot."""
        return next((one.failure for one in self.workers if one.failure), None)

    @property
    def first_error(self) -> dict[str, Any] | None:
        """The first I/O that failed, if one did."""
        found = [one.first_error for one in self.workers if one.first_error]
        return min(found, key=lambda one: one[0])[1] if found else None

    def stop(self) -> None:
        """Begin no other I/O, and wait not long for those under way."""
        self.stopped = self.hurried = True

    def drain(self) -> int:
        """Wait for what is under way; returns how many I/Os never came back."""
        self.stopped, waited_s = True, 0.0
        for worker in self.workers:
            while worker.is_alive() and waited_s < self._patience_s:
                began_s = time.monotonic()
                worker.join(0.1)
                waited_s += time.monotonic() - began_s
        return sum(worker.is_alive() for worker in self.workers)

    @property
    def _patience_s(self) -> float:
        return GRACE_S if self.hurried or self.failure else PATIENCE_S

    def disconnect(self) -> None:
        """End all connections; what still waits for an answer gets an error."""
        for worker in self.workers:
            hang_up(worker.device)

    def close(self) -> None:
        """End all connections, and wait a moment for those who used them."""
        self.disconnect()
        for worker in self.workers:
            if worker.ident is not None:
                worker.join(GRACE_S)
        self.workers.clear()
