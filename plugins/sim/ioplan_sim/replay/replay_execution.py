"""A run of traces: virtual time passes from I/O to I/O, and events come out."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from heapq import heappop, heappush
from math import inf

import numpy as np

from ioplan.backends import (
    CountsBuilder,
    Gap,
    Job,
    Prepared,
    StreamCounts,
    StreamCountsBuilder,
    TargetFacts,
    chunks,
    numbers_at,
    selection_of,
    trace_of,
)
from ioplan_sim.execution import SimExecution
from ioplan_sim.io_source import DRAWS, IoSource
from ioplan_sim.latency import EDGES, MIDDLES, Ints
from ioplan_sim.queue_model import ARRIVED, Condition, Event, QueueModel, Write
from ioplan_sim.replay.replay_source import FuaKind, ReplayedSource
from ioplan_sim.spec import MAP_BYTES
from ioplan_sim.ssd import SPARE_TIME_SHARE, Ssd

# The drive at work on traces: each I/O at its time, through the drive's queues.


class ReplayModel(QueueModel):
    """Follows every I/O. The buffer is empty at first."""

    sources: Sequence[ReplayedSource]
    last_ns = 0.0
    """When an I/O was complete last."""

    def _fill(self, rng: np.random.Generator) -> None:
        """What a run finds is a drive at rest."""

    def begin(self, source: IoSource) -> None:
        """Wait for the first I/O."""
        self._push(float(source.load.stream.starts_ns), ARRIVED, source)

    def follow(self, until_ns: float) -> None:
        """Let happen what happens before a time, or until all I/Os are complete."""
        events, handlers = self.events, self.handlers
        while events and events[0][0] < until_ns:
            time_ns, _, what, about = heappop(events)
            caused = handlers[what](time_ns, about)
            if caused:
                heappush(events, caused)

    @property
    def is_over(self) -> bool:
        """Whether all I/Os of all traces are complete."""
        return all(source.is_over for source in self.sources)

    def _arrived(self, now_ns: float, source: IoSource) -> Event | None:
        assert isinstance(source, ReplayedSource)
        source.awaited = False
        return self._start_due(now_ns, source)

    def _freed(self, now_ns: float, source: IoSource) -> Event | None:
        assert isinstance(source, ReplayedSource)
        self.finished += 1
        self.last_ns = now_ns
        source.free += 1
        return self._start_due(now_ns, source)

    def _start_due(self, now_ns: float, source: ReplayedSource) -> Event | None:
        """Issue what is due, as far as there are places, or wait for the next one."""
        caused: Event | None = None
        while source.free:
            due_ns = source.next_due_ns()
            if due_ns > now_ns:
                if due_ns < inf and not source.awaited:
                    source.awaited = True
                    self._push(due_ns, ARRIVED, source)
                return caused
            if caused:
                heappush(self.events, caused)
            source.free -= 1
            intended_ns = now_ns if source.fast else due_ns
            source.late_ns.append(now_ns - intended_ns)
            caused = self._issue(now_ns, source, intended_ns)
        return caused

    def _issue(self, now_ns: float, source: IoSource, intended_ns: float) -> Event:
        """A flush takes its time whatever else goes on."""
        number = source.number % DRAWS
        choice = source.choice[number]
        if source.kinds[choice].direction != "flush":
            return super()._issue(now_ns, source, intended_ns)
        source.number += 1
        done_ns = now_ns + source.delays_ns[number] + self.spec.buffer.flush
        return self._done(done_ns, source, source.samples[choice], intended_ns)

    def _accept(self, now_ns: float, write: Write) -> Event:
        """What has FUA is on the flash when it is acknowledged."""
        done_ns, serial, what, source = super()._accept(now_ns, write)
        if isinstance(write[1], FuaKind):
            write[2][-1] += self.spec.buffer.flush
            done_ns += self.spec.buffer.flush
        return done_ns, serial, what, source


STEP_NS = 100_000_000
"""The state of the drive is taken to be the same for so long."""
WITHIN_NS = {"within_100us": 100_000, "within_1ms": 1_000_000}


class ReplayExecution(SimExecution):
    """Streams that all replay traces, each I/O followed through the drive."""

    def __init__(self, job: Job, facts: TargetFacts, ssd: Ssd) -> None:
        """Raises BackendError for a trace that is gone."""
        self.traces = [trace_of(stream) for stream in job.streams]
        super().__init__(job, facts, ssd)

    def _begin(self) -> None:
        super()._begin()
        pairs = zip(self._loads, self.traces, strict=True)
        self._sources = [
            ReplayedSource(
                load,
                chunks(trace, load.stream, MAP_BYTES),
                self.ssd,
                self._rng,
            )
            for load, trace in pairs
        ]
        self._late = [Lateness() for _ in self._sources]
        self._model = ReplayModel(
            self.ssd.spec, self._sources, self._condition(), self._rng
        )
        for source in self._sources:
            self._model.begin(source)

    def _condition(self) -> Condition:
        flash = self.ssd.flash
        cached = flash.cache_room_pages > 0 and not self.ssd.spec.flash.in_place
        return Condition(0.0 if cached else flash.copies, cached, ())

    def _goes_on(self) -> bool:
        return not (self.stopped or self._model.is_over)

    def _interval(self, longest_ns: float) -> tuple[int, tuple[StreamCounts, ...]]:
        length_ns = int(min(self.job.interval_ns, longest_ns))
        spent_ns, parts = 0, self._builders()
        while spent_ns < length_ns and self._goes_on():
            spent_ns += self._step(min(STEP_NS, length_ns - spent_ns), parts)
        for total, part in zip(self._total, parts, strict=True):
            total.merge(part)
        return spent_ns, tuple(part.counts() for part in parts)

    def _step(self, longest_ns: int, parts: list[StreamCountsBuilder]) -> int:
        """Let so much time pass, or less at the end of the traces."""
        model, before_ns = self._model, self._now_ns
        model.follow(before_ns + longest_ns)
        spent_ns = longest_ns
        if model.is_over:
            spent_ns = max(1, min(longest_ns, round(model.last_ns) - before_ns))
        self._now_ns += spent_ns
        rows = zip(self._sources, parts, self._late, self.traces, strict=True)
        work_ns = 0.0
        for source, part, late, trace in rows:
            work_ns += self._work_ns(*source.settle())
            collect(source, part)
            late.add(source.late_ns)
            part.backlog_ios = self._backlog(source, trace)
        spare = max(0.0, 1 - 2 * work_ns / spent_ns)
        self.ssd.rest(spent_ns, spare * SPARE_TIME_SHARE)
        model.set_condition(self._condition())
        return spent_ns

    def _work_ns(self, written_pages: float, reads: float) -> float:
        """How long all dies are busy with that."""
        spec, flash = self.ssd.spec, self.ssd.flash
        writing_ns = spec.program_ns() + flash.copies * spec.copy_ns()
        return written_pages * writing_ns + reads * spec.flash.read / spec.flash.dies

    def _backlog(self, source: ReplayedSource, trace: Prepared) -> int:
        """What is due and not issued; of a selection, its share of what is due."""
        stream = source.load.stream
        if source.fast or stream.replay is None:
            return 0
        first, last = selection_of(stream).numbers(trace)
        since_ns = (min(self._now_ns, source.ends_ns) - source.base_ns) * source.speed
        at_ns = int(trace.ios["time_ns"][first]) + max(0, round(since_ns))
        (due,) = numbers_at(trace.path, last, [at_ns])
        share = stream.replay.ios / (last - first)
        return max(0, round((due - first) * share) - source.number)

    def _facts(self, prefix: str = "") -> dict[str, object]:  # type: ignore[override]
        """The state of the drive, and how late the I/Os were issued."""
        found: dict[str, object] = {**super()._facts(prefix)}
        late = {
            source.load.stream.name: one.facts()
            for source, one in zip(self._sources, self._late, strict=True)
            if one.ios and not source.fast
        }
        return {**found, "lateness": late} if late and not prefix else found


def collect(source: ReplayedSource, part: StreamCountsBuilder) -> None:
    """Count what was issued, by kind, and forget it."""
    for kind, sample in zip(source.kinds, source.samples, strict=True):
        if sample:
            count(part.direction(kind.direction), sample, kind.size_bytes)
            del sample[:]


def count(counts: CountsBuilder, sample: array[float], size_bytes: int) -> None:
    """Add I/Os of a size with these latencies, in ns."""
    latencies: Ints = np.rint(np.array(sample)).astype(np.int64)
    least, most = int(latencies.min()), int(latencies.max())
    counts.min_ns = min(counts.min_ns, least) if counts.ios else least
    counts.max_ns = max(counts.max_ns, most)
    counts.ios += len(sample)
    counts.bytes += len(sample) * size_bytes
    counts.sum_ns += int(latencies.sum())
    counts.sum_sq_ns2 += float((latencies.astype(float) ** 2).sum())
    buckets, numbers = np.unique(_buckets(latencies), return_counts=True)
    counts.bins[buckets] += numbers


def _buckets(values_ns: Ints) -> Ints:
    return np.asarray(np.searchsorted(EDGES, values_ns, "right"))


class Lateness:
    """How much later than intended I/Os were issued: as the engine says it."""

    def __init__(self) -> None:
        self.bins = np.zeros(len(MIDDLES), np.int64)
        self.within = dict.fromkeys(WITHIN_NS, 0)
        self.ios, self.max_ns, self.last_ns = 0, 0.0, 0.0

    def add(self, late_ns: array[float]) -> None:
        """Add I/Os in their order, and forget them."""
        if not late_ns:
            return
        found = np.array(late_ns)
        self.bins += np.bincount(_buckets(found.astype(int)), minlength=len(self.bins))
        for name, limit_ns in WITHIN_NS.items():
            self.within[name] += int((found <= limit_ns).sum())
        self.ios += len(found)
        self.max_ns = max(self.max_ns, float(found.max()))
        self.last_ns = float(found[-1])
        del late_ns[:]

    def _percentile(self, share: float) -> int:
        place = int(np.searchsorted(np.cumsum(self.bins), self.ios * share))
        return min(int(MIDDLES[place]), round(self.max_ns))

    def facts(self) -> dict[str, float]:
        """In ns, and shares from 0 to 1."""
        return {
            "ios": self.ios,
            "p50_ns": self._percentile(0.5),
            "p99_ns": self._percentile(0.99),
            "max_ns": round(self.max_ns),
            "drift_ns": round(self.last_ns),
            **{name: one / max(1, self.ios) for name, one in self.within.items()},
        }


def gaps_of(job: Job) -> list[Gap]:
    """What of a replay the drive cannot do: it follows each I/O, and has no slices of
    time for other streams."""
    replays = [stream.name for stream in job.streams if stream.replay]
    if not replays:
        return []
    if len(replays) < len(job.streams):
        reason = "it replays no trace beside other streams; use io_uring"
        return [Gap(stream=replays[0], field="replay", reason=reason)]
    reason = "a simulated replay does not count I/Os by phases of a run; use io_uring"
    return [Gap(stream=replays[0], field="during", reason=reason)] * bool(job.phases)
