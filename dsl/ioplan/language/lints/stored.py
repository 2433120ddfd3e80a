"""What a plan has written on its target so far, as far as the plan alone tells."""

from __future__ import annotations

from math import inf

from msgspec import Struct
from msgspec.structs import replace

from ioplan.language.plan import PurgeStep, RestStep, WriteStep
from ioplan.workload import Region, Stream, Workload

WHOLE = 100.0

Parts = tuple[tuple[float, float], ...]
"""Parts of the target from and to, in percent, in order and apart."""
Places = tuple[str, str, tuple[float, float]]
"""Those of a trace: its digest, how offsets are placed, and the region."""


class Stored(Struct, frozen=True):
    """Which parts are written, and how often in all, in passes over the target.

    A replay writes places of its own only: `whole` are the parts that other streams
    wrote, and `places` those of traces. Where nothing else was written `is_erased` says
    that it holds nothing; else what it held before the plan is not known.
    """

    parts: Parts = ()
    whole: Parts = ()
    places: frozenset[Places] = frozenset()
    passes: float = 0.0
    is_erased: bool = False
    capacity_bytes: float = 1e12

    def after(self, step: PurgeStep | RestStep | WriteStep) -> Stored:
        """With a step of a precondition done."""
        if isinstance(step, RestStep):
            return self
        if isinstance(step, PurgeStep):
            return Stored(is_erased=True, capacity_bytes=self.capacity_bytes)
        if step.passes is None or step.rule is not None:
            return self.with_writes(step.workload, None)
        shares = sum(map(self._share, step.workload.streams))
        return self.with_writes(step.workload, step.passes * shares)

    def with_writes(self, workload: Workload, passes: float | None) -> Stored:
        """With the writes of a run: so many passes over the target, None for many.

        A part that is written at all counts as written: this is to find lints, and
        to raise no false alarm.
        """
        parts, whole, places = self.parts, self.whole, self.places
        for stream in workload.streams:
            if stream.writes and stream.trim_percent < WHOLE:
                edges = self._edges(stream.region)
                parts = _joined(parts, edges)
                if stream.replay:
                    places |= {self._places(stream)}
                else:
                    whole = _joined(whole, edges)
        total = inf if passes is None else self.passes + passes
        return replace(self, parts=parts, whole=whole, places=places, passes=total)

    def unwritten(self, stream: Stream) -> Parts:
        """The parts of its region that the plan has not written, or that only other
        traces have where it is a replay."""
        if stream.replay and self._places(stream) in self.places:
            return ()
        at, last = self._edges(stream.region)
        found = []
        for start, end in self.whole if stream.replay else self.parts:
            if start > at:
                found.append((at, min(start, last)))
            at = max(at, end)
        if at < last:
            found.append((at, last))
        return tuple((a, b) for a, b in found if b > a and a < last)

    def _edges(self, region: Region) -> tuple[float, float]:
        return region.edges_percent(self.capacity_bytes)

    def _places(self, stream: Stream) -> Places:
        assert stream.replay
        digest = stream.replay.covers or stream.replay.digest
        return digest, stream.offsets, self._edges(stream.region)

    def _share(self, stream: Stream) -> float:
        """How much of the target one pass of it writes, from 0 to 1."""
        if stream.replay:
            return stream.replay.moved_bytes / self.capacity_bytes
        start, end = self._edges(stream.region)
        return (end - start) / WHOLE


def _joined(parts: Parts, edges: tuple[float, float]) -> Parts:
    """The parts with one more."""
    merged: list[tuple[float, float]] = []
    for start, end in sorted((*parts, edges)):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(merged)
