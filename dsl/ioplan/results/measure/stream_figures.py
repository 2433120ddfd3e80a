"""Whether the figures of a stream contradict each other, or what was asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from ioplan.core.error_kinds import FigureFault
from ioplan.job import SECOND_NS
from ioplan.job_stream import JobStream
from ioplan.records.record import (
    DirectionResult,
    Interval,
    StreamResult,
)
from ioplan.results.measure.direction_figures import (
    BUCKET,
    EDGE_S,
    LEAST_MEAN_NS,
    NOTHING,
    SLACK,
    SLACK_S,
    Fault,
)
from ioplan.results.measure.histogram import Histogram, bucket_ranges
from ioplan.workload import DIRECTIONS, SYNCS, Direction

if TYPE_CHECKING:
    from ioplan.results.measure.consistency import Checked

SIGMAS = 6.0
DEPTH_SLACK = 0.03
"""Of buckets' middles and two clocks. The simulated drive draws latencies from a curve,
and takes what was drawn too much from the next interval."""
PASS_SLACK = 0.25
"""A program may look only now and then whether a pass is over."""
LEAST_BUSY = 0.02
"""Between two I/Os a closed loop does no more than to prepare the next: on page cache
and RAM a fifth of the time is left for the I/O itself, and a tenth of that on a machine
that others keep busy."""


class StreamChecked:
    """One stream against what was asked of it."""

    def __init__(self, run: Checked, asked: JobStream, result: StreamResult) -> None:
        self.run, self.job, self.asked, self.result = run, run.job, asked, result
        self.run_s = result.run_s or run.record.run_s
        self.slots = slots_of(asked)
        self.errors = sum(done.errors for done in result.directions.values())
        self.data = _data(result)
        self.ios = sum(done.ios for done in self.data)
        self.ends_early = bool(self.job.passes or self.job.limit_bytes)

    def faults(self) -> Iterator[Fault]:
        yield from self._direction_faults()
        for direction, done in self.result.directions.items():
            if direction in DIRECTIONS and done.ios:
                yield from self._size_faults(direction, done)
            if done.ios:
                yield from self._latency_faults(direction, done)
        yield from chain(
            self._count_faults(),
            self._flush_faults(),
            self._amount_faults(),
            self._own_time_faults(),
            self._mix_faults(),
            self._depth_faults(),
            self._gap_faults(),
            self._rate_faults(),
        )

    def _direction_faults(self) -> Iterator[Fault]:
        allowed = _allowed(self.asked)
        for direction, done in self.result.directions.items():
            if direction not in allowed and (done.ios or done.bytes or done.errors):
                text = f"{done.ios} I/Os are {direction}s, which were not asked"
                yield FigureFault.DIRECTION, text
            elif self.job.read_only and direction in ("write", "trim"):
                text = f"{done.ios} {direction}s in a test that only reads"
                yield FigureFault.DIRECTION, text

    def _size_faults(
        self, direction: Direction, done: DirectionResult
    ) -> Iterator[Fault]:
        asked, ios, moved = self.asked, done.ios, done.bytes
        shares = asked.read_sizes if direction == "read" else asked.write_sizes
        if asked.replay or not shares:
            if not moved:
                yield FigureFault.SIZES, f"{ios} {direction}s moved no byte"
            return
        if moved % self.job.block_bytes:
            text = f"{direction}s moved {moved} B, which are not whole blocks"
            yield FigureFault.SIZES, text
        percents = sum(share.percent for share in shares)
        sizes = [(share.size_bytes, share.percent / percents) for share in shares]
        low, high = min(sizes)[0], max(sizes)[0]
        pieces = (self.job.passes or 0) + 1  # I/Os cut at the end of a pass
        cut = pieces * self.slots * high if self.ends_early else 0
        if not low * ios - cut <= moved <= high * ios:
            text = f"{ios} {direction}s of {low} to {high} B moved {moved} B"
            yield FigureFault.SIZES, text
            return
        mean = sum(size * share for size, share in sizes)
        square = sum(size**2 * share for size, share in sizes)
        allowed = SIGMAS * sqrt(max(0.0, square - mean**2) * ios)
        allowed += cut + SLACK * mean * ios + 2 * self.slots * high
        if not self.errors and abs(moved - mean * ios) > allowed:
            text = f"{direction}s have {moved / ios:.0f} B in the mean, and "
            yield FigureFault.SIZES, f"{text}{mean:.0f} B were asked"

    def _latency_faults(
        self, direction: Direction, done: DirectionResult
    ) -> Iterator[Fault]:
        latency = done.latency
        if latency is None:
            return
        if self.run.record.lasted_s is not None and latency.mean_ns < LEAST_MEAN_NS:
            text = f"{direction}s took {latency.mean_ns:g} ns, as no I/O can"
            yield FigureFault.DEPTH_BELOW, text
        if latency.max_ns > self.run.limit_s() * SECOND_NS:
            longest_s = latency.max_ns / SECOND_NS
            text = f"a {direction} of {longest_s:g} s is none of the run"
            yield FigureFault.RUN_TIME, text
        key = ("", self.asked.name, direction)
        if not latency.percentiles or key not in self.run.histograms:
            text = f"{direction}s have no latency histogram"
            yield FigureFault.HISTOGRAM_MISSING, text

    def _count_faults(self) -> Iterator[Fault]:
        result, asked, syncs = self.result, self.asked, self.result.sync_ios
        flushes = result.directions.get("flush")
        if flushes and syncs not in (0, flushes.ios + flushes.errors):
            text = f"{syncs} flushes, of which {flushes.ios} have a latency"
            yield FigureFault.SERIES_SUM, text
        verified, backlog = result.verified_bytes, result.backlog_ios
        if min(syncs, backlog, verified, result.verify_errors) < 0:
            yield FigureFault.NEGATIVE_COUNT, "a count is negative"
        if syncs and not (asked.sync_every or asked.replay):
            yield FigureFault.DIRECTION, f"{syncs} flushes, which were not asked"
        read = result.directions.get("read", NOTHING).bytes
        if verified > (read if asked.verify else 0):
            yield FigureFault.DIRECTION, f"{verified} B verified, of {read} B read"
        if backlog and not (asked.rate or asked.replay):
            yield FigureFault.RATE, f"a backlog of {backlog} I/Os without a rate"

    def _flush_faults(self) -> Iterator[Fault]:
        """One flush after so many writes of each thread; a commit ends with one."""
        reads, writes, flushes, commits = (
            self.result.directions.get(direction, NOTHING)
            for direction in ("read", "write", *SYNCS)
        )
        own, least = commits.latency, flushes.latency
        if commits.ios > flushes.ios:
            text = f"{commits.ios} commits by {flushes.ios} flushes"
            yield FigureFault.SERIES_SUM, text
        elif own and least and own.min_ns < least.min_ns * (1 - BUCKET) - 1:
            yield FigureFault.MEAN_OUTSIDE, "a commit took less than any flush"
        every = self.asked.sync_every
        if every and not (self.errors or self.asked.replay):
            count = max(self.result.sync_ios, flushes.ios + flushes.errors)
            due = writes.ios / every
            slack = SLACK * due + 3 * self.slots
            # fio counts reads as well
            if not due - slack <= count <= due + reads.ios / every + slack:
                text = f"{count} flushes, and about {due:.0f} were asked"
                yield FigureFault.DIRECTION, text

    def _amount_faults(self) -> Iterator[Fault]:
        """No more than the passes, the pauses or the trace leave room for."""
        asked, passes, last = self.asked, self.job.passes or 0, 2 * self.slots
        moved = sum(done.bytes for done in self.data)
        most = asked.pass_bytes * passes * (1 + PASS_SLACK)
        if passes and moved > most + last * max(asked.sizes_bytes, default=0):
            yield FigureFault.SIZES, f"{moved} B are more than {passes:g} passes"
        if asked.pause_ns:
            pauses = self.run_s * SECOND_NS / asked.pause_ns * (1 + SLACK) + 2
            if self.ios > self.slots / asked.qd * asked.pause_every * pauses + last:
                text = f"{self.ios} I/Os leave no time for the pauses"
                yield FigureFault.RATE, text

    def _own_time_faults(self) -> Iterator[Fault]:
        """A stream that nothing ends before the run is measured until its end."""
        asked, record, own_s = self.asked, self.run.record, self.result.run_s
        if own_s is None or self.ends_early or asked.replay:
            return
        if self.errors or asked.follows or record.power_cut:
            return
        due_s = asked.own_ns(round(record.run_s * SECOND_NS)) / SECOND_NS
        edges_s = 2 * (self.run.longest_ns() + asked.pause_ns) / SECOND_NS + SLACK_S
        if own_s < due_s * (1 - SLACK) - edges_s:
            text = f"it took {own_s:g} s of the {due_s:g} s that it has of the run"
            yield FigureFault.RUN_TIME, text

    def _mix_faults(self) -> Iterator[Fault]:
        """Whether reads, writes and trims have the shares that were asked."""
        asked = self.asked
        if asked.replay or asked.follows or self.errors:
            return
        done = self.result.directions
        reads, trims = (done.get(d, NOTHING).ios for d in ("read", "trim"))
        for what, ios, total, percent in (
            ("reads", reads, self.ios - trims, asked.read_percent),
            ("trims", trims, self.ios, asked.trim_percent),
        ):
            share = percent / 100
            allowed = SIGMAS * sqrt(total * share * (1 - share)) + 2 * self.slots
            allowed += SLACK * total
            if share not in (0, 1) and abs(ios - share * total) > allowed:
                text = f"{ios} of {total} I/Os are {what}, and {percent:g} % were asked"
                yield FigureFault.MIX, text

    def _depth_faults(self) -> Iterator[Fault]:
        """Little's law: IOPS × mean latency is what is outstanding in the mean."""
        asked, slots = self.asked, self.slots
        if asked.rate or (asked.replay and asked.pace == "recorded"):
            return  # latencies begin when an I/O is due, not when it is issued
        timed = [(done.ios, done.latency) for done in self.data if done.latency]
        busy_s = sum(ios * latency.mean_ns for ios, latency in timed) / SECOND_NS
        # the end of the run left out at most one I/O a slot
        longest_ns = max((latency.max_ns for _, latency in timed), default=0)
        left_out_s = slots * longest_ns / SECOND_NS + SLACK_S / 10
        slots_s = slots * self.run_s
        if busy_s > slots_s * (1 + DEPTH_SLACK) + self._last_ios_s():
            text = f"IOPS x mean latency is {busy_s / self.run_s:.4g} outstanding I/Os"
            yield FigureFault.DEPTH_ABOVE, f"{text}, and {slots} were asked"
        elif busy_s + left_out_s < self._least_busy() * slots_s:
            depth = f"{busy_s / self.run_s:.2g} outstanding I/Os of {slots}"
            text = f"IOPS x mean latency is {depth}, without a pause or a rate"
            yield FigureFault.DEPTH_BELOW, text

    def _last_ios_s(self) -> float:
        """The sum of the longest I/Os, one a slot: it may end beyond the run."""
        keys = [("", self.asked.name, direction) for direction in DIRECTIONS]
        known = self.run.histograms
        bins = Histogram.merged(known[key] for key in keys if key in known)
        count, edges_ns = bins.count[::-1], np.add(*bucket_ranges())[bins.index[::-1]]
        used = np.clip(self.slots - count.cumsum() + count, 0, count)
        return float(used @ edges_ns) / SECOND_NS

    def _least_busy(self) -> float:
        """The least share of the time that slots of a closed loop are in use."""
        asked, record = self.asked, self.run.record
        if asked.pause_ns or asked.sync_every or asked.follows or asked.replay:
            return 0.0
        if self.errors or record.events or record.power_cut:
            return 0.0
        if self.ends_early and (len(self.job.streams) > 1 or asked.threads > 1):
            return 0.0  # who is done early waits for the others
        if record.cpu is None or not self.run_s or asked.verify:
            return LEAST_BUSY
        used = (record.cpu.user_ns + record.cpu.system_ns) / SECOND_NS / self.run_s
        return max(LEAST_BUSY, 0.4 - used)

    def _gap_faults(self) -> Iterator[Fault]:
        if self.result.gap_ns is None:
            return
        gap_s, run_s = self.result.gap_ns / SECOND_NS, self.run_s
        series = self.run.detail.series
        if gap_s < 0 or gap_s > self.run.limit_s():  # its end may be seen late
            yield FigureFault.RUN_TIME, f"a gap of {gap_s:g} s in {run_s:g} s"
        if (self.ios + 1) * gap_s < run_s / 2:
            text = f"{self.ios} I/Os in {run_s:g} s have a gap above {gap_s:g} s"
            yield FigureFault.RUN_TIME, text
        if len(self.job.streams) > 1 or not series:
            return
        idle_s, edges_s = _longest_idle_s(series)
        edges_s += 2 * (SLACK * run_s + EDGE_S) + SLACK_S
        if abs(gap_s - idle_s) > edges_s:
            text = f"a gap of {gap_s:g} s, and {idle_s:g} s of intervals without I/Os"
            yield FigureFault.RUN_TIME, text

    def _rate_faults(self) -> Iterator[Fault]:
        """No more can come than arrives, with the arrivals of the warm-up."""
        if rate := self.asked.rate:
            time_s = self.run_s + self.job.warmup_ns / SECOND_NS
            yield from rate_faults(self.asked, self.result, max(rate.all_per_s), time_s)


