"""How fast streams are on a drive in some state, from batches, and kept."""

from __future__ import annotations

from dataclasses import replace
from math import inf, log
from zlib import crc32

import numpy as np

from ioplan.job import JobStream
from ioplan_sim.batch import Batch, Condition, Task
from ioplan_sim.latency import Curve, Pace
from ioplan_sim.load import Lane
from ioplan_sim.spec import DriveSpec

STEP = 1.25
"""Batches are run at 1 + copies of whole powers of this…"""
PARTS = 16
"""…and between two of them, so many places are told apart."""
LOG_STEP = log(STEP)
PIECES = 4
"""Shares of a page that are told apart where a region is read."""


Paces = tuple[Pace, ...]
Stored = tuple[tuple[float, float], ...]
Key = tuple[int, bool, Stored, tuple[tuple[str, bool], ...]]
"""A state of the drive as far as it is told apart: see `Speeds.at`."""


class Speeds:
    """Paces of one set of streams. `behind` tells which have a backlog.

    Chance comes from the streams and the state alone, so that the same streams in
    the same state are as fast at any time.
    """

    def __init__(self, spec: DriveSpec, streams: tuple[JobStream, ...]) -> None:
        self.spec, self.streams = spec, streams
        self.known: dict[object, Paces] = {}

    def at(self, lanes: list[Lane], condition: Condition) -> Paces:
        """The paces in a state of the drive, between those at the next two steps."""
        place = round(log(1 + condition.copies) / LOG_STEP * PARTS)
        stored = tuple(map(_rounded, condition.stored))
        behind = tuple((lane.stream.name, lane.behind) for lane in lanes)
        key = (place, condition.cached, stored, behind)
        if key not in self.known:
            self.known[key] = self._between(lanes, condition, key)
        return self.known[key]

    def _between(self, lanes: list[Lane], condition: Condition, key: Key) -> Paces:
        place, _, stored, behind = key
        low, part = divmod(place, PARTS)
        below, above = (
            condition._replace(copies=STEP**step - 1, stored=stored)
            for step in (low, low + 1)
        )
        slower = self._paces(lanes, below, behind)
        if not part:
            return slower
        # Linear in the copies, which are not in proportion to the step.
        share = (STEP ** (part / PARTS) - 1) / (STEP - 1)
        pairs = zip(slower, self._paces(lanes, above, behind), strict=True)
        return tuple(one.mixed(other, share) for one, other in pairs)

    def _paces(self, lanes: list[Lane], condition: Condition, behind: object) -> Paces:
        key = (condition, behind)
        if key not in self.known:
            self.known[key] = self._measured(lanes, condition)
        return self.known[key]

    def _measured(self, lanes: list[Lane], condition: Condition) -> Paces:
        """A stream with a rate that it can keep is an open loop, all others not."""
        paces = self._batch(lanes, condition, [False] * len(lanes))
        able = [pace.able_ns for pace in paces]
        was = [False] * len(lanes)
        while True:
            opened = [_keeps(*pair) for pair in zip(lanes, able, strict=True)]
            opened = [a or b for a, b in zip(opened, was, strict=True)]
            if opened == was:
                break
            was = opened
            paces = self._batch(lanes, condition, was)
            fresh = [pace.able_ns for pace in paces]
            able = [a if w else f for a, f, w in zip(able, fresh, was, strict=True)]
        return tuple(
            replace(pace, able_ns=able_ns)
            for pace, able_ns in zip(paces, able, strict=True)
        )

    def _batch(
        self, lanes: list[Lane], condition: Condition, opened: list[bool]
    ) -> Paces:
        asked = repr((self.streams, condition, opened))
        rng = np.random.default_rng(crc32(asked.encode()))
        parts = zip(lanes, opened, condition.stored, strict=True)
        tasks = [Task(lane, loop, held, self.spec, rng) for lane, loop, held in parts]
        Batch(self.spec, tasks, condition, rng).run()
        return tuple(_pace(task, self.spec) for task in tasks)


def _keeps(lane: Lane, able_ns: float) -> bool:
    """Whether a rate is below what the stream could do."""
    if lane.rate_per_ns == inf or lane.behind:
        return False
    return lane.rate_per_ns < 0.98 * lane.outstanding / able_ns


def _rounded(stored: tuple[float, float]) -> tuple[float, float]:
    share, piece = stored
    return round(share * 8) / 8, PIECES / max(1, round(PIECES / piece))


def _pace(task: Task, spec: DriveSpec) -> Pace:
    """From samples; a kind too rare for the batch is taken to be like the others."""
    every = [one for part in task.samples for one in part] or [float(spec.flash.read)]
    curves = tuple(Curve.of(part or every) for part in task.samples)
    flush_ns = sum(k.share for k in task.kinds if k.direction == "write")
    flush_ns *= spec.buffer.flush / (task.lane.stream.sync_every or inf)
    pairs = zip(task.kinds, curves, strict=True)
    cycle_ns = sum((kind.share * curve.mean_ns for kind, curve in pairs), flush_ns)
    return Pace(curves, cycle_ns, cycle_ns, task.deviation())
