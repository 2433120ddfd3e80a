"""What a plan has written on its target so far, as far as the plan alone tells."""

from __future__ import annotations

from math import inf

from ioplan.core.value import Value
from ioplan.language.plan import PurgeStep, RestStep, WriteStep
from ioplan.workload import Region, Workload

WHOLE = 100.0

Parts = tuple[tuple[float, float], ...]
"""Parts of the target from and to, in percent, in order and apart."""


class Stored(Value):
    """Which parts are written, and how often in all, in passes over the target.

    Where nothing else was written `is_erased` says that it holds nothing; else what it
    held before the plan is not known.
    """

    parts: Parts = ()
    passes: float = 0.0
    is_erased: bool = False

    def after(self, step: PurgeStep | RestStep | WriteStep) -> Stored:
        """With a step of a precondition done."""
        if isinstance(step, RestStep):
            return self
        if isinstance(step, PurgeStep):
            return Stored(is_erased=True)
        if step.passes is None or step.rule is not None:
            return self.with_writes(step.workload, None)
        shares = sum(_length(one.region) for one in step.workload.streams) / WHOLE
        return self.with_writes(step.workload, step.passes * shares)

    def with_writes(self, workload: Workload, passes: float | None) -> Stored:
        """With the writes of a run: so many passes over the target, None for many.

        A part that is written at all counts as written: this is to find mistakes, and
        to raise no false alarm.
        """
        parts = self.parts
        for stream in workload.streams:
            if stream.writes and stream.trim_percent < WHOLE:
                parts = _joined(parts, stream.region)
        total = inf if passes is None else self.passes + passes
        return Stored(parts=parts, passes=total, is_erased=self.is_erased)

    def unwritten(self, region: Region) -> Parts:
        """The parts of a region that the plan has not written."""
        found, at = [], region.start_percent
        for start, end in self.parts:
            if start > at:
                found.append((at, min(start, region.end_percent)))
            at = max(at, end)
        if at < region.end_percent:
            found.append((at, region.end_percent))
        return tuple((a, b) for a, b in found if b > a and a < region.end_percent)


def _length(region: Region) -> float:
    return region.end_percent - region.start_percent


def _joined(parts: Parts, region: Region) -> Parts:
    """The parts with one more."""
    merged: list[tuple[float, float]] = []
    for start, end in sorted((*parts, (region.start_percent, region.end_percent))):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(merged)
