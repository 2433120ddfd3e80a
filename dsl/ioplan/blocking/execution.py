"""A run: workers do the I/O, which is counted, and its events come out."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from ioplan.backends import BackendError, TargetFacts
from ioplan.blocking.gaps import find_gaps
from ioplan.blocking.threads import Device, Done, WorkerPool
from ioplan.core.context import Closing
from ioplan.core.system import resource
from ioplan.job import Cpu, Event, Failure, Job, Progress, Result, Started, StreamCounts
from ioplan.job_refusal import refusal
from ioplan.results.measure.histogram import BITS, bucket_count
from ioplan.results.measure.tally import Bins, CountsBuilder, StreamCountsBuilder
from ioplan.runner.guard.target import TargetError
from ioplan.workload import Direction


class BlockingExecution(Closing):
    """One run. The I/O begins when its events are first asked for."""

    def __init__(
        self, job: Job, facts: TargetFacts, connect: Callable[[], Device]
    ) -> None:
        self.job, self.facts, self.connect = job, facts, connect
        self.pool: WorkerPool | None = None
        self.stopped = False

    def stop(self) -> None:
        """Let no worker begin another I/O."""
        self.stopped = True
        if self.pool:
            self.pool.stop()

    def kill(self) -> None:
        """Cut all connections, and with them what waits for an answer."""
        self.stop()
        if self.pool:
            self.pool.disconnect()

    def close(self) -> None:
        """End the I/O and the connections."""
        self.stop()
        if self.pool:
            self.pool.drain()
            self.pool.close()

    def __iter__(self) -> Iterator[Event]:
        """Events up to Result or Failure."""
        failure = refusal(self.job, self.facts, find_gaps(self.job))
        if failure:
            yield failure
            return
        try:
            self.pool = pool = WorkerPool(self.job, self.connect)
        except (OSError, TargetError, BackendError) as error:
            yield Failure(cause="open", message=f"cannot connect: {error}")
            return
        if self.stopped:
            pool.stop()
        yield Started(mode="blocking", facts={"connections": len(pool.workers)})
        yield from self._run(pool)

    def _run(self, pool: WorkerPool) -> Iterator[Event]:
        self.tallies = [StreamTally(stream.name) for stream in self.job.streams]
        start_ns = time.monotonic_ns()
        self.measured_ns = start_ns + self.job.warmup_ns
        pool.start(self.measured_ns)
        if self.job.warmup_ns:
            yield from self._part(pool, start_ns, self.measured_ns)
        before = resource.getrusage(resource.RUSAGE_SELF)
        end_ns = self.measured_ns + (self.job.run_ns or 1 << 62)
        yield from self._part(pool, self.measured_ns, end_ns)
        yield from self._end(pool, before)

    def _part(self, pool: WorkerPool, start_ns: int, end_ns: int) -> Iterator[Progress]:
        """The warm-up or the measured part, but for what comes back last."""
        now_ns, warm = start_ns, start_ns < self.measured_ns
        while now_ns < end_ns:
            next_ns = min(now_ns + self.job.interval_ns, end_ns)
            over = pool.wait(next_ns)
            if over or (next_ns == end_ns and not warm):
                break
            yield self._progress(pool, next_ns - start_ns, next_ns - now_ns, warm)
            now_ns = next_ns
        self.last_ns = now_ns

    def _progress(
        self, pool: WorkerPool, t_ns: int, interval_ns: int, warm: bool
    ) -> Progress:
        self._collect(pool, warm)
        return Progress(
            t_ns=t_ns,
            interval_ns=interval_ns,
            warmup=warm,
            streams=tuple(tally.end_interval(keep=not warm) for tally in self.tallies),
        )

    def _collect(self, pool: WorkerPool, warm: bool) -> None:
        """Count what is done. What ends in the warm-up belongs to it."""
        for worker in pool.workers:
            for _ in range(len(worker.done)):
                if warm and worker.done[0].end_ns > self.measured_ns:
                    break
                done = worker.done.popleft()
                if warm or done.end_ns > self.measured_ns:
                    self.tallies[worker.stream_index].add(done)

    def _end(self, pool: WorkerPool, before: resource.struct_rusage) -> Iterator[Event]:
        stopped = self.stopped
        lost = pool.drain()
        if pool.failure:
            yield _failure(pool.failure)
            return
        now_ns = time.monotonic_ns()
        last_ns = max(self.last_ns, self.measured_ns)
        if now_ns > last_ns:
            t_ns = now_ns - self.measured_ns
            yield self._progress(pool, t_ns, now_ns - last_ns, warm=False)
        yield Result(
            run_ns=max(0, now_ns - self.measured_ns),
            stopped=stopped,
            streams=tuple(tally.run.counts() for tally in self.tallies),
            cpu=_cpu_since(before),
            warnings=(f"{lost} I/Os did not come back",) if lost else (),
            facts={"first_error": pool.first_error} if pool.first_error else {},
        )


def _failure(error: Exception) -> Failure:
    if isinstance(error, OSError):
        text = f"the target is lost: {error}; see whether it is still there"
        return Failure(cause="target-lost", message=text)
    text = f"the backend failed: {type(error).__name__}: {error}"
    return Failure(cause="backend-error", message=text)


def _cpu_since(before: resource.struct_rusage) -> Cpu:
    now = resource.getrusage(resource.RUSAGE_SELF)
    return Cpu(
        user_ns=round((now.ru_utime - before.ru_utime) * 1e9),
        system_ns=round((now.ru_stime - before.ru_stime) * 1e9),
    )


class StreamTally:
    """A stream in one interval, and in the run so far."""

    def __init__(self, name: str) -> None:
        self.done: dict[Direction, list[Done]] = defaultdict(list)
        self.run = StreamCountsBuilder(name)

    def add(self, done: Done) -> None:
        """Count an I/O."""
        self.done[done.direction].append(done)

    def end_interval(self, keep: bool) -> StreamCounts:
        """What has come since the last call; kept as part of the run, or forgotten."""
        counts = {direction: _counts(done) for direction, done in self.done.items()}
        self.done.clear()
        interval = StreamCountsBuilder(self.run.name, directions=counts)
        if keep:
            self.run.merge(interval)
        return interval.counts()


def _counts(done: list[Done]) -> CountsBuilder:
    good = [one for one in done if one.latency_ns >= 0]
    counts = CountsBuilder(ios=len(good), errors=len(done) - len(good))
    if good:
        values_ns = np.array([one.latency_ns for one in good], dtype=np.int64)
        counts.bytes = sum(one.size_bytes for one in good)
        counts.min_ns, counts.max_ns = int(values_ns.min()), int(values_ns.max())
        counts.sum_ns = int(values_ns.sum())
        counts.sum_sq_ns2 = float((values_ns.astype(np.float64) ** 2).sum())
        counts.bins = binned(values_ns)
    return counts


def binned(values_ns: npt.NDArray[np.int64]) -> Bins:
    """`bucket_index` of many values at once; it has the formula."""
    _, bits = np.frexp(values_ns.astype(np.float64))
    shift = np.maximum(bits.astype(np.int64) - 1 - BITS, 0)
    index = (shift << BITS) + (values_ns >> shift)
    return np.bincount(index, minlength=bucket_count()).astype(np.int64)
