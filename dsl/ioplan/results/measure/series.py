"""The series of a run: its points, the levels where its mean changes for good, as when
a cache is full, the cost of events, and how a volume was throttled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from math import ceil, inf, sqrt
from operator import mul
from statistics import fmean, median, pstdev

from ioplan.core.statistics.student_t import tail
from ioplan.core.units import bandwidth_text, iops_text, percent_text, time_text
from ioplan.job import SECOND_NS, Progress
from ioplan.language.metric import (
    LEAST_BEFORE,
    OF_HOST_IN_INTERVALS,
    RATES,
    Metric,
    Recovery,
)
from ioplan.planner.seek.batch_means import MIN_BATCHES, variance_of_sum
from ioplan.records.record import EventMade, Interval
from ioplan.results.measure.tally import (
    READ_WRITE,
    CountsBuilder,
    StreamCountsBuilder,
    moved,
)
from ioplan.workload import DIRECTIONS, SYNCS, Direction

PERCENTILES = {50.0: "p50_ns", 99.0: "p99_ns", 99.9: "p99_9_ns"}
PERCENTS = tuple(PERCENTILES)
OF_ALL = {
    **{"errors": "errors", "mean": "mean_ns", "max": "max_ns"},
    **{f"p{percent:g}": field for percent, field in PERCENTILES.items()},
}
"""What an interval of the series has of all streams and directions together."""

Series = Sequence[Interval]


def interval(progress: Progress, streams: Sequence[StreamCountsBuilder]) -> Interval:
    parts = [
        (direction, part)
        for stream in streams
        for direction, part in stream.directions.items()
        if direction in DIRECTIONS
    ]
    both = CountsBuilder.merged(part for d, part in parts if d in READ_WRITE)
    percentiles_ns = both.percentiles_ns(PERCENTS) or (None,) * len(PERCENTS)
    ios, sizes = Counter[Direction](), Counter[Direction]()
    for direction, part in parts:
        ios[direction] += part.ios
        sizes[direction] += part.bytes
    return Interval.complete(
        {
            "t_s": progress.t_ns / SECOND_NS,
            "length_s": progress.interval_ns / SECOND_NS,
            "ios": dict(ios),
            "bytes": dict(sizes),
            "errors": sum(part.errors for _, part in parts),
            # to 1/16 ns: a binary fraction takes half the room in the store
            "mean_ns": round(16 * both.sum_ns / both.ios) / 16 if both.ios else None,
            **dict(zip(PERCENTILES.values(), percentiles_ns, strict=True)),
            "max_ns": both.max_ns,
        }
    )


def in_series(metric: Metric) -> bool:
    """Whether the series has it; else it is made of the counts of the interval."""
    if metric.stream is not None:
        return False
    if metric.name in RATES:
        return metric.direction not in SYNCS
    return metric.direction is None and metric.name in (*OF_ALL, *OF_HOST_IN_INTERVALS)


def value_at(metric: Metric, interval: Interval) -> float | None:
    """A rate, a latency or the errors of an interval; None where it has none.

    I/Os and bytes are those of reads and writes, unless trims are asked for.
    """
    if metric.name in RATES:
        directions = (metric.direction,) if metric.direction else READ_WRITE
        amounts = interval.ios if metric.name == "iops" else interval.bytes
        length_s = interval.length_s
        return moved(amounts, directions) / length_s if length_s else None
    value = getattr(interval, OF_ALL.get(metric.name, ""), None)
    return None if value is None else float(value)


# Levels.

LEAST = 5
"""Fewer intervals are not what a run sustains."""
LEAST_LEVEL = 2
LEAST_CHANGE = 0.1
"""A smaller change of the mean is no other level."""
MOST_CHANGES = 4
CHANCE = 1e-4
"""That noise alone looks like the change, over all places where it might be."""
MOST_OFF = 0.1
"""A last level that is further from the mean of a run is not what the run had."""


def levels(values: list[float]) -> list[list[float]]:
    return _split(values, changes(values))


def changes(values: list[float]) -> list[int]:
    """The places in a series at which its mean changes for good.

    Where it changes most is looked for first. Of these changes the smallest are given
    up until noise explains none: what is left around the means, with the dependence of
    neighbours (batch means).
    """
    cuts = _candidates(values)
    while cuts:
        chances = [_chance(_split(values, cuts), at) for at in range(len(cuts))]
        highest = max(chances)
        if highest * len(values) < CHANCE:
            break
        del cuts[chances.index(highest)]
    return cuts


def _split(values: list[float], cuts: Sequence[int]) -> list[list[float]]:
    return [values[a:b] for a, b in pairwise((0, *cuts, len(values)))]


def _candidates(values: list[float]) -> list[int]:
    """Where the mean changes most, by least squares, one place after another."""
    cuts: list[int] = []
    for _ in range(MOST_CHANGES if len(values) >= MIN_BATCHES + LEAST_LEVEL else 0):
        ends = pairwise((0, *cuts, len(values)))
        gains = [gain for start, end in ends for gain in _gains(values, start, end)]
        if not gains:
            break
        cuts = sorted([*cuts, max(gains)[1]])
    return cuts


def _gains(values: list[float], start: int, end: int) -> Iterator[tuple[float, int]]:
    """How much of the squares a change explains at each place of a part."""
    count, sums = end - start, [0.0, *accumulate(values[start:end])]
    least = LEAST if end == len(values) else LEAST_LEVEL
    for k in range(LEAST_LEVEL, count - least + 1):
        off = sums[k] - sums[-1] * k / count
        yield off**2 * count / (k * (count - k)), start + k


def _chance(parts: list[list[float]], at: int) -> float:
    """The chance that noise looks like the change after a part; 1 for a small one."""
    means = [fmean(part) for part in parts]
    before, after = means[at : at + 2]
    if abs(before - after) < LEAST_CHANGE * max(before, after):
        return 1.0
    left = [v - m for part, m in zip(parts, means, strict=True) for v in part]
    variance, degrees = variance_of_sum(left)
    sizes = 1 / len(parts[at]) + 1 / len(parts[at + 1])
    error = sqrt(variance / len(left) * sizes)
    return tail(abs(before - after) / error, degrees) if error else 0.0


def _complete(series: Series) -> list[Interval]:
    """The intervals but the last, which may be cut short."""
    return [interval for interval in series if interval.length_s][:-1]


def changed_within(series: Series) -> str:
    """`2413 MB/s, then 673 MB/s`: a run whose last level is another than its mean, as
    when a cache was full; empty of any other."""
    rates = [sum(i.bytes.values()) / i.length_s for i in _complete(series)]
    parts = levels(rates)
    first, last = fmean(parts[0] or [0.0]), fmean(parts[-1] or [0.0])
    if len(parts) < 2 or abs(fmean(rates) - last) <= MOST_OFF * last:
        return ""
    return f"{bandwidth_text(first)}, then {bandwidth_text(last)}"


# The cost of events.

LEAST_HELD = 5
"""So many intervals the metric has to stay within its bound, or for the stated time."""
MOST_OUTSIDE = 0.2
"""A level of which more is outside of the bound before any event tells nothing."""
IOPS = Metric(name="iops")

Events = Sequence[EventMade]
Time = tuple[float | None, str, float | None]
"""In nanoseconds; else why it is unknown, and how long it is at least."""


def recoveries(recovery: Recovery, series: Series, events: Events) -> Iterator[Time]:
    """From each event until the metric stays near its level, or why that is unknown.

    It has to stay there until the event's command has ended, which may act late. The
    level is the median of the intervals before the first event. As large a share
    as was outside of the bound then may be so afterwards: that is its noise.
    """
    before, _, why = _around(series, events)
    metric = Metric(name=recovery.of)
    values = [v for interval in before if (v := value_at(metric, interval)) is not None]
    bound = median(values or [0.0]) * recovery.to_percent / 100
    sign = 1 if metric.unit == "ns" else -1

    def is_near(interval: Interval) -> bool:
        value = value_at(metric, interval)
        return value is not None and sign * value <= sign * bound

    outside = fmean([not is_near(interval) for interval in before] or [0])
    if outside > MOST_OUTSIDE:
        share = f"{percent_text(100 * outside)} of the intervals before the event"
        why = why or f"{share} were not within {recovery.to_percent:g} %"
    if why:
        yield None, why, None
        return
    for event in events:
        after = [interval for interval in series if interval.t_s > event.start_s]
        yield _recovery(recovery, event, after, [*map(is_near, after)], outside)


def _recovery(
    recovery: Recovery,
    event: EventMade,
    after: Series,
    near: Sequence[bool],
    outside: float,
) -> Time:
    """From an event until the intervals after it stay `near`, but for a share."""
    if not after:
        return None, "the run ended with the event", None
    length_s = median([interval.length_s for interval in after])
    count = max(LEAST_HELD, ceil(recovery.held_ns / SECOND_NS / length_s - 1e-6))
    places = range(len(near) - count + 1)
    leaves = [near[at : at + count].count(False) > outside * count for at in places]
    acting = sum(interval.t_s - interval.length_s < event.end_s for interval in after)
    while_acting = (at for at in places if leaves[at] and at + count <= acting)
    for at in places[max(while_acting, default=-1) + 1 :]:
        if near[at] and not leaves[at]:
            took_s = after[at].t_s - after[at].length_s - event.start_s
            return max(0.0, took_s) * SECOND_NS, "", None
    away_s = [i.t_s for i, is_near in zip(after, near, strict=True) if not is_near]
    least_s = max(0.0, away_s[-1] - event.start_s) if away_s else 0.0
    away = f"{recovery.of} did not stay within {recovery.to_percent:g} %"
    return None, f"{away} until the run's end", least_s * SECOND_NS


def lost_ios(series: Series, events: Events) -> float | str:
    """I/Os not done since the first event, at the rate before it; or why not known.

    What an open loop catches up later is done.
    """
    before, after, why = _around(series, events)
    if why:
        return why
    rate = fmean(value_at(IOPS, interval) or 0.0 for interval in before)
    due = rate * sum(interval.length_s for interval in after)
    done = sum((value_at(IOPS, i) or 0.0) * i.length_s for i in after)
    return float(max(0, round(due - done)))


def _around(series: Series, events: Events) -> tuple[Series, Series, str]:
    """The intervals before the first event and after it, and why they tell nothing."""
    first_s = min((event.start_s for event in events), default=inf)
    before = [interval for interval in series if interval.t_s <= first_s]
    few = f"needs {LEAST_BEFORE} intervals before the event, had {len(before)}"
    why = few * (len(before) < LEAST_BEFORE) if events else "the run had no event"
    return before, [interval for interval in series if interval.t_s > first_s], why


# Throttled volumes.

SURE = 3.0
"""A burst of fewer standard errors than this is none."""
OFF = 0.1
"""A first interval further from the others' median still belongs to the burst."""
SPENT = 0.8
"""A last level above this share of the interval before is no limit that was reached."""
FLAT = 0.02
"""A bucket's refill scatters less; what heat or a busy neighbour leaves, more."""


