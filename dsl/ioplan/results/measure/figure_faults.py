"""Whether the figures of a direction or a stream contradict each other, or what was
asked of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from math import hypot, isclose, sqrt

import numpy as np

from ioplan.core.error_kinds import FigureFault as Fault
from ioplan.job import SECOND_NS
from ioplan.job_stream import JobStream
from ioplan.records.record import (
    DirectionResult,
    Interval,
    Latency,
    RunDetail,
    RunRecord,
    StreamResult,
)
from ioplan.results.measure.histogram import (
    Histogram,
    bucket_middles,
    bucket_range,
    bucket_ranges,
)
from ioplan.results.measure.interval_counts import IntervalSums, Key
from ioplan.results.measure.tally import clamp
from ioplan.workload import DIRECTIONS, SYNCS, Direction

ROUNDING = 1e-6
"""What floating-point sums may lose."""
BUCKET = 0.01
"""A bucket's middle is within 0.4 % of its values, and within 0.8 % of fio's."""
SATURATED_NS = 17_000_000_000
"""fio's last bucket begins here, and has all that is longer."""
LEAST_MEAN_NS = 100
"""A system call takes longer, and so does a command to a drive."""
SLACK_S, SLACK = 0.25, 0.02
"""How much later than it happened ioplan may learn on a busy machine what a program
tells, and how far two clocks of one host may differ in a run."""
EDGE_S = 1e-3
"""How far apart two intervals may lie that follow each other."""
TICK_S = 1e-3
"""So much longer than it says a run may have taken: fio tells time in whole ms."""
IMPORTED = "imported"
"""The kind of a target whose results ioplan did not measure."""
AMOUNTS = ("ios", "bytes", "errors")
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
NOTHING = DirectionResult(
    ios=0, bytes=0, errors=0, iops=0, bandwidth_bytes_per_s=0, latency=None
)
Part = tuple[DirectionResult, Histogram | None]
Findings = Iterator[tuple[Fault, str]]
"""What is wrong, each with a text for it."""


def merged_faults(
    total: DirectionResult, parts: Sequence[Part], run_s: float
) -> Findings:
    """A sum of several directions or streams."""
    for name in AMOUNTS:
        amount, stated = sum(getattr(p, name) for p, _ in parts), getattr(total, name)
        if amount != stated:
            yield Fault.DERIVED, f"the sum of {amount} {name} is {stated}"
            return
    used = [(part, bins) for part, bins in parts if part.ios]
    counted = [bins for _, bins in used if bins is not None]
    merged = Histogram.merged(counted) if len(counted) == len(used) > 0 else None
    yield from _result_faults(total, merged, run_s)
    timed, latency = _timed(part for part, _ in used), total.latency
    if total.ios and latency and timed:
        mean_ns = sum(ios * part.mean_ns for ios, part in timed) / total.ios
        low_ns = min(part.min_ns for _, part in timed)
        high_ns = max(part.max_ns for _, part in timed)
        same = (low_ns, high_ns) == (latency.min_ns, latency.max_ns)
        if not (same and isclose(mean_ns, latency.mean_ns, rel_tol=ROUNDING)):
            yield Fault.DERIVED, "its latencies are not those of its parts"


def _timed(parts: Iterable[DirectionResult]) -> list[tuple[int, Latency]]:
    return [(part.ios, part.latency) for part in parts if part.latency]


def _result_faults(
    done: DirectionResult, histogram: Histogram | None, run_s: float
) -> Findings:
    if min(done.ios, done.bytes, done.errors) < 0:
        yield Fault.NEGATIVE_COUNT, "a count is negative"
    if not done.ios and (done.bytes or done.latency):
        yield Fault.COUNTS_WITHOUT_IO, "bytes or latencies were counted, but no I/O"
    rates = (done.ios, done.iops), (done.bytes, done.bandwidth_bytes_per_s)
    for amount, rate in rates if run_s > 0 else ():
        if not isclose(rate, amount / run_s, rel_tol=ROUNDING, abs_tol=ROUNDING):
            yield Fault.DERIVED, f"{amount} in {run_s:g} s are not {rate:g} a second"
    is_counted = histogram is not None and histogram.total > 0
    if is_counted and not done.latency:
        yield Fault.HISTOGRAM_COUNT, "it has a histogram, and no latency"
    if done.ios and done.latency:
        yield from _latency_faults(done.latency)
        if histogram is not None and is_counted:
            yield from _histogram_faults(done.ios, done.latency, histogram)


