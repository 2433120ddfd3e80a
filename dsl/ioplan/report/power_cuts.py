"""What power cuts have shown: how many there were, and the bound that no loss gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ioplan.core.text import counted
from ioplan.core.units import digits
from ioplan.records.record import RunRecord
from ioplan.report.document import Judged

BROKEN = (
    *("lost_flushed", "lost_fua", "older_than_durable"),
    *("torn", "misdirected", "foreign"),
)
"""Of the facts of `verify`, those that no honest drive has."""
CONFIDENCE = 0.95


def survived(by_label: Mapping[str, Sequence[RunRecord]]) -> Iterator[Judged]:
    """A line for each session of a test that cuts the power and reads afterwards."""
    for label, records in by_label.items():
        judged = list(_judged(records))
        if judged:
            who = f"{label}: " if len(by_label) > 1 else ""
            broken = sum(judged)
            outcome = "failed" if broken else "held"
            yield Judged(outcome, who + _text(len(judged), broken))


def _text(cuts: int, broken: int) -> str:
    if broken:
        return f"a promise was broken by {broken} of {counted(cuts, 'power cut')}"
    return (
        f"no promise was broken by {counted(cuts, 'power cut')}: with 95 % confidence "
        f"at most {digits(100 * bound(cuts), 2)} % of such cuts break one"
    )


def bound(cuts: int) -> float:
    """The largest share of losses with which so many cuts without one are credible.

    1 - 0.05^(1/n): the exact (Clopper-Pearson) upper limit for 0 of n; about 3/n.
    """
    return float(1 - (1 - CONFIDENCE) ** (1 / cuts))


def _judged(records: Sequence[RunRecord]) -> Iterator[bool]:
    """Of each cut whether the first reads after it found a promise broken."""
    cut = False
    for record in sorted(records, key=lambda one: one.seq):
        if record.power_cut:
            cut = True
            continue
        found = record.backend.facts.get("verify")
        if cut and isinstance(found, dict) and BROKEN[0] in found:
            yield any(found.get(name) for name in BROKEN)
            cut = False
