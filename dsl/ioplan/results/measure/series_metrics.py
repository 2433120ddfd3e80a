"""What a run's series tells: the cost of events, and how a volume was throttled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, sqrt
from operator import mul
from statistics import fmean, median, pstdev

from ioplan.core.units import iops_text, percent_text, time_text
from ioplan.job import SECOND_NS
from ioplan.language.metric import LEAST_BEFORE, Metric, Recovery
from ioplan.records.record import EventMade, Interval
from ioplan.results.measure.series import LEAST, changes, value_at

LEAST_HELD = 5
"""So many intervals the metric has to stay within its bound, or for the stated time."""
MOST_OUTSIDE = 0.2
"""A level of which more is outside of the bound before any event tells nothing."""
IOPS = Metric(name="iops")

Series = Sequence[Interval]
Events = Sequence[EventMade]
Time = tuple[float | None, str, float | None]
"""In nanoseconds; else why it is unknown, and how long it is at least."""


def recoveries(asked: Recovery, series: Series, events: Events) -> Iterator[Time]:
    """From each event until the metric stays near its level, or why that is unknown.

    It has to stay there until the event's command has ended, which may act late. The
    level is the median of the intervals before the first event. As large a share
    as was outside of the bound then may be so afterwards: that is its noise.
    """
    before, why = _before(series, events)
    if why:
        yield None, why, None
        return
    of = Metric(name=asked.of)
    values = [value_at(of, interval) for interval in before]
    known = [value for value in values if value is not None]
    bound = median(known or [0.0]) * asked.to_percent / 100

    def is_near(interval: Interval) -> bool:
        value = value_at(of, interval)
        if value is None:
            return False
        return value <= bound if of.unit == "ns" else value >= bound

    outside = fmean(not is_near(interval) for interval in before)
    if outside > MOST_OUTSIDE:
        share = f"{percent_text(100 * outside)} of the intervals before the event"
        yield None, f"{share} were not within {asked.to_percent:g} %", None
        return
    for event in events:
        after = [interval for interval in series if interval.t_s > event.start_s]
        yield _recovery(asked, event, after, [*map(is_near, after)], outside)


def _recovery(
    asked: Recovery,
    event: EventMade,
    after: Series,
    near: Sequence[bool],
    outside: float,
) -> Time:
    """From an event until the intervals after it stay `near`, but for a share."""
    if not after:
        return None, "the run ended with the event", None
    length_s = median([interval.length_s for interval in after])
    count = max(LEAST_HELD, ceil(asked.held_ns / SECOND_NS / length_s - 1e-6))
    places = range(len(near) - count + 1)
    leaves = [near[at : at + count].count(False) > outside * count for at in places]
    acting = sum(interval.t_s - interval.length_s < event.end_s for interval in after)
    while_acting = (at for at in places if leaves[at] and at + count <= acting)
    for at in places[max(while_acting, default=-1) + 1 :]:
        if near[at] and not leaves[at]:
            took_s = after[at].t_s - after[at].length_s - event.start_s
            return max(0.0, took_s) * SECOND_NS, "", None
    ends_s = zip((interval.t_s for interval in after), near, strict=True)
    away_s = [t_s for t_s, is_near in ends_s if not is_near]
    least_s = max(0.0, away_s[-1] - event.start_s) if away_s else 0.0
    of = f"{asked.of} did not stay within {asked.to_percent:g} %"
    return None, f"{of} until the run's end", least_s * SECOND_NS


def lost_ios(series: Series, events: Events) -> float | str:
    """I/Os not done since the first event, at the rate before it; or why not known.

    What an open loop catches up later is done.
    """
    before, why = _before(series, events)
    if why:
        return why
    rate = fmean(value_at(IOPS, interval) or 0.0 for interval in before)
    after = [interval for interval in series if interval.t_s > _first_s(events)]
    due = rate * sum(interval.length_s for interval in after)
    done = sum(
        (value_at(IOPS, interval) or 0.0) * interval.length_s for interval in after
    )
    return float(max(0, round(due - done)))


def _first_s(events: Events) -> float:
    return min(event.start_s for event in events)


def _before(series: Series, events: Events) -> tuple[list[Interval], str]:
    """The intervals before the first event, or why they tell no level."""
    if not events:
        return [], "the run had no event"
    before = [interval for interval in series if interval.t_s <= _first_s(events)]
    if len(before) < LEAST_BEFORE:
        text = f"needs {LEAST_BEFORE} intervals before the event, had {len(before)}"
        return [], text
    return before, ""


SURE = 3.0
"""A burst of fewer standard errors than this is none."""
OFF = 0.1
"""A first interval further from the others' median still belongs to the burst."""


def throttled(name: str, series: Series) -> tuple[float, float] | str:
    """The rate that `iops` or `bandwidth` sustained, and the burst beyond it; or why
    they are unknown.

    A bucket of tokens is full at first. Until it is empty the volume does as much as it
    can, and then as much as flows in: all that was done is a line over time, whose
    slope is the limit, and which began at the size of the burst.
    """
    rates, lengths_s = _rates(name, series)
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


def _rates(name: str, series: Series) -> tuple[list[float], list[float]]:
    """The rates and lengths of the intervals but the last, which may be cut short."""
    intervals = [interval for interval in series if interval.length_s][:-1]
    rates = [value_at(Metric(name=name), interval) or 0.0 for interval in intervals]
    return rates, [interval.length_s for interval in intervals]


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


SPENT = 0.8
"""A last level above this share of the interval before is no limit that was reached."""
FLAT = 0.02
"""A bucket's refill scatters less; what heat or a busy neighbour leaves, more."""


def spent(series: Series) -> str:
    """That reads fell to a level that looks like a volume's limit; empty if not."""
    rates, _ = _rates("iops", series)
    cut = (changes(rates) or [0])[-1]
    before, last = rates[:cut], rates[cut + 1 :]
    if not before or len(last) < LEAST or not (usual := median(last)):
        return ""
    off = median(abs(rate - usual) for rate in last)  # what comes late is caught up
    if usual > SPENT * fmean(before) or off > FLAT * usual:
        return ""
    first = [interval for interval in series if interval.length_s][cut]
    return (
        f"reads fell from {iops_text(fmean(before))} to {iops_text(usual)} IOPS at "
        f"{time_text(first.t_s - first.length_s)}, and stayed there: a "
        "throttled volume that has used up its burst credits does so, and sustains "
        "only the lower rate; the suite cloud/limits measures both"
    )