def throttled(name: str, series: Series) -> tuple[float, float] | str:
    """The rate that `iops` or `bandwidth` sustained, and the burst beyond it; or why
    they are unknown.

    A bucket of tokens is full at first. Until it is empty the volume does as much as it
    can, and then as much as flows in: all that was done is a line over time, whose
    slope is the limit, and which began at the size of the burst.
    """
    lengths_s = [interval.length_s for interval in _complete(series)]
    rates = _rates(name, series)
    begin = _level_begin(rates)
    last = rates[begin:]
    if len(last) < LEAST:
        return f"its last level has {len(last)} intervals, needs {LEAST}"
    amounts = [*map(mul, rates, lengths_s)]
    per_s = sum(amounts[begin:]) / sum(lengths_s[begin:])
    idle = int(rates[0] < per_s)  # a full bucket waits
    burst = sum(amounts[idle:]) - per_s * sum(lengths_s[idle:])
    error = sum(lengths_s) * pstdev(last) / sqrt(len(last))
    if burst < -SURE * error:
        return "the rate rose during the run"
    return per_s, float(round(burst)) if burst > SURE * error else 0.0


def _rates(name: str, series: Series) -> list[float]:
    metric = Metric(name=name)
    return [value_at(metric, interval) or 0.0 for interval in _complete(series)]


