"""How fast a cache or erased blocks come back while a drive is idle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from statistics import fmean

from msgspec.structs import replace

from ioplan.records.record import RunRecord
from ioplan.results.measure.over_time import FALL, Burst, OverTime
from ioplan.results.report.headlines.doubts import is_virtual

SAME = 1.1
"""A run that ends at no more than so many times the sustained rate has used up what
came before."""
ALL = 0.95
"""So much of what an unpaused run had may be all of it."""

Writes = Mapping[int, RunRecord]
"""The writing runs of a test by their numbers."""


def with_pause(
    burst: Burst, run: RunRecord, writes: Writes, over: Callable[[RunRecord], OverTime]
) -> Burst:
    """The burst of a run; all that precedes its last level, with the pause that made it
    possible, where the plan leaves the drive idle right before the run, and the run
    before that wrote the same until its own burst was used up.
    """
    before, regained = writes.get(run.seq - 1), over(run).unsustained
    if not (before and regained and _is_paused(run) and _wrote_alike(before, run)):
        return burst
    sustained, last = fmean(over(run).sustained), fmean(over(before).sustained or [0.0])
    if not last <= SAME * sustained or sustained > FALL * regained.value:
        return burst
    others = (over(one).unsustained for one in writes.values() if not _is_paused(one))
    most = max((one.written_bytes for one in others if one), default=0.0)
    is_least = regained.written_bytes >= ALL * most
    return replace(regained, idle_s=_idle_s(before, run), may_be_all=is_least)


def _is_paused(run: RunRecord) -> bool:
    return bool(run.state and run.state.idle_s)


def _wrote_alike(before: RunRecord, run: RunRecord) -> bool:
    """Whether the run, all of which was measured, wrote what that before did."""
    is_alike = before.asked.workload == run.asked.workload
    return is_alike and before.status == "ok" and not run.asked.job.warmup_ns


def _idle_s(before: RunRecord, run: RunRecord) -> float:
    """Between the runs; a simulated clock runs ahead of ours."""
    if is_virtual(run.backend.name):
        return run.state.idle_s if run.state else 0.0
    begin, end = map(datetime.fromisoformat, (before.ended_at, run.started_at))
    return (end - begin).total_seconds()
