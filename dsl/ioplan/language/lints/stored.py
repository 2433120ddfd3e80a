"""What a plan has written on its target so far, as far as the plan alone tells."""

from __future__ import annotations

from math import inf

from msgspec import Struct
from msgspec.structs import replace

from ioplan.language.plan import PurgeStep, RestStep, WriteStep
from ioplan.workload import Region, Workload

WHOLE = 100.0

Parts = tuple[tuple[float, float], ...]
"""Parts of the target from and to, in percent, in order and apart."""


class Stored(Struct, frozen=True):
    """Which parts are written, and how often in all, in passes over the target.

    Where nothing else was written `is_erased` says that it holds nothing; else what it
    held before the plan is not known.
    """

    parts: Parts = ()
    passes: float = 0.0
    is_erased: bool = False
    capacity_bytes: float = 1e12

    def after(self, step: PurgeStep | RestStep | WriteStep) -> Stored:
        """With a step of a precondition done."""
        if isinstance(step, RestStep):
            return self
        if isinstance(step, PurgeStep):
            return replace(self, parts=(), passes=0.0, is_erased=True)
        if step.passes is None or step.rule is not None:
            return self.with_writes(step.workload, None)
        shares = sum(self._length(one.region) for one in step.workload.streams) / WHOLE
        return self.with_writes(step.workload, step.passes * shares)

    def with_writes(self, workload: Workload, passes: float | None) -> Stored:
        """With the writes of a run: so many passes over the target, None for many.

        A part that is written at all counts as written: this is to find lints, and
        to raise no false alarm.
        """
        parts = self.parts
        for stream in workload.streams:
            if stream.writes and stream.trim_percent < WHOLE:
                parts = _joined(parts, self._edges(stream.region))
        total = inf if passes is None else self.passes + passes
        return replace(self, parts=parts, passes=total)

    def unwritten(self, region: Region) -> Parts:
        """The parts of a region that the plan has not written."""
        at, last = self._edges(region)
        found = []
        for start, end in self.parts:
            if start > at:
                found.append((at, min(start, last)))
            at = max(at, end)
        if at < last:
            found.append((at, last))
        return tuple((a, b) for a, b in found if b > a and a < last)

    def _edges(self, region: Region) -> tuple[float, float]:
        return region.edges_percent(self.capacity_bytes)

    def _length(self, region: Region) -> float:
        start, end = self._edges(region)
        return end - start


def _joined(parts: Parts, edges: tuple[float, float]) -> Parts:
    """The parts with one more."""
    merged: list[tuple[float, float]] = []
    for start, end in sorted((*parts, edges)):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(merged)
