"""What power cuts can have shown, and the bound that those without a loss give.

A cut shows nothing of a promise unless blocks were read after it of which that had been
promised. The bound stands wherever the zero stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ioplan.core.text import counted
from ioplan.core.units import digits
from ioplan.language.metric import SURVIVAL, Metric
from ioplan.records.record import RunRecord

BROKEN = (
    *("lost_flushed", "lost_fua", "older_than_durable"),
    *("torn", "checksum", "misdirected", "foreign"),
)
"""Facts of `verify` that no honest drive has."""
FLUSHED, WITH_FUA, SEEN = "promised_by_flush", "promised_by_fua", "promised_by_read"
PROMISES = {
    FLUSHED: "been flushed",
    WITH_FUA: "been written with FUA",
    SEEN: "been read after an earlier one",
}
"""Facts of `verify`: blocks read after a cut of which something had been promised."""
PROMISED_BY = {
    "lost_flushed": (FLUSHED,),
    "lost_fua": (WITH_FUA,),
    "older_than_durable": (SEEN,),
    "reordered": (FLUSHED, WITH_FUA),
    "overtaken": (FLUSHED, WITH_FUA),
}
BOUNDED = (*BROKEN, "reordered", "overtaken", "torn_writes")
CONFIDENCE = 0.95


def bound_text(cuts: int) -> str:
    """The largest share of losses with which so many cuts without one are credible.

    1 - 0.05^(1/n): the exact (Clopper-Pearson) upper limit for 0 of n; about 3/n.
    """
    return f"at most {digits(100 * (1 - (1 - CONFIDENCE) ** (1 / cuts)), 2)} %"


def zero_text(metric: Metric, value: float | None, cuts: int) -> str:
    """`0 in 10 cuts: at most 26 % with 95 % confidence`; empty where it is no zero."""
    if value != 0 or not cuts or metric.name not in BOUNDED:
        return ""
    return f"0 in {counted(cuts, 'cut')}: {bound_text(cuts)} with 95 % confidence"


def shows(name: str, facts: Any) -> bool:
    """Whether a run's fact `verify` says something of this promise."""
    if not isinstance(facts, dict) or not any(map(facts.get, SURVIVAL)):
        return False
    return name not in PROMISED_BY or any(map(facts.get, (*PROMISED_BY[name], name)))


def blocks(name: str, runs: Iterable[Any]) -> float | str:
    """How many blocks of all runs that read after a power cut; or why none is known."""
    facts = [*map(verify_facts, runs)]
    judged = [fact for fact in facts if shows(name, fact)]
    if judged:
        return float(sum(int(fact.get(name, 0)) for fact in judged))
    if not any(shows("", fact) for fact in facts):
        return "no block was judged after a power cut"
    had = " or ".join(PROMISES[promise] for promise in PROMISED_BY[name])
    return f"no block that was read after a power cut had {had}"


def verify_facts(record: Any) -> Any:
    backend = getattr(record, "backend", None)
    return backend.facts.get("verify") if backend else None


def cuts_read(
    records: Iterable[RunRecord], reads: Iterable[Any], metric: Metric
) -> int:
    """How many cuts in one cell these runs can have judged."""
    judged = sum(shows(metric.name, verify_facts(run)) for run in reads)
    return min(judged, sum(run.power_cut is not None for run in records))
