"""Whether the figures of a stream contradict each other, or what was asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import Protocol

from ioplan.core.error_kinds import FigureFault
from ioplan.job import SECOND_NS, Job
from ioplan.job_stream import JobStream
from ioplan.records.record import (
    DirectionResult,
    Interval,
    RunDetail,
    RunRecord,
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
    Histograms,
)
from ioplan.results.measure.histogram import bucket_range
from ioplan.workload import DIRECTIONS, SYNCS, Direction, SizeShare

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


class RunChecked(Protocol):
    """The run of a stream."""

    job: Job
    record: RunRecord
    detail: RunDetail
    histograms: Histograms

    def longest_ns(self) -> int:
        """The longest I/O."""

    def limit_s(self) -> float:
        """What no I/O can have taken longer than."""


class StreamChecked:
    """One stream against what was asked of it."""

    def __init__(self, run: RunChecked, asked: JobStream, result: StreamResult) -> None:
        self.run, self.asked, self.result = run, asked, result
        self.run_s = result.run_s or run.record.run_s
        self.slots = slots_of(asked)
        self.errors = sum(one.errors for one in result.directions.values())

    def faults(self) -> Iterator[Fault]:
        yield from self._direction_faults()
        for direction, result in self.result.directions.items():
            if direction in DIRECTIONS and result.ios:
                yield from self._size_faults(direction, result)
            if result.ios:
                yield from self._latency_faults(direction, result)
        yield from self._count_faults()
        yield from self._flush_faults()
        yield from self._amount_faults()
        yield from self._own_time_faults()
        yield from self._mix_faults()
        yield from self._depth_faults()
        yield from self._gap_faults()
        yield from self.rate_faults()

    def _direction_faults(self) -> Iterator[Fault]:
        allowed = asked_directions(self.asked)
        for direction, result in self.result.directions.items():
            if direction not in allowed and (
                result.ios or result.bytes or result.errors
            ):
                text = f"{result.ios} I/Os are {direction}s, which were not asked"
                yield FigureFault.DIRECTION, text
            elif self.run.job.read_only and direction in ("write", "trim"):
                text = f"{result.ios} {direction}s in a test that only reads"
                yield FigureFault.DIRECTION, text

    def _size_faults(
        self, direction: Direction, done: DirectionResult
    ) -> Iterator[Fault]:
        sizes = _sizes(self.asked, direction)
        if not sizes:
            if not done.bytes:
                yield FigureFault.SIZES, f"{done.ios} {direction}s moved no byte"
            return
        if done.bytes % self.run.job.block_bytes:
            text = f"{direction}s moved {done.bytes} B, which are not whole blocks"
            yield FigureFault.SIZES, text
        low, high = min(sizes)[0], max(sizes)[0]
        cut = self._pieces() * high
        if not low * done.ios - cut <= done.bytes <= high * done.ios:
            text = f"{done.ios} {direction}s of {low} to {high} B moved {done.bytes} B"
            yield FigureFault.SIZES, text
            return
        mean = sum(size * share for size, share in sizes)
        square = sum(size**2 * share for size, share in sizes)
        allowed = SIGMAS * sqrt(max(0.0, square - mean**2) * done.ios)
        allowed += cut + SLACK * mean * done.ios + 2 * self.slots * high
        if not self.errors and abs(done.bytes - mean * done.ios) > allowed:
            text = (
                f"{direction}s have {done.bytes / done.ios:.0f} B in the mean, and "
                f"{mean:.0f} B were asked"
            )
            yield FigureFault.SIZES, text

    def _pieces(self) -> float:
        """How many I/Os may be cut at the end of a pass."""
        passes = self.run.job.passes or 0
        return (passes + 1) * self.slots if passes or self.run.job.limit_bytes else 0

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
            text = (
                f"a {direction} of {latency.max_ns / SECOND_NS:g} s is none of the run"
            )
            yield FigureFault.RUN_TIME, text
        histogram = self.run.histograms.get(("", self.asked.name, direction))
        if not latency.percentiles or histogram is None:
            text = f"{direction}s have no latency histogram"
            yield FigureFault.HISTOGRAM_MISSING, text

    def _count_faults(self) -> Iterator[Fault]:
        result = self.result
        flushes = result.directions.get("flush")
        if flushes and result.sync_ios not in (0, flushes.ios + flushes.errors):
            text = f"{result.sync_ios} flushes, of which {flushes.ios} have a latency"
            yield FigureFault.SERIES_SUM, text
        small = (result.sync_ios, result.backlog_ios, result.verified_bytes)
        if min(*small, result.verify_errors) < 0:
            yield FigureFault.NEGATIVE_COUNT, "a count is negative"
        if result.sync_ios and not self.asked.sync_every and not self.asked.replay:
            text = f"{result.sync_ios} flushes, which were not asked"
            yield FigureFault.DIRECTION, text
        read_bytes = result.directions.get("read", NOTHING).bytes
        if result.verified_bytes > (read_bytes if self.asked.verify else 0):
            text = f"{result.verified_bytes} B verified, of {read_bytes} B read"
            yield FigureFault.DIRECTION, text
        if result.backlog_ios and not (self.asked.rate or self.asked.replay):
            text = f"a backlog of {result.backlog_ios} I/Os without a rate"
            yield FigureFault.RATE, text

    def _flush_faults(self) -> Iterator[Fault]:
        """One flush after so many writes of each thread; a commit ends with one."""
        by, every = self.result.directions, self.asked.sync_every
        flushes, commits = by.get("flush", NOTHING), by.get("commit", NOTHING)
        count = max(self.result.sync_ios, flushes.ios + flushes.errors)
        if commits.ios > flushes.ios:
            text = f"{commits.ios} commits by {flushes.ios} flushes"
            yield FigureFault.SERIES_SUM, text
        elif commits.latency and flushes.latency:
            least_ns = flushes.latency.min_ns * (1 - BUCKET) - 1
            if commits.latency.min_ns < least_ns:
                yield FigureFault.MEAN_OUTSIDE, "a commit took less than any flush"
        if every and not (self.errors or self.asked.replay):
            due = by.get("write", NOTHING).ios / every
            most = due + by.get("read", NOTHING).ios / every  # fio counts reads as well
            slack = SLACK * due + 3 * self.slots
            if not due - slack <= count <= most + slack:
                text = f"{count} flushes, and about {due:.0f} were asked"
                yield FigureFault.DIRECTION, text

    def _amount_faults(self) -> Iterator[Fault]:
        """No more than the passes, the pauses or the trace leave room for."""
        asked, job = self.asked, self.run.job
        done = [r for d, r in self.result.directions.items() if d in DIRECTIONS]
        ios, moved_bytes = (sum(getattr(r, n) for r in done) for n in ("ios", "bytes"))
        most = asked.pass_bytes * (job.passes or 0) * (1 + PASS_SLACK)
        most += 2 * self.slots * max(asked.sizes_bytes, default=0)
        if job.passes and moved_bytes > most:
            text = f"{moved_bytes} B are more than {job.passes:g} passes"
            yield FigureFault.SIZES, text
        if asked.pause_ns:
            pauses = self.run_s * SECOND_NS / asked.pause_ns * (1 + SLACK) + 2
            room = self.slots / asked.qd * asked.pause_every * pauses
            if ios > room + 2 * self.slots:
                text = f"{ios} I/Os leave no time for the pauses"
                yield FigureFault.RATE, text

    def _own_time_faults(self) -> Iterator[Fault]:
        """A stream that nothing ends before the run is measured until its end."""
        asked, job, own_s = self.asked, self.run.job, self.result.run_s
        if own_s is None or job.passes or job.limit_bytes or asked.replay:
            return
        if self.errors or asked.follows or self.run.record.power_cut:
            return
        due_s = asked.own_ns(round(self.run.record.run_s * SECOND_NS)) / SECOND_NS
        edges_s = 2 * (self.run.longest_ns() + asked.pause_ns) / SECOND_NS + SLACK_S
        if own_s < due_s * (1 - SLACK) - edges_s:
            text = f"it took {own_s:g} s of the {due_s:g} s that it has of the run"
            yield FigureFault.RUN_TIME, text

    def _mix_faults(self) -> Iterator[Fault]:
        """Whether reads, writes and trims have the shares that were asked."""
        asked, done = self.asked, self.result.directions
        if asked.replay or asked.follows or self.errors:
            return
        ios = {d: done[d].ios if d in done else 0 for d in DIRECTIONS}
        moved = ios["read"] + ios["write"]
        yield from self._share_faults("reads", ios["read"], moved, asked.read_percent)
        trims, every = ios["trim"], moved + ios["trim"]
        yield from self._share_faults("trims", trims, every, asked.trim_percent)

    def _share_faults(
        self, what: str, ios: int, every: int, percent: float
    ) -> Iterator[Fault]:
        share = percent / 100
        allowed = SIGMAS * sqrt(every * share * (1 - share)) + 2 * self.slots
        if share not in (0, 1) and abs(ios - share * every) > allowed + SLACK * every:
            text = f"{ios} of {every} I/Os are {what}, and {percent:g} % were asked"
            yield FigureFault.MIX, text

    def _depth_faults(self) -> Iterator[Fault]:
        """Little's law: IOPS × mean latency is what is outstanding in the mean."""
        asked = self.asked
        if asked.rate or (asked.replay and asked.pace == "recorded"):
            return  # latencies begin when an I/O is due, not when it is issued
        parts = [one for d, one in self.result.directions.items() if d in DIRECTIONS]
        busy_s = (
            sum(one.ios * one.latency.mean_ns for one in parts if one.latency)
            / SECOND_NS
        )
        slots_s = self.slots * self.run_s
        most_s = slots_s * (1 + DEPTH_SLACK) + self._last_ios_s()
        if busy_s > most_s:
            text = (
                f"IOPS x mean latency is {busy_s / self.run_s:.4g} outstanding I/Os, "
                f"and {self.slots} were asked"
            )
            yield FigureFault.DEPTH_ABOVE, text
        elif busy_s + self._under_way_s(parts) < self._least_busy() * slots_s:
            text = (
                f"IOPS x mean latency is {busy_s / self.run_s:.2g} outstanding I/Os of "
                f"{self.slots}, without a pause or a rate"
            )
            yield FigureFault.DEPTH_BELOW, text

    def _under_way_s(self, parts: Sequence[DirectionResult]) -> float:
        """So long at most the slots had I/Os that the end of the run left out."""
        longest = (one.latency.max_ns for one in parts if one.latency)
        return self.slots * max(longest, default=0) / SECOND_NS + SLACK_S / 10

    def _last_ios_s(self) -> float:
        """The sum of the longest I/Os, one a slot: it may end beyond the run."""
        left, sum_ns = self.slots, 0.0
        buckets: list[tuple[int, int, int]] = []
        for direction in DIRECTIONS:
            one = self.run.histograms.get(("", self.asked.name, direction))
            if one is not None:
                pairs = zip(one.index.tolist(), one.count.tolist(), strict=True)
                buckets += [(bucket_range(i, one.bits)[1], n, i) for i, n in pairs]
        for edge_ns, count, _ in sorted(buckets, reverse=True):
            used = min(left, count)
            left, sum_ns = left - used, sum_ns + used * edge_ns
            if not left:
                break
        return sum_ns / SECOND_NS

    def _least_busy(self) -> float:
        """The least share of the time that slots of a closed loop are in use."""
        asked, job, record = self.asked, self.run.job, self.run.record
        waits = asked.pause_ns or asked.sync_every or asked.follows or asked.replay
        ends = job.passes or job.limit_bytes
        if waits or self.errors or record.events or record.power_cut:
            return 0.0
        if ends and (len(job.streams) > 1 or asked.threads > 1):
            return 0.0  # who is done early waits for the others
        if record.cpu is None or not self.run_s or asked.verify:
            return LEAST_BUSY
        used = (record.cpu.user_ns + record.cpu.system_ns) / SECOND_NS / self.run_s
        return max(LEAST_BUSY, 0.4 - used)

    def _gap_faults(self) -> Iterator[Fault]:
        gap_ns = self.result.gap_ns
        ios = sum(r.ios for d, r in self.result.directions.items() if d in DIRECTIONS)
        if gap_ns is None:
            return
        gap_s = gap_ns / SECOND_NS
        if gap_s < 0 or gap_s > self.run.limit_s():  # its end may be seen late
            text = f"a gap of {gap_s:g} s in {self.run_s:g} s"
            yield FigureFault.RUN_TIME, text
        if (ios + 1) * gap_s < self.run_s / 2:
            text = f"{ios} I/Os in {self.run_s:g} s have a gap above {gap_s:g} s"
            yield FigureFault.RUN_TIME, text
        if len(self.run.job.streams) > 1 or not self.run.detail.series:
            return
        least_s, edges_s = _longest_idle_s(self.run.detail.series)
        edges_s += 2 * (SLACK * self.run_s + EDGE_S) + SLACK_S
        if not least_s - edges_s <= gap_s <= least_s + edges_s:
            text = f"a gap of {gap_s:g} s, and {least_s:g} s of intervals without I/Os"
            yield FigureFault.RUN_TIME, text

    def rate_faults(self) -> Iterator[Fault]:
        """No more can come than arrives, with the arrivals of the warm-up."""
        rate = self.asked.rate
        if rate is None:
            return
        time_s = self.run_s + self.run.job.warmup_ns / SECOND_NS
        yield from rate_faults(self.asked, self.result, max(rate.all_per_s), time_s)