def _latency_faults(latency: Latency) -> Findings:
    low, high, mean_ns = latency.min_ns, latency.max_ns, latency.mean_ns
    if low > high:
        text = f"the smallest latency, {low} ns, exceeds the largest, {high} ns"
        yield Fault.EXTREMES_SWAPPED, text
    elif low < 0 or not low * (1 - ROUNDING) <= mean_ns <= high * (1 + ROUNDING):
        text = "the mean latency lies outside the smallest and the largest"
        yield Fault.MEAN_OUTSIDE, text
    elif not 0 <= latency.stddev_ns <= (high - low) / 2 * (1 + BUCKET) + 1:
        text = f"no latencies from {low} to {high} ns deviate by {latency.stddev_ns:g}"
        yield Fault.DEVIATION, text
    values = [value for _, value in sorted(_percentiles(latency))]
    if values != sorted(values):
        yield Fault.PERCENTILES, "a higher percentile has a smaller latency"
    if values and not _least(low) <= values[0] <= values[-1] <= _most(high):
        text = "a percentile lies outside the smallest and the largest latency"
        yield Fault.PERCENTILES, text


def _histogram_faults(ios: int, latency: Latency, histogram: Histogram) -> Findings:
    if histogram.total != ios:
        text = f"the histogram counts {histogram.total} latencies, but {ios} I/Os "
        yield Fault.HISTOGRAM_COUNT, text + "completed"
        return
    used = histogram.index[histogram.count > 0].tolist()
    first, last = (bucket_range(used[at], histogram.bits) for at in (0, -1))
    if last[0] >= SATURATED_NS:
        return  # of fio's histogram that is all that is known
    exact_ns, binned_ns = latency.mean_ns, histogram.mean_ns()
    if abs(binned_ns - exact_ns) > exact_ns * BUCKET + 1:
        text = f"the histogram's mean, {binned_ns:.0f} ns, is more than 1 % from the "
        yield Fault.HISTOGRAM_MEAN, f"{text}exact mean, {exact_ns:.0f} ns"
    low, high = latency.min_ns, latency.max_ns
    ends = (low, first), (high, last)  # a bucket of fio's overlaps its neighbours
    if not all(_least(begin) <= ns <= _most(end) for ns, (begin, end) in ends):
        text = "the histogram does not begin and end with the extreme latencies"
        yield Fault.HISTOGRAM_EXTREMES, text
    squares = (bucket_middles(histogram.bits)[histogram.index] - binned_ns) ** 2
    spread_ns = sqrt(float(squares @ histogram.count) / ios)
    stated_ns = latency.stddev_ns
    allowed_ns = 2 * BUCKET * sqrt(exact_ns**2 + spread_ns**2) + 1
    if abs(spread_ns - stated_ns) > allowed_ns:
        text = f"the histogram deviates by {spread_ns:.0f} ns, not {stated_ns:.0f}"
        yield Fault.DEVIATION, text
    for percent, stated_ns in _percentiles(latency):
        value_ns = clamp(histogram.percentile_ns(percent), low, high)
        if not isclose(value_ns, stated_ns, rel_tol=2 * BUCKET, abs_tol=1):
            text = f"p{percent:g} is {value_ns:.0f} ns by its histogram, not "
            yield Fault.PERCENTILES, f"{text}{stated_ns:.0f}"


def _percentiles(latency: Latency) -> list[tuple[float, float]]:
    return [(p.percent, p.latency_ns) for p in latency.percentiles]


def _least(ns: float) -> float:
    return ns * (1 - BUCKET) - 1


def _most(ns: float) -> float:
    return ns * (1 + BUCKET) + 1


def is_part(part: Histogram | None, total: Histogram | None) -> bool:
    """Whether these latencies are among those; nothing is no part of anything."""
    if part is None or total is None or not part.total:
        return False
    left = Histogram.merged((total, Histogram(part.index, -part.count, part.bits)))
    return bool(left.count.min(initial=0) >= 0)


# Intervals.


