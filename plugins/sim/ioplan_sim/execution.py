"""A run: virtual time passes slice by slice, and events come out."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, inf

import numpy as np

from ioplan.backends import (
    SECOND_NS,
    SYNCS,
    Closing,
    Event,
    Job,
    Progress,
    Result,
    Started,
    StreamCounts,
    StreamCountsBuilder,
    TargetFacts,
    Wear,
    refusal,
)
from ioplan_sim.latency import Ints, count_drawn, spread, thinned
from ioplan_sim.limits import Limits
from ioplan_sim.load import StreamLoad
from ioplan_sim.phase_counts import Names, PhaseCounts, Split, StreamPart, shares_of
from ioplan_sim.queue_model import Condition
from ioplan_sim.ssd import PARTS, SPARE_TIME_SHARE, Ssd

NOISE, ERRORS = 0.005, 3.0
"""Relative deviation of the drive's speed from one interval to the next, at least; and
so many standard errors of the batch that it was found by. So the deviation of the
intervals contains the error of the run, which varies by one such error itself."""


def fit(ios: Ints, sizes_bytes: Ints, limit_bytes: float) -> None:
    """Add or take away I/Os, large ones first, until they just reach the limit."""
    excess = int(ios @ sizes_bytes) - ceil(limit_bytes)
    for kind in np.argsort(-sizes_bytes):
        step = min(int(ios[kind]), excess // int(sizes_bytes[kind]))
        ios[kind] -= step
        excess -= step * int(sizes_bytes[kind])


def _cut(
    load: StreamLoad,
    part: StreamCountsBuilder,
    place: int,
    ios: int,
    cut_bytes: int,
    split: Split,
) -> int:
    """Take from what I/Os of a kind have moved what the ends of passes cut from them,
    and return it."""
    kind = load.kinds[place]
    taken = min(cut_bytes, ios * (kind.size_bytes - 1))
    for one in (part, *(split[-1][0] if split else ())):
        one.direction(kind.direction).bytes -= taken
    if kind.direction == "read" and load.stream.verify:
        part.verified_bytes -= taken
    return taken


class SimExecution(Closing):
    """One run on a drive. All chance comes from the seed and the drive's clock."""

    never_waits = True

    def __init__(self, job: Job, facts: TargetFacts, ssd: Ssd) -> None:
        self.job, self.facts, self.ssd = job, facts, ssd
        self.stopped = False
        self._by_phase = PhaseCounts(job)
        self._left_bytes = inf
        self._events = self._run()

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def kill(self) -> None:
        """Stop: virtual time has nothing that hangs."""
        self.stop()

    def stop(self) -> None:
        """End at the present virtual time; the Result still comes."""
        self.stopped = True

    def close(self) -> None:
        """Nothing is held."""
        self.stop()

    def _run(self) -> Iterator[Event]:
        failure = refusal(self.job, self.facts)
        if failure:
            yield failure
            return
        self._begin()
        facts = self._facts("before_")
        yield Started(mode="virtual", reason="simulated", facts=facts)
        yield from self._part(self.job.warmup_ns, warmup=True)
        yield from self._part(self.job.run_ns or inf, warmup=False)
        self._set_own_times()
        yield Result(
            run_ns=self._time_ns,
            stopped=self.stopped,
            streams=tuple(total.counts() for total in self._total),
            phases=self._by_phase.result(),
            wear=self._wear(),
            facts=self._facts(),
        )

    def _set_own_times(self) -> None:
        """A stream with a part of the run has a time of its own."""
        for load, total, part in zip(
            self._loads, self._total, self._parts, strict=True
        ):
            if load.stream.starts_ns or load.stream.ends_ns is not None:
                total.run_ns = round(part.measured_ns(self._now_ns))

    def _begin(self) -> None:
        job, ssd = self.job, self.ssd
        self._rng = np.random.default_rng((job.seed, ssd.clock_ns))
        self._loads = [
            StreamLoad(
                stream,
                ssd.placement(stream, self._rng),
                stream.own_ns(job.run_ns or 0),
                ssd.spec.flash.map,
            )
            for stream in job.streams
        ]
        self._parts = [StreamPart.of(stream, job) for stream in job.streams]
        self._now_ns = 0  # since the start of the warm-up
        self._speeds = ssd.speeds(job)
        self._run_deviation = self._rng.normal()
        self._limits = Limits(ssd.spec)
        self._before = ssd.flash.host_pages, ssd.flash.programmed_pages
        self._logged_before = ssd.logged()
        self._began_ns = ssd.clock_ns
        self._written_pages = 0.0
        self._sampled_every = 1.0

    def _facts(self, prefix: str = "") -> dict[str, float | str]:
        """The state of the drive, before the run or after it."""
        found = {f"{prefix}{name}": value for name, value in self.ssd.facts().items()}
        if not prefix:
            found["write_amplification"] = round(self._amplification(), 4)
        return found

    def _amplification(self) -> float:
        """Pages programmed for each that the host wrote in this run."""
        flash, (host, programmed) = self.ssd.flash, self._before
        written = flash.host_pages - host
        return (flash.programmed_pages - programmed) / written if written else 1.0

    def _wear(self) -> Wear:
        """What the drive's log says, without rounding if the drive file has none."""
        ssd, (host_before, media_before) = self.ssd, self._logged_before
        host, media = ssd.logged()
        return Wear(
            source="simulated",
            span_s=(ssd.clock_ns - self._began_ns) / SECOND_NS,
            host_written_bytes=host - host_before,
            media_written_bytes=media - media_before,
            capacity_bytes=self.facts.capacity_bytes,
        )

    def _part(self, end_ns: float, warmup: bool) -> Iterator[Progress]:
        """The warm-up, which only time ends, or the measured part with its limits."""
        self._total = self._builders()
        self._time_ns = 0
        if not warmup:
            self._set_limits()
        while self._time_ns < end_ns and self._goes_on():
            spent_ns, streams = self._interval(end_ns - self._time_ns)
            self._time_ns += spent_ns
            yield Progress(
                t_ns=self._time_ns,
                interval_ns=spent_ns,
                warmup=warmup,
                streams=streams,
                wear=self._wear(),
            )

    def _set_limits(self) -> None:
        self._left_bytes = self.job.limit_bytes or inf
        for load in self._loads:
            if self.job.passes:
                load.cover(self.job.passes, self.job.block_bytes)

    def _goes_on(self) -> bool:
        unfinished = any(load.left_bytes > 0 for load in self._loads)
        return unfinished and self._left_bytes > 0 and not self.stopped

    def _interval(self, longest_ns: float) -> tuple[int, tuple[StreamCounts, ...]]:
        length_ns, spent_ns = int(min(self.job.interval_ns, longest_ns)), 0
        self._noise = self._rng.normal()
        parts = self._builders()
        while spent_ns < length_ns and self._goes_on():
            time_ns = self._slice(length_ns - spent_ns, parts)
            spent_ns += time_ns
            self._now_ns += time_ns
        for total, part in zip(self._total, parts, strict=True):
            total.merge(part)
        return spent_ns, tuple(part.counts() for part in parts)

    def _builders(self) -> list[StreamCountsBuilder]:
        return [StreamCountsBuilder(load.stream.name) for load in self._loads]

    def _slice(self, longest_ns: int, parts: list[StreamCountsBuilder]) -> int:
        """Let the drive work while it hardly changes; returns for how long."""
        pairs = list(self._active(parts))
        loads = [load for load, _ in pairs]
        changes_ns = (part.next_change_ns(self._now_ns) for part in self._parts)
        rates_ns = (load.unchanged_ns for load in loads)
        phase_ns = self._by_phase.next_change_ns(self._now_ns)
        longest_ns = ceil(min(longest_ns, *changes_ns, *rates_ns, phase_ns))
        if not loads:
            self.ssd.rest(longest_ns)
            return longest_ns
        self._set_pace(loads)
        time_ns = max(1, ceil(min(longest_ns, self._steady_ns(loads))))
        waits_ns, drawn = self._drawn(loads, time_ns)
        done = self._limits.bound(drawn, loads, time_ns)
        rows = zip(pairs, waits_ns, drawn, done, strict=True)
        for (load, part), wait_ns, asked, ios in rows:
            load.put_off(int(asked.sum() - ios.sum()))
            self._advance(load, part, ios, wait_ns)
        spare_share = max(0.0, 1 - 2 * self.ssd.work(loads)) * SPARE_TIME_SHARE
        self.ssd.rest(time_ns, spare_share)
        return time_ns

    def _active(
        self, parts: list[StreamCountsBuilder]
    ) -> Iterator[tuple[StreamLoad, StreamCountsBuilder]]:
        """The streams that do I/O now, each with what counts it."""
        warming_up = self._now_ns < self.job.warmup_ns
        for load, counts, part in zip(self._loads, parts, self._parts, strict=True):
            if load.left_bytes > 0 and part.is_active(self._now_ns):
                load.set_time(self._now_ns - part.measured_from_ns)
                counted = warming_up or part.is_measured(self._now_ns)
                yield load, counts if counted else StreamCountsBuilder(counts.name)

    def _set_pace(self, loads: list[StreamLoad]) -> None:
        """Ask how fast the streams are on the drive as it is now."""
        flash, spec = self.ssd.flash, self.ssd.spec
        writing = any(load.written_pages for load in loads)
        cached = writing and flash.cache_room_pages > 0 and not spec.flash.in_place
        condition = Condition(
            copies=flash.copies if writing and not cached else 0.0,
            cached=cached,
            stored=tuple(self._stored(load) for load in loads),
        )
        paces = self._speeds.at(loads, condition)
        deviation = max(pace.deviation for pace in paces)
        slower = 1 + self._noise * max(NOISE, ERRORS * deviation)
        slower += self._run_deviation * deviation
        for load, pace, stored in zip(loads, paces, condition.stored, strict=True):
            load.set_pace(pace, max(0.5, slower))
            self._limits.set_costs(load, condition, stored[0])
        self._limits.slow(loads)

    def _stored(self, load: StreamLoad) -> tuple[float, float]:
        """How much of what the stream reads is stored, and in what pieces."""
        if not load.read_share:
            return 1.0, 1.0
        written, drive = self.ssd.flash.host_pages, self.ssd.shape.pages
        if load.stored is None or written > load.stored_at_pages + drive / PARTS:
            first, count = load.placement.first, load.placement.count
            load.stored = self.ssd.flash.stored(first, first + count)
            load.stored_at_pages = written
        return load.stored

    def _steady_ns(self, loads: list[StreamLoad]) -> float:
        """Until the drive's speed changes or a limit is reached."""
        writing = sum(load.pace_per_ns * load.written_pages for load in loads)
        passes_ns = max(load.left_bytes / load.bytes_per_ns for load in loads)
        limit_ns = self._left_bytes / sum(load.bytes_per_ns for load in loads)
        self._sampled_every = self.ssd.sampled_every(self._written_pages)
        changed_ns = self.ssd.horizon_ns(writing, self._sampled_every)
        return min(changed_ns, passes_ns, limit_ns)

    def _drawn(
        self, loads: list[StreamLoad], time_ns: int
    ) -> tuple[list[float], list[Ints]]:
        """How long the streams' I/Os wait for issue, and how many come of each kind."""
        waits_ns, drawn, left_bytes = [], [], self._left_bytes
        for index, load in enumerate(loads):
            # What one stream moves too much or too little, the next ones make up.
            rest = sum(other.bytes_per_ns for other in loads[index:])
            limit_bytes = left_bytes * load.bytes_per_ns / rest  # all for the last one
            limit_bytes = min(load.left_bytes, limit_bytes)
            counts, wait_ns = load.drawn(time_ns, self._rng)
            expected_bytes = load.bytes_per_ns * time_ns + load.mean_bytes
            if max(expected_bytes, counts @ load.sizes_bytes) >= limit_bytes:
                fit(counts, load.sizes_bytes, limit_bytes)
            left_bytes -= int(counts @ load.sizes_bytes)
            waits_ns.append(wait_ns)
            drawn.append(counts)
        return waits_ns, drawn

    def _advance(
        self, load: StreamLoad, part: StreamCountsBuilder, counts: Ints, wait_ns: float
    ) -> None:
        """Do one stream's I/O of a slice."""
        done_bytes = int(counts @ load.sizes_bytes)
        split = self._by_phase.split(load, self._phases(load), int(counts.sum()))
        load.left_bytes -= done_bytes
        cut_bytes = load.cut_bytes(int(counts.sum()))
        self._left_bytes -= done_bytes - cut_bytes
        for place, count in enumerate(counts.tolist()):
            if count:
                took_ns = self._count(load, part, place, count, wait_ns, split)
                mean_ns = load.pace.curves[place].mean_ns * load.factor
                load.ahead_ns += took_ns - count * (mean_ns + wait_ns)
                cut_bytes -= _cut(load, part, place, count, cut_bytes, split)
        part.backlog_ios = load.late_ios

    def _phases(self, load: StreamLoad) -> Names:
        """Those that it is measured in."""
        part = next(
            p for o, p in zip(self._loads, self._parts, strict=True) if o is load
        )
        measured = part.is_measured(self._now_ns)
        return self._by_phase.names(self._now_ns) if measured else ()

    def _count(
        self,
        load: StreamLoad,
        part: StreamCountsBuilder,
        place: int,
        ios: int,
        wait_ns: float,
        split: Split,
    ) -> int:
        """Count I/Os of a kind, with what they do to the drive; the sum of their
        latencies."""
        kind = load.kinds[place]
        offset = int(self._rng.integers(1024)) / 1024  # so ios + offset is exact
        curve = load.pace.curves[place]
        drawn = spread(ios, curve, load.factor, wait_ns, offset)
        counts = part.direction(kind.direction)
        before_ns = counts.sum_ns
        count_drawn(counts, ios, kind.size_bytes, *drawn)
        first, left = drawn
        for counters, some in shares_of(split, ios):
            own = thinned(left, some, offset)
            left = left - own
            for one in counters:
                direction = one.direction(kind.direction)
                count_drawn(direction, some, kind.size_bytes, first, own)
        self.ssd.take(load, kind, ios, self._sampled_every)
        if kind.direction == "write":
            self._written_pages += ios * kind.pages
            self._count_flushes(load, part, load.flushes(ios), wait_ns, offset)
        if kind.direction == "read" and load.stream.verify:
            part.verified_bytes += ios * kind.size_bytes  # what was written is there
        return counts.sum_ns - before_ns

    def _count_flushes(
        self,
        load: StreamLoad,
        part: StreamCountsBuilder,
        flushes: int,
        wait_ns: float,
        offset: float,
    ) -> None:
        """Count flushes and commits; a commit began when its first write was due."""
        ((others, _),) = self._by_phase.current(load, self._phases(load))
        if flushes:
            for one in (part, *others):
                one.sync_ios += flushes
            for sync, curve in zip(SYNCS, load.pace.syncs, strict=False):
                sync_wait_ns = wait_ns if sync == "commit" else 0.0
                drawn = spread(flushes, curve, load.factor, sync_wait_ns, offset)
                for one in (part, *others):
                    count_drawn(one.direction(sync), flushes, 0, *drawn)
