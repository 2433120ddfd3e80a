"""What a throttled volume sustains, and how large a burst it gave before that.

A bucket of tokens is full at first. Until it is empty the volume does as much as it
can, and then as much as flows in: all that was done is a line over time, whose slope
is the limit, and which began at the size of the burst.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, median, pstdev
from typing import NamedTuple

from ioplan.core.units import iops_text, time_text
from ioplan.language.metric import Metric
from ioplan.records.record import Interval
from ioplan.results.measure.interval import value_at
from ioplan.results.measure.levels import LEAST, changes

SURE = 3.0
"""A burst of fewer standard errors than this is none."""


class Throttled(NamedTuple):
    """The sustained rate and the burst beyond it, or why they are unknown."""

    per_s: float = 0.0
    burst: float = 0.0
    why: str = ""


def throttled(name: str, series: Sequence[Interval]) -> Throttled:
    """How `iops` or `bandwidth` was throttled: the last level, and what preceded it."""
    metric = Metric(name=name)
    whole = [one for one in series if one.length_s][:-1]  # the last may be cut short
    rates = [value_at(metric, one) or 0.0 for one in whole]
    begin = (changes(rates) or [0])[-1] + 1  # a level may begin within an interval
    begin = _settled(rates, begin)
    last, lengths_s = rates[begin:], [one.length_s for one in whole]
    if len(last) < LEAST:
        return Throttled(why=f"its last level has {len(last)} intervals, needs {LEAST}")
    amounts = [rate * length for rate, length in zip(rates, lengths_s, strict=True)]
    per_s = sum(amounts[begin:]) / sum(lengths_s[begin:])
    idle = int(rates[0] < per_s)
    burst = sum(amounts[idle:]) - per_s * sum(lengths_s[idle:])  # a full bucket waits
    error = sum(lengths_s) * pstdev(last) / sqrt(len(last))
    if burst < -SURE * error:
        return Throttled(why="the rate rose during the run")
    return Throttled(per_s, burst if burst > SURE * error else 0.0)


OFF = 0.1
"""A first interval further from the others' median still belongs to the burst."""


def _settled(rates: Sequence[float], begin: int) -> int:
    """Where the level begins: a burst of one interval is too short to be one."""
    usual = median(rates[begin:]) if rates[begin:] else 0.0
    scatter = median([abs(rate - usual) for rate in rates[begin:]] or [0.0])
    far = max(OFF * usual, 2 * SURE * scatter)
    while begin < len(rates) and abs(rates[begin] - usual) > far:
        begin += 1
    return begin


SPENT = 0.8
"""A last level above this share of the one before is no limit that was reached."""
FLAT = 0.02
"""A bucket's refill scatters less; what heat or a busy neighbour leaves, more."""


def spent(series: Sequence[Interval]) -> str:
    """That reads fell to a level that looks like a volume's limit; empty if not."""
    whole = [one for one in series if one.length_s][:-1]
    rates = [value_at(Metric(name="iops"), one) or 0.0 for one in whole]
    cut = (changes(rates) or [0])[-1]
    before, last = rates[:cut], rates[cut + 1 :]
    if not before or len(last) < LEAST or not median(last):
        return ""
    usual = median(last)
    off = median(abs(one - usual) for one in last)  # what comes late is caught up
    if usual > SPENT * fmean(before) or off > FLAT * usual:
        return ""
    high, low = iops_text(fmean(before)), iops_text(usual)
    at = time_text(whole[cut].t_s - whole[cut].length_s)
    return (
        f"reads fell from {high} to {low} IOPS at {at}, and stayed there: if this is a "
        "throttled volume, its burst credits are used up, and what ran before is not "
        "what it sustains; the suite cloud/limits tells"
    )
