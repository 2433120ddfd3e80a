"""What the intervals of runs tell: the worst second, the share beyond a limit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from ioplan.job import SECOND_NS
from ioplan.language.metric import RATES, Beyond, Metric, percent_of
from ioplan.records.record import BEYOND
from ioplan.results.measure.interval_counts import Slice

FULL_SECOND = 0.9
"""So much of a second is one, to a rate; at its end a run has a part of one."""
LONGEST = 1.5
"""Longer intervals, in seconds, do not tell a second from the next one."""
SHORT = 0.25
"""A last interval of less than this share of the longest one is left out."""

Run = Sequence[Slice]
Value = Callable[[Metric, Run], float | None]
"""A metric of some intervals: a percentile also of few I/Os."""


def over_intervals(metric: Metric, runs: Sequence[Run], value: Value) -> float | str:
    """A worst second, or a share of intervals; or why there is none."""
    if not any(runs):
        return "no run has counts of its intervals"
    if metric.beyond:
        return _share_beyond(metric.plain, metric.beyond, runs, value)
    return _worst_second(metric.plain, runs, value)


def _worst_second(plain: Metric, runs: Sequence[Run], value: Value) -> float | str:
    """The highest of all seconds, of a rate the lowest; or why there is none.

    A second is the intervals that begin in it. A percentile needs one second with
    enough I/Os; then it counts in those as well in which a stall left few.
    """
    if any(_length_s([interval]) > LONGEST for run in runs for interval in run):
        return "the intervals are longer than a second"
    seconds, is_rate = [s for run in runs for s in _seconds(run)], plain.name in RATES
    if is_rate:
        seconds = [second for second in seconds if _length_s(second) >= FULL_SECOND]
    values = [v for second in seconds if (v := value(plain, second)) is not None]
    if not values:
        return "no whole second with such an I/O was measured"
    if why := _too_few(plain, seconds, value):
        return why
    return min(values) if is_rate else max(values)


def _too_few(plain: Metric, seconds: Sequence[Run], value: Value) -> str:
    """Why no second tells the percentile; empty where any does."""
    percent = percent_of(plain.name)
    if percent is None:
        return ""
    rate = Metric(name="iops", stream=plain.stream, direction=plain.direction)
    needed = ios_needed(percent)
    most = max((value(rate, second) or 0.0) * _length_s(second) for second in seconds)
    if round(most) >= needed:
        return ""
    return f"needs {needed:,} I/Os in a second, had {round(most):,} at most"


def _share_beyond(
    plain: Metric, beyond: Beyond, runs: Sequence[Run], value: Value
) -> float | str:
    """Percent of the intervals that have the figure; or why there are none."""
    values = [value(plain, [interval]) for run in runs for interval in _full(run)]
    measured = [v for v in values if v is not None]
    if not measured:
        return "no interval with such an I/O was measured"
    sign = 1 if beyond.is_above else -1
    return 100 * sum(sign * v > sign * beyond.limit for v in measured) / len(measured)


def ios_needed(percent: float) -> int:
    """So many I/Os that a percentile of them can be believed."""
    return round(BEYOND / (1 - percent / 100))


def _seconds(run: Run) -> Sequence[Run]:
    """The intervals that begin in each second; none of a second without any."""
    seconds = defaultdict[int, list[Slice]](list)
    for interval in run:
        seconds[interval.begin_ns // SECOND_NS].append(interval)
    return list(seconds.values())


def _full(run: Run) -> Run:
    """All but a last one that the end of the run has cut short."""
    longest_s = max((_length_s([interval]) for interval in run), default=0.0)
    return run[:-1] if len(run) > 1 and _length_s(run[-1:]) < SHORT * longest_s else run


def _length_s(run: Run) -> float:
    return sum(interval.end_ns - interval.begin_ns for interval in run) / SECOND_NS