def order_faults(series: Sequence[Interval]) -> Findings:
    before_s = 0.0
    for point in series:
        if point.length_s <= 0 or abs(point.t_s - point.length_s - before_s) > EDGE_S:
            text = f"the interval that ends at {point.t_s:g} s does not follow the last"
            yield Fault.INTERVAL_ORDER, text
            return
        before_s = point.t_s


def unequal(what: str, ours: Sequence[int], theirs: Sequence[int]) -> Findings:
    if tuple(ours) != tuple(theirs):
        pairs = " and ".join(f"{a} for {b}" for a, b in zip(ours, theirs, strict=True))
        text = f"{what}: the intervals do not add up to the result: {pairs}"
        yield Fault.SERIES_SUM, text


def sum_faults(
    key: Key, result: DirectionResult | None, sums: IntervalSums | None
) -> Findings:
    """One direction of one stream, over all intervals."""
    result, sums = result or NOTHING, sums or IntervalSums()
    ours, theirs = ([getattr(x, name) for name in AMOUNTS] for x in (sums, result))
    yield from unequal(" ".join(key), ours, theirs)
    latency = result.latency
    if ours != theirs or not sums.ios or latency is None:
        return
    pairs = (
        (sums.min_ns, latency.min_ns),
        (sums.max_ns, latency.max_ns),
        (sums.sum_ns / sums.ios, latency.mean_ns),
        (sqrt(sums.sum_sq_ns2 / sums.ios), hypot(latency.mean_ns, latency.stddev_ns)),
    )
    same = all(isclose(a, b, rel_tol=BUCKET, abs_tol=1) for a, b in pairs)
    bins = sums.histogram()  # fio's buckets may move by one from interval to interval
    same &= all(
        isclose(bins.percentile_ns(percent), ns, rel_tol=4 * BUCKET, abs_tol=2)
        for percent, ns in _percentiles(latency)
        if bins.total
    )
    if not same or sums.is_miscounted:
        text = f"{' '.join(key)}: the latencies of the intervals are not the result's"
        yield Fault.SERIES_SUM, text


# Streams.


class RunChecked:
    """A run, and what several of its checks need."""

    def __init__(self, record: RunRecord, detail: RunDetail) -> None:
        self.record, self.detail, self.job = record, detail, record.asked.job
        self.is_imported = record.target.get("kind") == IMPORTED
        self.histograms: dict[tuple[str, str, Direction], Histogram] = {}
        """By phase, stream and direction."""
        self.total_s = sum(point.length_s for point in detail.series)
        results = chain(*(stream.directions.values() for stream in record.streams))
        longest_ns = max((latency.max_ns for _, latency in _timed(results)), default=0)
        self.longest_s = longest_ns / SECOND_NS
        # no I/O can have taken longer, as it was issued in the run
        ends_s = max(record.run_s, record.lasted_s or 0, self.total_s)
        self.before_s = self.job.warmup_ns / SECOND_NS
        self.limit_s = ends_s * (1 + SLACK) + self.before_s + SLACK_S


