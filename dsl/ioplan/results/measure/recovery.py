"""What an event of the lab cost: the time until all was as before, the work lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from statistics import fmean, median
from typing import NamedTuple

from ioplan.job import SECOND_NS
from ioplan.language.metric import LEAST_BEFORE, Metric, Recovery
from ioplan.records.record import EventMade, Interval
from ioplan.results.measure.interval import value_at

LEAST_HELD = 5
"""So many intervals the metric has to stay within its bound, or for the stated time."""
MOST_OUTSIDE = 0.2
"""A level of which more is outside of the bound before any event tells nothing."""

Series = Sequence[Interval]


class Recovered(NamedTuple):
    """How long it took; else why that is unknown, and how long it took at least."""

    took_s: float | None
    why: str = ""
    at_least_s: float | None = None


def recovery(metric: Metric, series: Series, events: Sequence[EventMade]) -> Recovered:
    """The longest time from an event until the metric stays near its level.

    It has to stay there until the event's command has ended, which may act late. The
    level is the median of the intervals before the first event. As large a share
    as was outside of the bound then may be so afterwards: that is its noise.
    """
    asked = metric.recovery or Recovery()
    before, why = _before(series, events)
    if why:
        return Recovered(None, why)
    near = _Near(asked, before)
    if near.outside > MOST_OUTSIDE:
        share = f"{near.outside:.0%} of the intervals before the event"
        return Recovered(None, f"{share} were not within {asked.to_percent:g} %")
    found = [_after(near, series, event) for event in events]
    unknown = [one for one in found if one.took_s is None]
    return max(unknown or found, key=lambda one: one.took_s or one.at_least_s or 0.0)


def lost_ios(series: Series, events: Sequence[EventMade]) -> float | str:
    """I/Os that were not done since the first event, at the rate before it; or why not.

    What an open loop catches up later is done.
    """
    before, why = _before(series, events)
    if why:
        return why
    rate = fmean(_iops(one) for one in before)
    after = [one for one in series if one.t_s > _first_s(events)]
    due = rate * sum(one.length_s for one in after)
    done = sum(_iops(one) * one.length_s for one in after)
    return float(max(0, round(due - done)))


def _iops(interval: Interval) -> float:
    return value_at(Metric(name="iops"), interval) or 0.0


def _first_s(events: Sequence[EventMade]) -> float:
    return min(event.start_s for event in events)


def _before(series: Series, events: Sequence[EventMade]) -> tuple[list[Interval], str]:
    """The intervals before the first event, or why they tell no level."""
    if not events:
        return [], "the run had no event"
    before = [one for one in series if one.t_s <= _first_s(events)]
    if len(before) < LEAST_BEFORE:
        text = f"needs {LEAST_BEFORE} intervals before the event, had {len(before)}"
        return [], text
    return before, ""


class _Near:
    """Whether intervals are near the level of those before."""

    def __init__(self, asked: Recovery, before: Series) -> None:
        self.metric, self.percent = Metric(name=asked.of), asked.to_percent
        self.held_s = asked.held_ns / SECOND_NS
        known = (value_at(self.metric, one) for one in before)
        self.level = median([value for value in known if value is not None] or [0.0])
        self.outside = fmean(not self.holds(one) for one in before)

    def holds(self, interval: Interval) -> bool:
        """At most this share of a latency, or at least this share of a rate."""
        value, bound = value_at(self.metric, interval), self.level * self.percent / 100
        if value is None:
            return False
        return value <= bound if self.metric.unit == "ns" else value >= bound

    def holding(self, after: Series, acting: int) -> Iterator[bool]:
        """Whether the metric stays near from each interval on, and to the last of those
        in which the event is `acting`."""
        length_s = median([one.length_s for one in after])
        count = max(LEAST_HELD, ceil(self.held_s / length_s - 1e-6))
        holds = [self.holds(one) for one in after]
        starts = range(len(holds) - count + 1)
        most = self.outside * count
        bad = {at for at in starts if holds[at : at + count].count(False) > most}
        last_bad = max((at for at in bad if at + count <= acting), default=-1)
        for at in starts:
            yield holds[at] and at not in bad and at > last_bad


def _after(near: _Near, series: Series, event: EventMade) -> Recovered:
    """From one event on."""
    start_s = event.start_s
    after = [one for one in series if one.t_s > start_s]
    acting = sum(one.t_s - one.length_s < event.end_s for one in after)
    if not after:
        return Recovered(None, "the run ended with the event")
    for interval, holds in zip(after, near.holding(after, acting), strict=False):
        if holds:
            began_s = interval.t_s - interval.length_s
            return Recovered(max(0.0, began_s - start_s))
    last_bad = [one for one in after if not near.holds(one)][-1:]
    at_least_s = last_bad[0].t_s - start_s if last_bad else 0.0
    why = f"{near.metric} did not stay within {near.percent:g} % until the run's end"
    return Recovered(None, why, max(0.0, at_least_s))