def rate_faults(
    asked: JobStream, result: StreamResult, per_s: float, time_s: float
) -> Iterator[Fault]:
    """What came, and what is late, is no more than is due at a rate."""
    rate = asked.rate
    if rate is None:
        return
    ios = sum(done.ios for done in _data(result))
    by_bytes = rate.iops is None
    amount: float = sum(done.bytes for done in _data(result)) if by_bytes else ios
    due = per_s * time_s * asked.times * max(1, len(asked.hosts))
    unit = amount / ios if ios else 1.0
    amount += result.backlog_ios * unit
    spread = SIGMAS * rate.gap_variation * sqrt(due * unit)
    if amount > due * (1 + 2 * SLACK) + spread + 2 * slots_of(asked) * unit:
        text = f"{amount:.0f} {'B' if by_bytes else 'I/Os'} came or are late, and no "
        yield FigureFault.RATE, f"{text}more than {due:.0f} were due"


def slots_of(asked: JobStream) -> int:
    """The queue depth of a stream's threads on all of its targets and hosts."""
    return asked.qd * asked.threads * asked.times * max(1, len(asked.hosts))


def _data(result: StreamResult) -> list[DirectionResult]:
    """Results of the directions that move data."""
    return [done for d, done in result.directions.items() if d in DIRECTIONS]


def _allowed(asked: JobStream) -> set[Direction]:
    """The directions in which a stream may have I/Os."""
    if asked.replay:
        reads = asked.writes_as_reads or asked.only != "writes"
        writes = trims = syncs = not asked.writes_as_reads and asked.only != "reads"
    else:
        moves = asked.trim_percent < 100
        reads = moves and asked.read_percent > 0
        writes = moves and asked.read_percent < 100
        trims, syncs = asked.trim_percent > 0, bool(asked.sync_every)
    used = (reads, writes, trims, syncs, syncs)
    return {d for d, may in zip((*DIRECTIONS, *SYNCS), used, strict=True) if may}


def _longest_idle_s(series: Sequence[Interval]) -> tuple[float, float]:
    """The longest time of intervals without an I/O, and that of two intervals."""
    runs = groupby(series, lambda point: any(point.ios.values()))
    idle_s = [sum(point.length_s for point in run) for busy, run in runs if not busy]
    return max(idle_s, default=0.0), 2 * max(point.length_s for point in series)