class StreamChecked:
    """One stream against what was asked of it."""

    def __init__(
        self, run: RunChecked, stream: JobStream, result: StreamResult
    ) -> None:
        self.run, self.job, self.stream, self.result = run, run.job, stream, result
        self.run_s = result.run_s or run.record.run_s
        self.slots = slots_of(stream)
        self.errors = sum(done.errors for done in result.directions.values())
        self.data = _data(result)
        self.ios = sum(done.ios for done in self.data)
        self.done = defaultdict(lambda: NOTHING, result.directions)
        self.ends_early = bool(self.job.passes or self.job.limit_bytes)
        # by a trace, another stream or errors, and not by what is asked alone
        self.is_led = bool(stream.replay or stream.follows or self.errors)

    def faults(self) -> Findings:
        yield from self._direction_faults()
        for direction, done in self.result.directions.items():
            if direction in DIRECTIONS and done.ios:
                yield from self._size_faults(direction, done)
            if done.ios and done.latency:
                yield from self._latency_faults(direction, done.latency)
        yield from chain(self._count_faults(), self._flush_faults())
        yield from chain(self._amount_faults(), self._own_time_faults())
        yield from chain(self._mix_faults(), self._depth_faults())
        if self.result.gap_ns is not None:
            yield from self._gap_faults(self.result.gap_ns / SECOND_NS)
        if rate := self.stream.rate:
            # no more can come than arrives, with the arrivals of the warm-up
            per_s, time_s = max(rate.all_per_s), self.run_s + self.run.before_s
            yield from rate_faults(self.stream, self.result, per_s, time_s)

    def _direction_faults(self) -> Findings:
        allowed = _allowed(self.stream)
        for direction, done in self.result.directions.items():
            if direction not in allowed and (done.ios or done.bytes or done.errors):
                text = f"{done.ios} I/Os are {direction}s, which were not asked"
                yield Fault.DIRECTION, text
            elif self.job.read_only and direction in ("write", "trim"):
                text = f"{done.ios} {direction}s in a test that only reads"
                yield Fault.DIRECTION, text

    def _size_faults(self, direction: Direction, done: DirectionResult) -> Findings:
        stream, ios, moved = self.stream, done.ios, done.bytes
        shares = stream.read_sizes if direction == "read" else stream.write_sizes
        if stream.replay or not shares:
            if not moved:
                yield Fault.SIZES, f"{ios} {direction}s moved no byte"
            return
        if moved % self.job.block_bytes:
            text = f"{direction}s moved {moved} B, which are not whole blocks"
            yield Fault.SIZES, text
        percents = sum(share.percent for share in shares)
        sizes = [(share.size_bytes, share.percent / percents) for share in shares]
        low, high = min(sizes)[0], max(sizes)[0]
        pieces = (self.job.passes or 0) + 1  # I/Os cut at the end of a pass
        cut = pieces * self.slots * high if self.ends_early else 0
        if not low * ios - cut <= moved <= high * ios:
            text = f"{ios} {direction}s of {low} to {high} B moved {moved} B"
            yield Fault.SIZES, text
            return
        mean = sum(size * share for size, share in sizes)
        square = sum(size**2 * share for size, share in sizes)
        allowed = SIGMAS * sqrt(max(0.0, square - mean**2) * ios)
        allowed += cut + SLACK * mean * ios + 2 * self.slots * high
        if not self.errors and abs(moved - mean * ios) > allowed:
            text = f"{direction}s have {moved / ios:.0f} B in the mean, and "
            yield Fault.SIZES, f"{text}{mean:.0f} B were asked"

    def _latency_faults(self, direction: Direction, latency: Latency) -> Findings:
        if self.run.record.lasted_s is not None and latency.mean_ns < LEAST_MEAN_NS:
            text = f"{direction}s took {latency.mean_ns:g} ns, as no I/O can"
            yield Fault.DEPTH_BELOW, text
        if latency.max_ns > self.run.limit_s * SECOND_NS:
            longest_s = latency.max_ns / SECOND_NS
            yield Fault.RUN_TIME, f"a {direction} of {longest_s:g} s is none of the run"
        key = ("", self.stream.name, direction)
        if not latency.percentiles or key not in self.run.histograms:
            yield Fault.HISTOGRAM_MISSING, f"{direction}s have no latency histogram"

    def _count_faults(self) -> Findings:
        result, stream, syncs = self.result, self.stream, self.result.sync_ios
        flushes = result.directions.get("flush")
        if flushes and syncs not in (0, flushes.ios + flushes.errors):
            text = f"{syncs} flushes, of which {flushes.ios} have a latency"
            yield Fault.SERIES_SUM, text
        verified, backlog = result.verified_bytes, result.backlog_ios
        if min(syncs, backlog, verified, result.verify_errors) < 0:
            yield Fault.NEGATIVE_COUNT, "a count is negative"
        if syncs and not (stream.sync_every or stream.replay):
            yield Fault.DIRECTION, f"{syncs} flushes, which were not asked"
        read = self.done["read"].bytes
        if verified > (read if stream.verify else 0):
            yield Fault.DIRECTION, f"{verified} B verified, of {read} B read"
        if backlog and not (stream.rate or stream.replay):
            yield Fault.RATE, f"a backlog of {backlog} I/Os without a rate"

    def _flush_faults(self) -> Findings:
        """One flush after so many writes of each thread; a commit ends with one."""
        flushes, commits = (self.done[direction] for direction in SYNCS)
        own, least = commits.latency, flushes.latency
        if commits.ios > flushes.ios:
            yield Fault.SERIES_SUM, f"{commits.ios} commits by {flushes.ios} flushes"
        elif own and least and own.min_ns < least.min_ns * (1 - BUCKET) - 1:
            yield Fault.MEAN_OUTSIDE, "a commit took less than any flush"
        every = self.stream.sync_every
        if every and not (self.errors or self.stream.replay):
            count = max(self.result.sync_ios, flushes.ios + flushes.errors)
            due = self.done["write"].ios / every
            slack = SLACK * due + 3 * self.slots
            # fio counts reads as well
            if not due - slack <= count <= due + self.done["read"].ios / every + slack:
                text = f"{count} flushes, and about {due:.0f} were asked"
                yield Fault.DIRECTION, text

    def _amount_faults(self) -> Findings:
        """No more than the passes, the pauses or the trace leave room for."""
        stream, passes, last = self.stream, self.job.passes or 0, 2 * self.slots
        moved = sum(done.bytes for done in self.data)
        most = stream.pass_bytes * passes * (1 + PASS_SLACK)
        if passes and moved > most + last * max(stream.sizes_bytes, default=0):
            yield Fault.SIZES, f"{moved} B are more than {passes:g} passes"
        if stream.pause_ns:
            pauses = self.run_s * SECOND_NS / stream.pause_ns * (1 + SLACK) + 2
            if self.ios > self.slots / stream.qd * stream.pause_every * pauses + last:
                yield Fault.RATE, f"{self.ios} I/Os leave no time for the pauses"

    def _own_time_faults(self) -> Findings:
        """A stream that nothing ends before the run is measured until its end."""
        stream, record, own_s = self.stream, self.run.record, self.result.run_s
        if own_s is None or self.ends_early or self.is_led or record.power_cut:
            return
        due_s = stream.own_ns(round(record.run_s * SECOND_NS)) / SECOND_NS
        edges_s = 2 * (self.run.longest_s + stream.pause_ns / SECOND_NS) + SLACK_S
        if own_s < due_s * (1 - SLACK) - edges_s:
            text = f"it took {own_s:g} s of the {due_s:g} s that it has of the run"
            yield Fault.RUN_TIME, text

    def _mix_faults(self) -> Findings:
        """Whether reads, writes and trims have the shares that were asked."""
        stream = self.stream
        if self.is_led:
            return
        reads, trims = self.done["read"].ios, self.done["trim"].ios
        for what, ios, total, percent in (
            ("reads", reads, self.ios - trims, stream.read_percent),
            ("trims", trims, self.ios, stream.trim_percent),
        ):
            share = percent / 100
            allowed = SIGMAS * sqrt(total * share * (1 - share)) + 2 * self.slots
            allowed += SLACK * total
            if share not in (0, 1) and abs(ios - share * total) > allowed:
                text = f"{ios} of {total} I/Os are {what}, and {percent:g} % were asked"
                yield Fault.MIX, text

    def _depth_faults(self) -> Findings:
        """Little's law: IOPS × mean latency is what is outstanding in the mean."""
        stream, slots = self.stream, self.slots
        if stream.rate or (stream.replay and stream.pace == "recorded"):
            return  # latencies begin when an I/O is due, not when it is issued
        timed = _timed(self.data)
        busy_s = sum(ios * latency.mean_ns for ios, latency in timed) / SECOND_NS
        # the end of the run left out at most one I/O a slot
        longest_ns = max((latency.max_ns for _, latency in timed), default=0)
        left_out_s = slots * longest_ns / SECOND_NS + SLACK_S / 10
        slots_s = slots * self.run_s
        most_s = slots_s * (1 + DEPTH_SLACK) + slots * TICK_S
        if busy_s > most_s + self._last_ios_s():
            text = f"IOPS x mean latency is {busy_s / self.run_s:.4g} outstanding I/Os"
            yield Fault.DEPTH_ABOVE, f"{text}, and {slots} were asked"
        elif busy_s + left_out_s < self._least_busy() * slots_s:
            depth = f"{busy_s / self.run_s:.2g} outstanding I/Os of {slots}"
            text = f"IOPS x mean latency is {depth}, without a pause or a rate"
            yield Fault.DEPTH_BELOW, text

    def _last_ios_s(self) -> float:
        """The sum of the longest I/Os, one a slot: it may end beyond the run."""
        parts = [self.run.histograms.get(("", self.stream.name, d)) for d in DIRECTIONS]
        bins = Histogram.merged(part for part in parts if part is not None)
        count, edges_ns = bins.count[::-1], np.add(*bucket_ranges())[bins.index[::-1]]
        used = np.clip(self.slots - count.cumsum() + count, 0, count)
        return float(used @ edges_ns) / SECOND_NS

    def _least_busy(self) -> float:
        """The least share of the time that slots of a closed loop are in use."""
        stream, record, cpu = self.stream, self.run.record, self.run.record.cpu
        pauses = stream.pause_ns or stream.sync_every or self.is_led
        # who is done early waits for the others
        waits = self.ends_early and (len(self.job.streams) > 1 or stream.threads > 1)
        if pauses or record.events or record.power_cut or waits:
            return 0.0
        if cpu is None or not self.run_s or stream.verify:
            return LEAST_BUSY
        used = (cpu.user_ns + cpu.system_ns) / SECOND_NS / self.run_s
        return max(LEAST_BUSY, 0.4 - used)

    def _gap_faults(self, gap_s: float) -> Findings:
        run_s, series = self.run_s, self.run.detail.series
        if gap_s < 0 or gap_s > self.run.limit_s:  # its end may be seen late
            yield Fault.RUN_TIME, f"a gap of {gap_s:g} s in {run_s:g} s"
        if (self.ios + 1) * gap_s < run_s / 2:
            text = f"{self.ios} I/Os in {run_s:g} s have a gap above {gap_s:g} s"
            yield Fault.RUN_TIME, text
        if len(self.job.streams) > 1 or not series:
            return
        idle_s, length_s = _longest_idle_s(series), max(p.length_s for p in series)
        edges_s = 2 * (length_s + SLACK * run_s + EDGE_S) + SLACK_S
        if abs(gap_s - idle_s) > edges_s:
            text = f"a gap of {gap_s:g} s, and {idle_s:g} s of intervals without I/Os"
            yield Fault.RUN_TIME, text


