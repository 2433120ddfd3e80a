"""A run: virtual time passes slice by slice, and events come out."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, inf
from types import TracebackType
from typing import Self

import numpy as np

from ioplan.backends import TargetFacts
from ioplan.job import Event, Job, Progress, Result, Started, StreamCounts
from ioplan_sim.flash import RECOVERY_WHILE_READING, Flash
from ioplan_sim.latency import Ints, spread
from ioplan_sim.load import Kind, Lane, share
from ioplan_sim.refusal import refusal
from ioplan_sim.tally import StreamTally

NOISE = 0.01
"""Relative deviation of the drive's speed from one slice to the next."""


def fit(ios: Ints, sizes_bytes: Ints, limit_bytes: float) -> None:
    """Add or take away I/Os, large ones first, until they just reach the limit."""
    excess = int(ios @ sizes_bytes) - ceil(limit_bytes)
    for kind in np.argsort(-sizes_bytes):
        step = min(int(ios[kind]), excess // int(sizes_bytes[kind]))
        ios[kind] -= step
        excess -= step * int(sizes_bytes[kind])


class SimExecution:
    """One run on a drive. All chance comes from the seed and the drive's clock."""

    def __init__(self, job: Job, facts: TargetFacts, flash: Flash) -> None:
        self.job, self.facts, self.flash = job, facts, flash
        self.stopped = False
        self._left_bytes = inf
        self._events = self._run()

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def __enter__(self) -> Self:
        return self

    def stop(self) -> None:
        """End at the present virtual time; the Result still comes."""
        self.stopped = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _run(self) -> Iterator[Event]:
        failure = refusal(self.job, self.facts)
        if failure:
            yield failure
            return
        self._rng = np.random.default_rng((self.job.seed, self.flash.clock_ns))
        self._lanes = [Lane(stream) for stream in self.job.streams]
        yield Started(mode="virtual", reason="simulated", facts=self._facts())
        yield from self._part(self.job.warmup_ns, warmup=True)
        yield from self._part(self.job.run_ns or inf, warmup=False)
        yield Result(
            run_ns=self._time_ns,
            stopped=self.stopped,
            streams=self._counts(self._total),
            facts=self._facts(),
        )

    def _facts(self) -> dict[str, float]:
        return {
            "write_amplification": round(self.flash.amplification, 3),
            "free_bytes": round(self.flash.free_bytes),
            "stored_bytes": round(self.flash.stored_bytes),
        }

    def _part(self, end_ns: float, warmup: bool) -> Iterator[Progress]:
        """The warm-up, which only time ends, or the measured part with its limits."""
        self._total = [StreamTally() for _ in self._lanes]
        self._time_ns = 0
        if not warmup:
            self._set_limits()
        while self._time_ns < end_ns and self._goes_on():
            spent_ns, tallies = self._interval(end_ns - self._time_ns)
            self._time_ns += spent_ns
            yield Progress(
                t_ns=self._time_ns,
                interval_ns=spent_ns,
                warmup=warmup,
                streams=self._counts(tallies),
            )

    def _set_limits(self) -> None:
        self._left_bytes = self.job.limit_bytes or inf
        for lane in self._lanes:
            lane.cover(self.job.passes or inf)

    def _goes_on(self) -> bool:
        unfinished = any(lane.left_bytes > 0 for lane in self._lanes)
        return unfinished and self._left_bytes > 0 and not self.stopped

    def _counts(self, tallies: list[StreamTally]) -> tuple[StreamCounts, ...]:
        pairs = zip(tallies, self._lanes, strict=True)
        return tuple(tally.counts(lane) for tally, lane in pairs)

    def _interval(self, longest_ns: float) -> tuple[int, list[StreamTally]]:
        length_ns, spent_ns = int(min(self.job.interval_ns, longest_ns)), 0
        tallies = [StreamTally() for _ in self._lanes]
        while spent_ns < length_ns and self._goes_on():
            spent_ns += self._slice(length_ns - spent_ns, tallies)
        for total, tally in zip(self._total, tallies, strict=True):
            total.add(tally)
        return spent_ns, tallies

    def _slice(self, longest_ns: int, tallies: list[StreamTally]) -> int:
        """Let the drive work while it hardly changes; returns for how long."""
        pairs = list(zip(self._lanes, tallies, strict=True))
        pairs = [(lane, tally) for lane, tally in pairs if lane.left_bytes > 0]
        lanes = [lane for lane, _ in pairs]
        self._set_pace(lanes)
        time_ns = max(1, ceil(min(longest_ns, self._steady_ns(lanes))))
        for place, (lane, tally) in enumerate(pairs):
            # What one stream moves too much or too little, the next ones make up.
            rest = sum(other.bytes_per_ns for other in lanes[place:])
            part_bytes = self._left_bytes * lane.bytes_per_ns / rest
            self._advance(lane, tally, time_ns, min(lane.left_bytes, part_bytes))
        writes = any(lane.programmed_bytes for lane in lanes)
        self.flash.rest(time_ns, 0.0 if writes else RECOVERY_WHILE_READING)
        return time_ns

    def _set_pace(self, lanes: list[Lane]) -> None:
        factor = share(lanes, self.flash.amplification)
        factor *= max(0.5, self._rng.normal(1, NOISE))
        for lane in lanes:
            lane.stretch(factor)

    def _steady_ns(self, lanes: list[Lane]) -> float:
        """Until the drive's speed changes or a limit is reached."""
        writing = sum(lane.pace_per_ns * lane.programmed_bytes for lane in lanes)
        passes_ns = max(lane.left_bytes / lane.bytes_per_ns for lane in lanes)
        limit_ns = self._left_bytes / sum(lane.bytes_per_ns for lane in lanes)
        return min(self.flash.horizon_ns(writing), passes_ns, limit_ns)

    def _advance(
        self, lane: Lane, tally: StreamTally, time_ns: int, limit_bytes: float
    ) -> None:
        """Do one stream's I/O of a slice, `limit_bytes` at most."""
        ios, wait_ns = lane.due_ios(time_ns, self._rng)
        counts = self._rng.multinomial(ios, lane.shares)
        expected_bytes = lane.bytes_per_ns * time_ns + lane.mean_bytes
        if max(expected_bytes, counts @ lane.sizes_bytes) >= limit_bytes:
            fit(counts, lane.sizes_bytes, limit_bytes)
        done_bytes = int(counts @ lane.sizes_bytes)
        lane.left_bytes -= done_bytes
        self._left_bytes -= done_bytes
        for kind, count in zip(lane.kinds, counts.tolist(), strict=True):
            if count:
                self._count(lane, tally, kind, count, wait_ns)
        tally.backlog_ios = lane.late_ios

    def _count(
        self, lane: Lane, tally: StreamTally, kind: Kind, ios: int, wait_ns: float
    ) -> None:
        """Count I/Os of a kind, with their latencies and what they do to the drive."""
        offset = int(self._rng.integers(1024)) / 1024  # so ios + offset is exact
        first, bins = spread(ios, lane.latency_ns(kind), wait_ns, offset)
        tally.directions[kind.direction].draw(ios, kind.size_bytes, first, bins)
        self.flash.take(lane, kind, ios)
        if kind.direction == "write":
            tally.sync_ios += lane.flushes(ios)
