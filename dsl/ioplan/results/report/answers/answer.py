"""How much of a load a drive holds under a limit: measured, or bounded by neighbours.

Along the queue depth throughput and latency grow together: where one cell holds the
limit and the next does not, the most that the drive holds lies between their
throughputs, and is interpolated linearly in latency. Between two shares of reads, and
between two sizes, the time for an I/O is interpolated linearly (in the share, in
bytes), so throughput harmonically. Nothing is extrapolated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf

from msgspec import Struct

from ioplan.results.report.answers.load import Load
from ioplan.results.report.answers.measured import sizes_of
from ioplan.results.report.answers.question import Question

WIDEST_SHARE = 35.0
"""Shares of reads further apart say nothing of what is between them."""
WIDEST_SIZE = 4.0
"""The widest gap between sizes, as a ratio."""


class Held(Struct, frozen=True):
    """What a drive holds, in I/Os per second; between `low` and `high`.

    `high` is infinite where nothing more was tried. `at` is the cell that holds the
    limit, `beyond` the next one, which does not. `between` names the neighbours in
    share or size that it is interpolated from. A `value` of None: not even the lowest
    load that was measured holds the limit.
    """

    value: float | None
    low: float
    high: float
    at: Load
    beyond: Load | None = None
    between: str = ""

    @property
    def is_measured(self) -> bool:
        """Whether it is the figure of a cell."""
        return not self.between and self.value == self.low


def answer(question: Question, found: Sequence[Load]) -> Held | None:
    """What the cells of a session say; None where they say nothing."""
    share, sizes = question.stream.read_percent, sizes_of(question.stream)
    sized = [one for one in found if one.sizes == sizes]
    shared = [one for one in found if one.read_percent == share]
    both = [one for one in sized if one.read_percent == share]
    if both:
        return along_depth(question, both)
    if held := _between(question, sized, share, _share, _share_text):
        return held
    if len(sizes) > 1:
        return None
    single = [one for one in shared if one.size_bytes]
    return _between(question, single, sizes[0][0], _size, _size_text)


def along_depth(question: Question, curve: Sequence[Load]) -> Held | None:
    """The most of one curve, up to where the limit is first exceeded."""
    if question.metric is None:
        best = max(curve, key=lambda one: one.iops)
        return Held(best.iops, best.iops, best.iops, best)
    known = [one for one in curve if one.latency_ns(question.metric) is not None]
    known.sort(key=lambda one: (one.latency_ns(question.metric), one.iops))
    within = [one for one in known if _holds(question, one)]
    beyond = known[len(within)] if len(within) < len(known) else None
    if not known:
        return None
    if not within:
        return Held(None, 0.0, known[0].iops, known[0], known[0])
    best = max(within, key=lambda one: one.iops)
    if beyond is None:
        return Held(best.iops, best.iops, inf, best)
    if beyond.iops <= best.iops:
        return Held(best.iops, best.iops, best.iops, best, beyond)
    value = _crossing(question, best, beyond)
    return Held(value, best.iops, beyond.iops, best, beyond)


def _holds(question: Question, one: Load) -> bool:
    latency_ns = one.latency_ns(question.metric)
    if latency_ns is None:
        return False
    equal = latency_ns == question.limit and "<=" in question.demand
    return latency_ns < question.limit or equal


def _crossing(question: Question, below: Load, above: Load) -> float:
    """Where a straight line between two cells meets the limit."""
    low, high = (one.latency_ns(question.metric) or 0.0 for one in (below, above))
    part = (question.limit - low) / (high - low)
    return below.iops + part * (above.iops - below.iops)


def _share(one: Load) -> float:
    return one.read_percent


def _size(one: Load) -> float:
    return float(one.size_bytes or 0)


def _share_text(low: float, high: float) -> str:
    return f"{low:g} % and {high:g} % reads" if high - low <= WIDEST_SHARE else ""


def _size_text(low: float, high: float) -> str:
    near = high / low <= WIDEST_SIZE
    return f"sizes of {low / 1024:g} and {high / 1024:g} KiB" if near else ""


def _between(
    question: Question,
    found: Sequence[Load],
    wanted: float,
    place: Callable[[Load], float],
    text: Callable[[float, float], str],
) -> Held | None:
    """From the nearest curves on both sides, if they are near enough."""
    places = sorted({place(one) for one in found})
    for low, high in pairwise(places):
        if low < wanted < high and (said := text(low, high)):
            ends = [
                along_depth(question, [one for one in found if place(one) == end])
                for end in (low, high)
            ]
            part = (wanted - low) / (high - low)
            return _mixed(ends, part, said)
    return None


def _mixed(ends: Sequence[Held | None], part: float, said: str) -> Held | None:
    """Harmonically between two; None where one of them holds nothing or is unknown."""
    first, last = ends
    if not first or not last:
        return None
    lower, upper = sorted((first, last), key=lambda one: one.value or 0.0)
    if not first.value or not last.value:
        return Held(None, 0.0, upper.high, lower.at, lower.beyond, said)
    value = 1 / ((1 - part) / first.value + part / last.value)
    return Held(value, lower.low, upper.high, lower.at, lower.beyond, said)
