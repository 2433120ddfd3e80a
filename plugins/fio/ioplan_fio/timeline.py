"""fio's documents as events: each is cumulative, so an interval is a difference.

The result is the last document, which fio writes when all I/O has ended; the earlier
ones are not of one moment, and one whose figures contradict each other is left out. One
that comes just before the end waits for it, so that no sliver of an interval is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import starmap
from typing import Any

from ioplan.backends import (
    DIRECTIONS,
    Counts,
    Cpu,
    Direction,
    Job,
    JobStream,
    Progress,
    Result,
    StreamCounts,
)
from ioplan_fio.counts import Cumulative, interval, is_torn, latencies, summed, whole
from ioplan_fio.document import LiveJob, LiveReport
from ioplan_fio.streams import sizes

MS_NS = 1_000_000
UNEVEN_MS = 50
SHORT_MS = 100
Key = tuple[int, Direction]
FLUSH: Direction = "flush"
"""A stream's index in the job, and a direction of it."""


class Timeline:
    """A run, as far as its documents have come."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.last: LiveReport | None = None
        self.moved_bytes = 0
        self._warming = job.warmup_ns > 0
        self._t_ns = 0
        self._sums: dict[Key, Cumulative] = {}
        self._syncs = [0] * len(job.streams)
        self._warm_ios: dict[Key, int] = {}

    def add(self, report: LiveReport) -> Progress | None:
        """The interval that ends with a document; None where it has none yet."""
        self.last = report
        if not any(job.has_begun for job in report.jobs):
            return None
        if self._warming and self._is_warming(report):
            return self._warmup(report)
        if self._warming:
            self._warming, self._t_ns = False, 0
        t_ns = self._runtime_ns(report)
        end_ns, sliver_ns = self.job.run_ns, self.job.interval_ns // 2
        if t_ns <= self._t_ns or (end_ns and t_ns > end_ns - sliver_ns):
            return None
        totals = self._totals(report)
        befores = ((self._sums.get(key, Cumulative()), totals[key]) for key in totals)
        if any(starmap(is_torn, befores)):
            return None
        return self._interval(report, t_ns, totals)

    def finish(self) -> Progress | None:
        """The last interval, with what no other has; None where nothing is left."""
        if self.last is None:
            return None
        if self._warming and _has_measured(self.last):
            self._warming, self._t_ns = False, 0  # one thread did nothing at all
        if self._warming:
            return None
        t_ns = max(self._runtime_ns(self.last), self._t_ns + MS_NS)
        found = self._interval(self.last, t_ns, self._totals(self.last))
        empty = not any(s.directions or s.sync_ios for s in found.streams)
        return None if empty and self._runtime_ns(self.last) < t_ns else found

    def result(self, stopped: bool, facts: dict[str, Any]) -> Result:
        """The run as its last document has it."""
        if self.last is None or self._warming:
            nothing = tuple(StreamCounts(name=s.name) for s in self.job.streams)
            return Result(run_ns=0, stopped=stopped, streams=nothing, facts=facts)
        streams = tuple(self._total(*part) for part in self._by_stream(self.last))
        return Result(
            run_ns=max(MS_NS, self._runtime_ns(self.last)),
            stopped=stopped,
            streams=streams,
            cpu=_cpu(self.last),
            warnings=self._warnings(self.last),
            facts=facts,
        )

    def _warnings(self, report: LiveReport) -> tuple[str, ...]:
        """A thread with few I/Os notices only at its next one that time is over."""
        times_ms = list(self._times_ms(report))
        by_bytes = self.job.passes is not None or self.job.limit_bytes is not None
        low, high = min(times_ms, default=0), max(times_ms, default=0)
        warnings = []
        if high < SHORT_MS:
            warnings.append(
                f"fio tells time in whole ms, and measured for {max(1, high)} ms: its "
                f"rates are known to {100 / max(1, high):.0f} % only"
            )
        if not by_bytes and high - low > UNEVEN_MS:
            warnings.append(
                f"fio's threads measured for {low} to {high} ms, as slow ones see the "
                f"time only at their next I/O; rates are over a stream's longest"
            )
        return tuple(warnings)

    def _times_ms(self, report: LiveReport) -> Iterator[int]:
        """How long each thread was measured, and what its stream leaves of the run."""
        run_ns = self.job.run_ns or 0
        for _, stream, jobs in self._by_stream(report):
            left_out_ms = (run_ns - stream.own_ns(run_ns)) // MS_NS
            yield from (job.runtime_ms + left_out_ms for job in jobs if job.has_begun)

    def _by_stream(
        self, report: LiveReport
    ) -> Iterator[tuple[int, JobStream, list[LiveJob]]]:
        """Each stream with its threads, in the order of the job file."""
        threads = iter(report.jobs)
        for index, stream in enumerate(self.job.streams):
            yield index, stream, [next(threads) for _ in range(stream.threads)]

    def _total(
        self, index: int, stream: JobStream, jobs: list[LiveJob]
    ) -> StreamCounts:
        return StreamCounts(
            name=stream.name,
            run_ns=max(MS_NS, max(job.runtime_ms for job in jobs) * MS_NS),
            directions={
                d: whole(total).counts()
                for d in (*DIRECTIONS, FLUSH)
                if (total := _since_start(d, stream, jobs)).ios
            },
            sync_ios=self._syncs[index],
        )

    def _runtime_ns(self, report: LiveReport) -> int:
        """How long the run has gone on; of its warm-up, until that is over.

        Before I/O has begun, fio tells any time, and each job by its own start.
        """
        times_ns = [0]
        for _, stream, jobs in self._by_stream(report):
            begun = [job for job in jobs if job.has_begun]
            if (
                stream.starts_ns
            ):  # till it is measured, it tells the time of its warm-up
                begun = [job for job in begun if job.has_measured]
            times_ns += [stream.starts_ns + job.runtime_ms * MS_NS for job in begun]
        return max(times_ns)

    def _is_warming(self, report: LiveReport) -> bool:
        """Whether a thread has no latency yet, as fio counts none in a warm-up."""
        parts = self._by_stream(report)
        threads = [job for _, one, jobs in parts if not one.starts_ns for job in jobs]
        return not all(job.has_measured for job in threads if job.has_begun)

    def _totals(self, report: LiveReport) -> dict[Key, Cumulative]:
        return {
            (index, direction): _since_start(direction, stream, jobs)
            for index, stream, jobs in self._by_stream(report)
            for direction in (*DIRECTIONS, FLUSH)
        }

    def _interval(
        self, report: LiveReport, t_ns: int, totals: dict[Key, Cumulative]
    ) -> Progress:
        interval_ns, self._t_ns = t_ns - self._t_ns, t_ns
        streams = tuple(self._stream(*part, totals) for part in self._by_stream(report))
        self._sums = totals
        self.moved_bytes = sum(total.bytes for total in totals.values())
        return Progress(t_ns=t_ns, interval_ns=interval_ns, streams=streams)

    def _stream(
        self,
        index: int,
        stream: JobStream,
        jobs: list[LiveJob],
        totals: dict[Key, Cumulative],
    ) -> StreamCounts:
        parts: dict[Direction, Counts] = {}
        for direction in (*DIRECTIONS, FLUSH):
            before = self._sums.get((index, direction), Cumulative())
            parts[direction] = interval(before, totals[index, direction]).counts()
        syncs = sum(job.sync.lat.count for job in jobs)
        new_syncs, self._syncs[index] = syncs - self._syncs[index], syncs
        return StreamCounts(
            name=stream.name,
            directions={d: part for d, part in parts.items() if part.ios or part.bytes},
            sync_ios=new_syncs,
        )

    def _warmup(self, report: LiveReport) -> Progress | None:
        t_ns = self._runtime_ns(report)
        if t_ns <= self._t_ns:
            return None
        interval_ns, self._t_ns = t_ns - self._t_ns, t_ns
        return Progress(
            t_ns=t_ns,
            interval_ns=interval_ns,
            warmup=True,
            streams=tuple(self._warm(*part) for part in self._by_stream(report)),
        )

    def _warm(self, index: int, stream: JobStream, jobs: list[LiveJob]) -> StreamCounts:
        """fio keeps no latencies of a warm-up; I/Os are all that there is to show."""
        found: dict[Direction, Counts] = {}
        for direction in DIRECTIONS:
            ios = sum(job.part(direction).total_ios for job in jobs)
            new = ios - self._warm_ios.get((index, direction), 0)
            self._warm_ios[index, direction] = ios
            if new > 0:
                found[direction] = Counts(ios=new)
        return StreamCounts(name=stream.name, directions=found)


def _since_start(
    direction: Direction, stream: JobStream, jobs: list[LiveJob]
) -> Cumulative:
    if direction == FLUSH:
        return latencies([job.sync.lat for job in jobs], bytes=0)
    shares = sizes(stream, direction)
    size_bytes = shares[0].size_bytes if len(shares) == 1 else None
    return summed(jobs, direction, size_bytes)


def _has_measured(report: LiveReport) -> bool:
    return any(job.has_measured for job in report.jobs)


def _cpu(report: LiveReport) -> Cpu:
    """Percent of the run time of each thread; the kernel's workers are not in it."""
    user = sum(job.user_percent * job.runtime_ms for job in report.jobs)
    system = sum(job.system_percent * job.runtime_ms for job in report.jobs)
    return Cpu(user_ns=round(user * MS_NS / 100), system_ns=round(system * MS_NS / 100))
