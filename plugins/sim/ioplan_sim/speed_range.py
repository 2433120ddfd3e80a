"""Between which bounds the speed of a drive lies, from what it is made of.

They are those of closed queueing networks: streams with N I/Os outstanding are no
faster than the busiest part lets them be, nor than N in the time of one alone; and no
slower than if each I/O waited at the busiest part for all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from msgspec import Struct

from ioplan.backends import Speeds, Stream, Uniform
from ioplan_sim.io_source import JITTER, RETRY_TIMES
from ioplan_sim.limits import costs_ns
from ioplan_sim.load import IoKind, kinds
from ioplan_sim.placement import Floats
from ioplan_sim.queue_model import Condition
from ioplan_sim.spec import MAP_BYTES, DriveSpec

NOISE = 1.1
"""How much faster or slower than its model a drive is in a run, at most."""
SKEWED = 1.5
"""How many times as much is copied where some pages are written more often."""


def speeds_of(spec: DriveSpec, waf: float) -> Speeds:
    """A drive that writes amplified so much where it is full and written at random."""
    fastest = [(Fastest(spec, cached=False), float(spec.cache.size))]
    if spec.cache.size:
        fastest.append((Fastest(spec, cached=True), 0.0))
    return Speeds(Slowest(spec, waf - 1), Slowest(spec, 0.0), tuple(fastest))


class Fastest(Struct, frozen=True):
    """A drive that copies nothing, and reads nothing where nothing is stored."""

    spec: DriveSpec
    cached: bool
    most_bytes_per_s: float = inf

    def loop_iops(
        self, stream: Stream, mean_bytes: float, depth: int, beside: Sequence[Stream]
    ) -> float:
        """The I/Os per second at which a part is busy, or none waits for another."""
        found = tuple(kinds(stream, self.spec.flash.map))
        costs = costs_ns(self.spec, found, Condition(0.0, self.cached, ()), 0.0)
        shares = np.array([kind.share for kind in found])
        alone_ns = sum(kind.share * self._alone_ns(kind) for kind in found)
        busy_ns = float((shares @ costs).max())
        if stream.pause_ns:  # while a thread is busy, the others may pause
            busy_ns /= stream.threads
        return NOISE * 1e9 / max(busy_ns, alone_ns / depth)

    def _alone_ns(self, kind: IoKind) -> float:
        host = self.spec.host
        if kind.direction == "trim":
            return host.trim
        return host.overhead + 1e9 * kind.size_bytes / host.bandwidth


class Slowest(Struct, frozen=True):
    """A drive that is full and collects: it makes so many `copies` of each page."""

    spec: DriveSpec
    copies: float
    most_bytes_per_s: float = inf

    def loop_iops(
        self, stream: Stream, mean_bytes: float, depth: int, beside: Sequence[Stream]
    ) -> float:
        """The I/Os per second if each waits for all others at the busiest part."""
        writing = any(one.writes for one in beside)
        alone_ns = self._mean_alone_ns(stream, writing)
        waits_ns = sum(
            one.qd * one.threads * self._busy_ns(one)
            for one in beside
            if one is not stream
        )
        waits_ns += depth * self._busy_ns(stream)
        return depth * 1e9 / (alone_ns + waits_ns) / NOISE

    def _busy_ns(self, stream: Stream) -> float:
        """How long the busiest part is busy with an I/O."""
        skewed = 1.0 if isinstance(stream.distribution, Uniform) else SKEWED
        full = Condition(self.copies * skewed, False, ())
        found = tuple(kinds(stream, self.spec.flash.map))
        costs = costs_ns(self.spec, found, full, 1.0)
        shares = np.array([kind.share for kind in found])
        parts: Floats = shares @ costs
        parts[4] = parts[4] / self._programming + sum(
            kind.share * self._read_ns(kind) / self.spec.flash.dies for kind in found
        )
        return float(parts.max())

    @property
    def _programming(self) -> float:
        """The share of the dies that the buffer keeps busy."""
        units = self.spec.buffer.size / MAP_BYTES / self.spec.unit_pages
        return min(1.0, max(1.0, units) / self.spec.flash.dies)

    def _read_ns(self, kind: IoKind) -> float:
        """How long dies read for an I/O, all together."""
        flash = self.spec.flash
        if kind.direction == "read":
            pages = max(1.0, kind.pages)
        else:
            pages = 1.0 if kind.direction == "write" and kind.partial else 0.0
        retried = 1 + flash.retries / 100 * (RETRY_TIMES - 1)
        return pages * flash.read * retried

    def _alone_ns(self, kind: IoKind, writing: bool, synced: float) -> float:
        """An I/O that waits for no other, but for what a die does for writes."""
        flash, host = self.spec.flash, self.spec.host
        time_ns = host.overhead * (1 + JITTER) + 1e9 * kind.size_bytes / host.bandwidth
        if kind.direction == "trim":
            return time_ns + host.trim
        time_ns += self._read_ns(kind) * (1 + flash.spread / 100)
        if kind.direction == "write":
            return time_ns + synced * self.spec.buffer.flush
        time_ns += 1e9 * max(kind.size_bytes, MAP_BYTES) / flash.channel_bandwidth
        return time_ns + (flash.program + flash.read * self.spec.unit_pages) * writing

    def _mean_alone_ns(self, stream: Stream, writing: bool) -> float:
        synced = 1.0 if stream.fua else 1 / (stream.sync_every or inf)
        return sum(
            kind.share * self._alone_ns(kind, writing, synced)
            for kind in kinds(stream, self.spec.flash.map)
        )