def rate_faults(
    asked: JobStream, result: StreamResult, per_s: float, time_s: float
) -> Iterator[Fault]:
    """What came, and what is late, is no more than is due at a rate."""
    rate = asked.rate
    if rate is None:
        return
    done = [r for d, r in result.directions.items() if d in DIRECTIONS]
    by_bytes = rate.iops is None
    amount: float = sum(one.bytes if by_bytes else one.ios for one in done)
    due = per_s * time_s * asked.times * max(1, len(asked.hosts))
    ios = sum(one.ios for one in done)
    unit = amount / ios if ios else 1.0
    amount += result.backlog_ios * unit
    spread = SIGMAS * rate.gap_variation * sqrt(due * unit)
    if amount > due * (1 + 2 * SLACK) + spread + 2 * slots_of(asked) * unit:
        noun = "B" if by_bytes else "I/Os"
        text = (
            f"{amount:.0f} {noun} came or are late, and no more than {due:.0f} were due"
        )
        yield FigureFault.RATE, text


def slots_of(asked: JobStream) -> int:
    """The queue depth of a stream's threads on all of its targets and hosts."""
    return asked.qd * asked.threads * asked.times * max(1, len(asked.hosts))


def asked_directions(asked: JobStream) -> set[Direction]:
    """In which directions a stream may have I/Os."""
    if asked.replay:
        return _replayed(asked)
    reads = asked.read_percent > 0 and asked.trim_percent < 100
    writes = asked.read_percent < 100 and asked.trim_percent < 100
    found: dict[Direction, object] = {
        "read": reads,
        "write": writes,
        "trim": asked.trim_percent > 0,
        **dict.fromkeys(SYNCS, asked.sync_every),
    }
    return {direction for direction, used in found.items() if used}


def _replayed(asked: JobStream) -> set[Direction]:
    writes: set[Direction] = {"write", "trim", *SYNCS}
    if asked.writes_as_reads or asked.only == "reads":
        return {"read"}
    return writes if asked.only == "writes" else {"read", *writes}


def _sizes(asked: JobStream, direction: Direction) -> list[tuple[int, float]]:
    """Sizes with their shares; none where a trace has them."""
    if asked.replay:
        return []
    shares: Sequence[SizeShare] = (
        asked.read_sizes if direction == "read" else asked.write_sizes
    )
    whole = sum(one.percent for one in shares)
    return [(one.size_bytes, one.percent / whole) for one in shares]


# Figures of a direction, and what is derived from counts.


def _longest_idle_s(series: Sequence[Interval]) -> tuple[float, float]:
    """The longest time of intervals without an I/O, and that of two intervals."""
    longest_s = idle_s = 0.0
    for point in series:
        idle_s = 0.0 if any(point.ios.values()) else idle_s + point.length_s
        longest_s = max(longest_s, idle_s)
    return longest_s, 2 * max(one.length_s for one in series)
