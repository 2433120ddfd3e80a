"""The bound that power cuts without a loss give: it stands wherever the zero stands."""

from __future__ import annotations

from collections.abc import Iterable

from ioplan.core.text import counted
from ioplan.core.units import digits
from ioplan.language.metric import Metric
from ioplan.records.record import RunRecord

BROKEN = (
    *("lost_flushed", "lost_fua", "older_than_durable"),
    *("torn", "misdirected", "foreign"),
)
"""Facts of `verify` that no honest drive has."""
BOUNDED = (*BROKEN, "reordered", "overtaken", "torn_writes")
CONFIDENCE = 0.95


def bound(cuts: int) -> float:
    """The largest share of losses with which so many cuts without one are credible.

    1 - 0.05^(1/n): the exact (Clopper-Pearson) upper limit for 0 of n; about 3/n.
    """
    return float(1 - (1 - CONFIDENCE) ** (1 / cuts))


def bound_text(cuts: int) -> str:
    """`at most 26 %`."""
    return f"at most {digits(100 * bound(cuts), 2)} %"


def zero_text(metric: Metric, value: float | None, cuts: int) -> str:
    """`0 in 10 cuts: at most 26 % with 95 % confidence`; empty where it is no zero."""
    if value != 0 or not cuts or metric.name not in BOUNDED:
        return ""
    return f"0 in {counted(cuts, 'cut')}: {bound_text(cuts)} with 95 % confidence"


def cuts_read(records: Iterable[RunRecord], reads: int) -> int:
    """How many cuts in one cell so many reads can have judged."""
    return min(reads, sum(one.power_cut is not None for one in records))