def _level_begin(rates: list[float]) -> int:
    """Where the last level begins: after the interval in which the rate changed, and
    after a burst that is too short to be a level."""
    begin = (changes(rates) or [0])[-1] + 1
    usual = median(rates[begin:] or [0.0])
    scatter = median([abs(rate - usual) for rate in rates[begin:]] or [0.0])
    far = max(OFF * usual, 2 * SURE * scatter)
    while begin < len(rates) and abs(rates[begin] - usual) > far:
        begin += 1
    return begin


def spent(series: Series) -> str:
    """That reads fell to a level that looks like a volume's limit; empty if not."""
    rates = _rates("iops", series)
    cut = (changes(rates) or [0])[-1]
    before, last = rates[:cut], rates[cut + 1 :]
    if not before or len(last) < LEAST or not (usual := median(last)):
        return ""
    off = median(abs(rate - usual) for rate in last)  # what comes late is caught up
    if usual > SPENT * fmean(before) or off > FLAT * usual:
        return ""
    first = _complete(series)[cut]
    return (
        f"reads fell from {iops_text(fmean(before))} to {iops_text(usual)} IOPS at "
        f"{time_text(first.t_s - first.length_s)}, and stayed there: a "
        "throttled volume that has used up its burst credits does so, and sustains "
        "only the lower rate; the suite cloud/limits measures both"
    )
