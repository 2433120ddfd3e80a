"""How fast streams are on a drive in some state, from batches, and kept."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from itertools import chain
from math import inf, log
from statistics import fmean
from zlib import crc32

import numpy as np
from msgspec.structs import replace

from ioplan.backends import JobStream
from ioplan_sim.batch import Batch
from ioplan_sim.io_source import IoSource, PausingSource, Samples
from ioplan_sim.latency import Curve, Pace
from ioplan_sim.load import StreamLoad
from ioplan_sim.queue_model import Condition
from ioplan_sim.spec import DriveSpec

STEP = 1.25
"""Batches are run at 1 + copies of whole powers of this…"""
PARTS = 16
"""…and between two of them, so many places are told apart."""
LOG_STEP = log(STEP)

Paces = tuple[Pace, ...]
Stored = tuple[tuple[float, float], ...]
Backlog = bool | tuple[bool, float]
"""Whether a stream has one, and its rate where that changes."""
Key = tuple[int, bool, Stored, tuple[tuple[str, Backlog], ...]]
"""A state of the drive as far as it is told apart: see `Speeds.at`."""


class Speeds:
    """Paces of one set of streams. `behind` tells which have a backlog.

    Chance comes from the streams and the state alone, so that the same streams in
    the same state are as fast at any time. A stream enters the seed as JSON without its
    defaults: a new clause leaves the figures of plans without it as they are.
    """

    def __init__(self, spec: DriveSpec, streams: tuple[JobStream, ...]) -> None:
        self.spec = spec
        self.streams_json = [
            one.model_dump_json(exclude_defaults=True) for one in streams
        ]
        self.known: dict[object, Paces] = {}

    def at(self, loads: list[StreamLoad], condition: Condition) -> Paces:
        """The paces in a state of the drive, between those at the next two steps."""
        place = round(log(1 + condition.copies) / LOG_STEP * PARTS)
        page = self.spec.page_pages
        stored = tuple(_rounded(*one, page) for one in condition.stored)
        behind = tuple((load.stream.name, _backlog(load)) for load in loads)
        key = (place, condition.cached, stored, behind)
        if key not in self.known:
            self.known[key] = self._between(loads, condition, key)
        return self.known[key]

    def _between(
        self, loads: list[StreamLoad], condition: Condition, key: Key
    ) -> Paces:
        place, _, stored, behind = key
        low, part = divmod(place, PARTS)
        below, above = (
            condition._replace(copies=STEP**step - 1, stored=stored)
            for step in (low, low + 1)
        )
        slower = self._paces(loads, below, behind)
        if not part:
            return slower
        # Linear in the copies, which are not in proportion to the step.
        share = (STEP ** (part / PARTS) - 1) / (STEP - 1)
        pairs = zip(slower, self._paces(loads, above, behind), strict=True)
        return tuple(one.mixed(other, share) for one, other in pairs)

    def _paces(
        self, loads: list[StreamLoad], condition: Condition, behind: object
    ) -> Paces:
        key = (condition, behind)
        if key not in self.known:
            self.known[key] = self._measured(loads, condition)
        return self.known[key]

    def _measured(self, loads: list[StreamLoad], condition: Condition) -> Paces:
        """A stream with a rate that it can keep is an open loop, all others not.

        How fast that one would be at most, the last batch tells in which it was not.
        """
        is_open = [False] * len(loads)
        paces = self._batch(loads, condition, is_open)
        times_ns = [pace.saturated_ns for pace in paces]
        while True:
            keeps = [_keeps_rate(*pair) for pair in zip(loads, times_ns, strict=True)]
            opened = [a or b for a, b in zip(keeps, is_open, strict=True)]
            if opened == is_open:
                break
            is_open = opened
            paces = self._batch(loads, condition, is_open)
            for index, pace in enumerate(paces):
                if not is_open[index]:
                    times_ns[index] = pace.saturated_ns
        pairs = zip(paces, times_ns, strict=True)
        return tuple(replace(pace, saturated_ns=time_ns) for pace, time_ns in pairs)

    def _batch(
        self, loads: list[StreamLoad], condition: Condition, is_open: list[bool]
    ) -> Paces:
        rates = [load.rate_per_ns for load in loads if load.course]
        seeded_by = json.dumps((self.streams_json, condition, is_open, rates))
        rng = np.random.default_rng(crc32(seeded_by.encode()))
        parts = zip(loads, is_open, condition.stored, strict=True)
        sources = [self._sources(*part, rng) for part in parts]
        Batch(self.spec, list(chain(*sources)), condition, rng).run()
        return tuple(_pace(group, self.spec) for group in sources)

    def _sources(
        self,
        load: StreamLoad,
        is_open: bool,
        stored: tuple[float, float],
        rng: np.random.Generator,
    ) -> Sequence[IoSource]:
        """One for a stream, or for each of its threads, where these pause."""
        if not load.stream.pause_ns:
            return [IoSource(load, is_open, stored, self.spec, rng)]
        return [
            PausingSource(load, thread, stored, self.spec, rng)
            for thread in range(load.stream.threads)
        ]


def _backlog(load: StreamLoad) -> Backlog:
    return (load.behind, load.rate_per_ns) if load.course else load.behind


def _keeps_rate(load: StreamLoad, saturated_ns: float) -> bool:
    """Whether a rate is below what the stream could do."""
    if load.rate_per_ns == inf or load.behind:
        return False
    return load.rate_per_ns < 0.98 * load.outstanding / saturated_ns


def _rounded(share: float, piece: float, page: int) -> tuple[float, float]:
    """Eighths of a region that are stored, and whole parts of a page of the dies."""
    return round(share * 8) / 8, page / max(1, round(page / piece))


def _pace(sources: Sequence[IoSource], spec: DriveSpec) -> Pace:
    """The pace of one stream: from one source, or from those of its threads."""
    load = sources[0].load
    pausing = [one for one in sources if isinstance(one, PausingSource)]
    curves = (
        _paused_curves(pausing, spec) if pausing else _curves(sources[0].samples, spec)
    )
    flush_ns = sum(k.share for k in load.kinds if k.direction == "write")
    flush_ns *= spec.buffer.flush / (load.stream.sync_every or inf)
    kinds = zip(load.kinds, curves, strict=True)
    cycle_ns = sum((kind.share * curve.mean_ns for kind, curve in kinds), flush_ns)
    return Pace(
        curves,
        cycle_ns,
        cycle_ns,
        fmean(source.deviation() for source in sources),
        fmean(source.burst_ns() for source in pausing) if pausing else 0.0,
        _syncs(sources[0], cycle_ns, spec) if load.stream.sync_every else (),
    )


def _syncs(source: IoSource, cycle_ns: float, spec: DriveSpec) -> tuple[Curve, ...]:
    """Curves of a flush and a commit. A batch shortens the pauses that a commit may
    span, so that nothing is known of commits with pauses."""
    flush = Curve.of([spec.buffer.flush])
    if isinstance(source, PausingSource):
        return (flush,)
    commits_ns = source.commits_ns or [_rare_commit_ns(source, cycle_ns, spec)]
    return flush, Curve.of(commits_ns)


def _rare_commit_ns(source: IoSource, cycle_ns: float, spec: DriveSpec) -> float:
    """The mean of commits of more writes than a batch has."""
    load = source.load
    share = sum(k.share for k in load.kinds if k.direction == "write")
    per_ns = load.rate_per_ns if source.open_loop else load.outstanding / cycle_ns
    writes = (load.stream.sync_every or 1) - 1
    return writes / (per_ns * share or inf) + cycle_ns + spec.buffer.flush


def _curves(samples: Samples, spec: DriveSpec) -> tuple[Curve, ...]:
    """By kind; one too rare for the batch is taken to be like the others."""
    if all(samples):
        return tuple(map(Curve.of, samples))
    every = [one for part in samples for one in part] or [float(spec.flash.read)]
    return tuple(Curve.of(part or every) for part in samples)


def _paused_curves(
    threads: Sequence[PausingSource], spec: DriveSpec
) -> tuple[Curve, ...]:
    """Curves of all threads; the inner part of a burst counts for what was left out."""
    outer = _curves(_joined([thread.outer for thread in threads]), spec)
    share = threads[0].inner_share
    if not share:
        return outer
    inner = _curves(_joined([thread.inner for thread in threads]), spec)
    return tuple(a.mixed(b, share) for a, b in zip(outer, inner, strict=True))


def _joined(parts: Sequence[Samples]) -> Samples:
    return [array("d", chain(*kind)) for kind in zip(*parts, strict=True)]
