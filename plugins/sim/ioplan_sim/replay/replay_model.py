"""The drive at work on traces: each I/O at its time, through the drive's queues."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from math import inf

import numpy as np

from ioplan_sim.io_source import DRAWS, IoSource
from ioplan_sim.queue_model import ARRIVED, FREED, Event, QueueModel, Write
from ioplan_sim.replay.replay_source import FuaKind, ReplayedSource


class ReplayModel(QueueModel):
    """Follows every I/O. The buffer is empty at first."""

    sources: Sequence[ReplayedSource]
    last_ns = 0.0
    """When an I/O was complete last."""

    def _fill(self, rng: np.random.Generator) -> None:
        """What a run finds is a drive at rest."""

    def begin(self, source: IoSource) -> None:
        """Wait for the first I/O."""
        self._push(float(source.load.stream.starts_ns), ARRIVED, source)

    def follow(self, until_ns: float) -> None:
        """Let happen what happens before a time, or until all I/Os are complete."""
        events, handlers = self.events, self.handlers
        while events and events[0][0] < until_ns:
            time_ns, _, what, about = heappop(events)
            caused = handlers[what](time_ns, about)
            if caused:
                heappush(events, caused)

    @property
    def is_over(self) -> bool:
        """Whether all I/Os of all traces are complete."""
        return all(source.is_over for source in self.sources)

    def _arrived(self, now_ns: float, source: IoSource) -> Event | None:
        assert isinstance(source, ReplayedSource)
        source.awaited = False
        return self._start_due(now_ns, source)

    def _freed(self, now_ns: float, source: IoSource | Numbered) -> Event | None:
        if isinstance(source, tuple):
            source, number = source
            source.complete(number, now_ns)
        assert isinstance(source, ReplayedSource)
        self.finished += 1
        self.last_ns = now_ns
        source.free += 1
        return self._start_due(now_ns, source)

    def _start_due(self, now_ns: float, source: ReplayedSource) -> Event | None:
        """Issue what is due, as far as there are places, or wait for the next one."""
        caused: Event | None = None
        while source.free:
            due_ns = source.next_due_ns()
            if due_ns > now_ns:
                if due_ns < inf and not source.awaited:
                    source.awaited = True
                    self._push(due_ns, ARRIVED, source)
                return caused
            if caused:
                heappush(self.events, caused)
            source.free -= 1
            intended_ns = now_ns if source.fast else due_ns
            source.late_ns.append(now_ns - intended_ns)
            caused = self._begin_one(now_ns, source, intended_ns)
        return caused

    def _begin_one(
        self, now_ns: float, source: ReplayedSource, intended_ns: float
    ) -> Event:
        number = source.number
        source.begin(intended_ns)
        return numbered(self._issue(now_ns, source, intended_ns), source, number)

    def _issue(self, now_ns: float, source: IoSource, intended_ns: float) -> Event:
        """A flush takes its time whatever else goes on."""
        number = source.number % DRAWS
        choice = source.choice[number]
        if source.kinds[choice].direction != "flush":
            return super()._issue(now_ns, source, intended_ns)
        source.number += 1
        done_ns = now_ns + source.delays_ns[number] + self.spec.buffer.flush
        return self._done(done_ns, source, source.samples[choice], intended_ns)

    def _accept(self, now_ns: float, write: Write) -> Event:
        """What has FUA is on the flash when it is acknowledged."""
        done_ns, serial, what, about = super()._accept(now_ns, write)
        source, kind, sample, _, _, number = write
        if isinstance(kind, FuaKind):
            sample[-1] += self.spec.buffer.flush
            done_ns += self.spec.buffer.flush
        return numbered((done_ns, serial, what, about), source, number)


Numbered = tuple[ReplayedSource, int]
"""An I/O of a source, where others may wait for it."""


def numbered(event: Event, source: IoSource, number: int) -> Event:
    """Of a completion for which others may wait: which I/O it is of."""
    done_ns, serial, what, _ = event
    if what != FREED or not (isinstance(source, ReplayedSource) and source.waits):
        return event
    return done_ns, serial, what, (source, number)