def rate_faults(
    stream: JobStream, result: StreamResult, per_s: float, time_s: float
) -> Findings:
    """What came, and what is late, is no more than is due at a rate."""
    rate, data = stream.rate, _data(result)
    if rate is None:
        return
    ios, by_bytes = sum(done.ios for done in data), rate.iops is None
    amount: float = sum(done.bytes for done in data) if by_bytes else ios
    due = per_s * time_s * stream.times * max(1, len(stream.hosts))
    unit = amount / ios if ios else 1.0
    amount += result.backlog_ios * unit
    spread = SIGMAS * rate.gap_variation * sqrt(due * unit)
    if amount > due * (1 + 2 * SLACK) + spread + 2 * slots_of(stream) * unit:
        text = f"{amount:.0f} {'B' if by_bytes else 'I/Os'} came or are late, and no "
        yield Fault.RATE, f"{text}more than {due:.0f} were due"


def slots_of(stream: JobStream) -> int:
    """The queue depth of a stream's threads on all of its targets and hosts."""
    return stream.qd * stream.threads * stream.times * max(1, len(stream.hosts))


def _data(result: StreamResult) -> list[DirectionResult]:
    """Results of the directions that move data."""
    return [done for d, done in result.directions.items() if d in DIRECTIONS]


def _allowed(stream: JobStream) -> set[Direction]:
    """The directions in which a stream may have I/Os."""
    if stream.replay:
        reads = stream.writes_as_reads or stream.only != "writes"
        writes = trims = syncs = not stream.writes_as_reads and stream.only != "reads"
    else:
        moves = stream.trim_percent < 100
        reads = moves and stream.read_percent > 0
        writes = moves and stream.read_percent < 100
        trims, syncs = stream.trim_percent > 0, bool(stream.sync_every)
    used = (reads, writes, trims, syncs, syncs)
    return {d for d, may in zip((*DIRECTIONS, *SYNCS), used, strict=True) if may}


def _longest_idle_s(series: Sequence[Interval]) -> float:
    """The longest time of intervals without an I/O."""
    runs = groupby(series, lambda point: any(point.ios.values()))
    idle_s = [sum(point.length_s for point in run) for busy, run in runs if not busy]
    return max(idle_s, default=0.0)
