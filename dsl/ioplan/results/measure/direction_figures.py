"""Whether the counts and latencies of one direction contradict each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import hypot, isclose, sqrt
from typing import TypeAlias

from ioplan.core.error_kinds import FigureFault
from ioplan.records.record import DirectionResult, Interval, Latency
from ioplan.results.measure.histogram import Histogram, bucket_middles, bucket_range
from ioplan.results.measure.interval_counts import IntervalSums, Key
from ioplan.results.measure.tally import clamp
from ioplan.workload import Direction

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
Histograms: TypeAlias = Mapping[tuple[str, str, Direction], Histogram]
"""By phase, stream and direction."""
EDGE_S = 1e-3
"""How far apart two intervals may lie that follow each other."""
AMOUNTS = ("ios", "bytes", "errors")
NOTHING = DirectionResult(
    ios=0, bytes=0, errors=0, iops=0, bandwidth_bytes_per_s=0, latency=None
)
Part: TypeAlias = tuple[DirectionResult, Histogram | None]
Fault = tuple[FigureFault, str]
"""What is wrong, and the text for it."""


def merged_faults(
    total: DirectionResult, parts: Sequence[Part], run_s: float
) -> Iterator[Fault]:
    """A sum of several directions or streams."""
    for name in AMOUNTS:
        amount, stated = sum(getattr(p, name) for p, _ in parts), getattr(total, name)
        if amount != stated:
            yield FigureFault.DERIVED, f"the sum of {amount} {name} is {stated}"
            return
    used = [(part, bins) for part, bins in parts if part.ios]
    known = [bins for _, bins in used if bins is not None]
    merged = Histogram.merged(known) if len(known) == len(used) > 0 else None
    yield from result_faults(total, merged, run_s)
    latencies = [(part.ios, part.latency) for part, _ in used if part.latency]
    if total.latency and latencies:
        mean_ns = sum(ios * latency.mean_ns for ios, latency in latencies) / total.ios
        low_ns = min(latency.min_ns for _, latency in latencies)
        high_ns = max(latency.max_ns for _, latency in latencies)
        same = (low_ns, high_ns) == (total.latency.min_ns, total.latency.max_ns)
        if not (same and isclose(mean_ns, total.latency.mean_ns, rel_tol=ROUNDING)):
            yield FigureFault.DERIVED, "its latencies are not those of its parts"


def result_faults(
    done: DirectionResult, histogram: Histogram | None, run_s: float
) -> Iterator[Fault]:
    if min(done.ios, done.bytes, done.errors) < 0:
        yield FigureFault.NEGATIVE_COUNT, "a count is negative"
    if not done.ios and (done.bytes or done.latency):
        text = "bytes or latencies were counted, but no I/O"
        yield FigureFault.COUNTS_WITHOUT_IO, text
    rates = (done.ios, done.iops), (done.bytes, done.bandwidth_bytes_per_s)
    for amount, rate in rates if run_s > 0 else ():
        if not isclose(rate, amount / run_s, rel_tol=ROUNDING, abs_tol=ROUNDING):
            text = f"{amount} in {run_s:g} s are not {rate:g} a second"
            yield FigureFault.DERIVED, text
    if done.ios and done.latency:
        yield from _latency_faults(done.latency)
        if histogram is not None and histogram.total:
            yield from _histogram_faults(done.ios, done.latency, histogram)


def _latency_faults(latency: Latency) -> Iterator[Fault]:
    low, high, mean_ns = latency.min_ns, latency.max_ns, latency.mean_ns
    if low > high:
        text = f"the smallest latency, {low} ns, exceeds the largest, {high} ns"
        yield FigureFault.EXTREMES_SWAPPED, text
    elif low < 0 or not low * (1 - ROUNDING) <= mean_ns <= high * (1 + ROUNDING):
        text = "the mean latency lies outside the smallest and the largest"
        yield FigureFault.MEAN_OUTSIDE, text
    elif not 0 <= latency.stddev_ns <= (high - low) / 2 * (1 + BUCKET) + 1:
        text = f"no latencies from {low} to {high} ns deviate by {latency.stddev_ns:g}"
        yield FigureFault.DEVIATION, text
    values = [value for _, value in sorted(_percentiles(latency))]
    if values != sorted(values):
        yield FigureFault.PERCENTILES, "a higher percentile has a smaller latency"
    if values and not _least(low) <= values[0] <= values[-1] <= _most(high):
        text = "a percentile lies outside the smallest and the largest latency"
        yield FigureFault.PERCENTILES, text


def _histogram_faults(
    ios: int, latency: Latency, histogram: Histogram
) -> Iterator[Fault]:
    if histogram.total != ios:
        text = f"the histogram counts {histogram.total} latencies, but {ios} I/Os "
        yield FigureFault.HISTOGRAM_COUNT, text + "completed"
        return
    used = histogram.index[histogram.count > 0].tolist()
    first, last = (bucket_range(used[at], histogram.bits) for at in (0, -1))
    if last[0] >= SATURATED_NS:
        return  # of fio's histogram that is all that is known
    exact_ns, binned_ns = latency.mean_ns, histogram.mean_ns()
    if abs(binned_ns - exact_ns) > exact_ns * BUCKET + 1:
        text = f"the histogram's mean, {binned_ns:.0f} ns, is more than 1 % from the "
        yield FigureFault.HISTOGRAM_MEAN, f"{text}exact mean, {exact_ns:.0f} ns"
    low, high = latency.min_ns, latency.max_ns
    ends = (low, first), (high, last)  # a bucket of fio's overlaps its neighbours
    if not all(_least(begin) <= ns <= _most(end) for ns, (begin, end) in ends):
        text = "the histogram does not begin and end with the extreme latencies"
        yield FigureFault.HISTOGRAM_EXTREMES, text
    squares = (bucket_middles(histogram.bits)[histogram.index] - binned_ns) ** 2
    spread_ns = sqrt(float(squares @ histogram.count) / ios)
    stated_ns = latency.stddev_ns
    allowed_ns = 2 * BUCKET * sqrt(exact_ns**2 + spread_ns**2) + 1
    if abs(spread_ns - stated_ns) > allowed_ns:
        text = f"the histogram deviates by {spread_ns:.0f} ns, not {stated_ns:.0f}"
        yield FigureFault.DEVIATION, text
    for percent, stated_ns in _percentiles(latency):
        value_ns = clamp(histogram.percentile_ns(percent), low, high)
        if not isclose(value_ns, stated_ns, rel_tol=2 * BUCKET, abs_tol=1):
            text = f"p{percent:g} is {value_ns:.0f} ns by its histogram, not "
            yield FigureFault.PERCENTILES, f"{text}{stated_ns:.0f}"


def _percentiles(latency: Latency) -> list[tuple[float, float]]:
    return [(one.percent, one.latency_ns) for one in latency.percentiles]


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


def order_faults(series: Sequence[Interval]) -> Iterator[Fault]:
    before_s = 0.0
    for point in series:
        if point.length_s <= 0 or abs(point.t_s - point.length_s - before_s) > EDGE_S:
            text = f"the interval that ends at {point.t_s:g} s does not follow the last"
            yield FigureFault.INTERVAL_ORDER, text
            return
        before_s = point.t_s


def unequal(what: str, ours: Sequence[int], theirs: Sequence[int]) -> Iterator[Fault]:
    if tuple(ours) != tuple(theirs):
        pairs = " and ".join(f"{a} for {b}" for a, b in zip(ours, theirs, strict=True))
        text = f"{what}: the intervals do not add up to the result: {pairs}"
        yield FigureFault.SERIES_SUM, text


def sum_faults(
    key: Key, result: DirectionResult | None, sums: IntervalSums | None
) -> Iterator[Fault]:
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
        yield FigureFault.SERIES_SUM, text
