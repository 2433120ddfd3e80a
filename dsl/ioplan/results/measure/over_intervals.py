"""What the intervals of runs tell: the worst second, the share beyond a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ioplan.job import SECOND_NS
from ioplan.language.metric import RATES, Beyond, Metric, percent_of
from ioplan.records.record import BEYOND
from ioplan.results.measure.interval_counts import Slice

WHOLE = 0.9
"""So much of a second is one, to a rate; at its end a run has a part of one."""
LONGEST = 1.5
"""Longer intervals, in seconds, do not tell a second from the next one."""
SHORT = 0.25
"""A last interval of less than this share of the longest one is left out."""

Run = Sequence[Slice]
Value = Callable[[Metric, Run], float | None]
"""A metric of some intervals: a percentile also of few I/Os."""


def worst_second(metric: Metric, runs: Sequence[Run], value: Value) -> float | str:
    """The highest of all seconds, of a rate the lowest; or why there is none.

    A second is the intervals that begin in it. A percentile needs one second with
    enough I/Os; then it counts in those as well in which a stall left few.
    """
    if any(_length_s([one]) > LONGEST for run in runs for one in run):
        return "the intervals are longer than a second"
    seconds, plain = [part for run in runs for part in _seconds(run)], metric.plain
    if metric.name in RATES:
        seconds = [part for part in seconds if _length_s(part) >= WHOLE]
    found = [one for part in seconds if (one := value(plain, part)) is not None]
    if not found:
        return "no whole second with such an I/O was measured"
    if why := _too_few(plain, seconds, value):
        return why
    return min(found) if metric.name in RATES else max(found)


def _too_few(plain: Metric, seconds: Sequence[Run], value: Value) -> str:
    """Why no second tells the percentile; empty where one does."""
    percent = percent_of(plain.name)
    if percent is None:
        return ""
    rate, needed = plain_rate(plain), round(BEYOND / (1 - percent / 100))
    most = max((value(rate, part) or 0.0) * _length_s(part) for part in seconds)
    if round(most) >= needed:
        return ""
    return f"needs {needed:_} I/Os in a second, had {round(most):_} at most"


def plain_rate(metric: Metric) -> Metric:
    """The IOPS of what a metric is of."""
    return Metric(name="iops", stream=metric.stream, direction=metric.direction)


def share_beyond(
    metric: Metric, beyond: Beyond, runs: Sequence[Run], value: Value
) -> float | str:
    """Percent of the intervals that have the figure; or why there are none."""
    plain = metric.plain
    parts = (value(plain, [one]) for run in runs for one in _whole(run))
    found = [one for one in parts if one is not None]
    if not found:
        return "no interval with such an I/O was measured"
    sign = 1 if beyond.is_above else -1
    return 100 * sum(sign * one > sign * beyond.limit for one in found) / len(found)


def _seconds(run: Run) -> Iterator[Run]:
    """The intervals that begin in each second; none of a second without any."""
    parts: dict[int, list[Slice]] = {}
    for one in run:
        parts.setdefault(one.begin_ns // SECOND_NS, []).append(one)
    yield from parts.values()


def _whole(run: Run) -> Run:
    """All but a last one that the end of the run has cut short."""
    longest_s = max((_length_s([one]) for one in run), default=0.0)
    return run[:-1] if len(run) > 1 and _length_s(run[-1:]) < SHORT * longest_s else run


def _length_s(part: Run) -> float:
    return sum(one.end_ns - one.begin_ns for one in part) / SECOND_NS
