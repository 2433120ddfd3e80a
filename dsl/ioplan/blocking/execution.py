"""A run: the crew does the I/O, and its events come out."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator

from ioplan.backends import BackendError, TargetFacts
from ioplan.blocking.device import Device
from ioplan.blocking.gaps import find_gaps
from ioplan.blocking.tally import StreamTally
from ioplan.blocking.threads import Crew
from ioplan.core.context import Closing
from ioplan.guard.target import TargetError
from ioplan.job import Cpu, Event, Failure, Job, Progress, Result, Started
from ioplan.job_refusal import refusal


class BlockingExecution(Closing):
    """One run. The I/O begins when its events are first asked for."""

    def __init__(
        self, job: Job, facts: TargetFacts, connect: Callable[[], Device]
    ) -> None:
        self.job, self.facts, self.connect = job, facts, connect
        self.crew: Crew | None = None
        self.stopped = False

    def stop(self) -> None:
        """Let no slot begin another I/O."""
        self.stopped = True
        if self.crew:
            self.crew.hurry()

    def kill(self) -> None:
        """Cut all connections, and with them what waits for an answer."""
        self.stop()
        if self.crew:
            self.crew.cut()

    def close(self) -> None:
        """End the I/O and the connections."""
        self.stop()
        if self.crew:
            self.crew.end()
            self.crew.close()

    def __iter__(self) -> Iterator[Event]:
        """Events up to Result or Failure."""
        failure = refusal(self.job, self.facts, find_gaps(self.job))
        if failure:
            yield failure
            return
        try:
            self.crew = crew = Crew(self.job, self.connect)
        except (OSError, TargetError, BackendError) as error:
            yield Failure(cause="open", message=f"cannot connect: {error}")
            return
        if self.stopped:
            crew.hurry()
        yield Started(mode="blocking", facts={"connections": len(crew.slots)})
        yield from self._run(crew)

    def _run(self, crew: Crew) -> Iterator[Event]:
        self.tallies = [StreamTally(stream.name) for stream in self.job.streams]
        start_ns = time.monotonic_ns()
        self.measured_ns = start_ns + self.job.warmup_ns
        crew.start(self.measured_ns)
        if self.job.warmup_ns:
            yield from self._part(crew, start_ns, self.measured_ns)
        before = resource.getrusage(resource.RUSAGE_SELF)
        end_ns = self.measured_ns + (self.job.run_ns or 1 << 62)
        yield from self._part(crew, self.measured_ns, end_ns)
        yield from self._end(crew, before)

    def _part(self, crew: Crew, start_ns: int, end_ns: int) -> Iterator[Progress]:
        """The warm-up or the measured part, but for what comes back last."""
        at_ns, warm = start_ns, start_ns < self.measured_ns
        while at_ns < end_ns:
            next_ns = min(at_ns + self.job.interval_ns, end_ns)
            over = crew.wait(next_ns)
            if over or (next_ns == end_ns and not warm):
                self.last_ns = at_ns
                return
            yield self._progress(crew, at_ns - start_ns, next_ns - at_ns, warm)
            at_ns = next_ns
        self.last_ns = at_ns

    def _progress(self, crew: Crew, t_ns: int, part_ns: int, warm: bool) -> Progress:
        self._take(crew, warm)
        return Progress(
            t_ns=t_ns + part_ns,
            interval_ns=part_ns,
            warmup=warm,
            streams=tuple(tally.taken(keep=not warm) for tally in self.tallies),
        )

    def _take(self, crew: Crew, warm: bool) -> None:
        """Count what is done. What ends in the warm-up belongs to it."""
        for slot in crew.slots:
            for _ in range(len(slot.done)):
                if warm and slot.done[0][3] > self.measured_ns:
                    break
                done = slot.done.popleft()
                if warm or done[3] > self.measured_ns:
                    self.tallies[slot.place].add(done)

    def _end(self, crew: Crew, before: resource.struct_rusage) -> Iterator[Event]:
        asked = self.stopped
        lost = crew.end()
        if crew.failed:
            yield _failure(crew.failed)
            return
        now_ns = time.monotonic_ns()
        if now_ns > max(self.last_ns, self.measured_ns):
            start_ns = max(self.last_ns, self.measured_ns)
            t_ns = start_ns - self.measured_ns
            yield self._progress(crew, t_ns, now_ns - start_ns, warm=False)
        yield Result(
            run_ns=max(0, now_ns - self.measured_ns),
            stopped=asked,
            streams=tuple(tally.total() for tally in self.tallies),
            cpu=_spent(before),
            warnings=(f"{lost} I/Os did not come back",) if lost else (),
            facts={"first_error": crew.first_error} if crew.first_error else {},
        )


def _failure(error: Exception) -> Failure:
    if isinstance(error, OSError):
        text = f"the target is lost: {error}; see whether it is still there"
        return Failure(cause="target-lost", message=text)
    text = f"the backend failed: {type(error).__name__}: {error}"
    return Failure(cause="backend-error", message=text)


def _spent(before: resource.struct_rusage) -> Cpu:
    now = resource.getrusage(resource.RUSAGE_SELF)
    return Cpu(
        user_ns=round((now.ru_utime - before.ru_utime) * 1e9),
        system_ns=round((now.ru_stime - before.ru_stime) * 1e9),
    )
