"""What streams do in the phases of a run: by when their I/Os were due."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from math import inf

from msgspec import Struct

from ioplan.backends import Job, JobStream, StreamCounts, StreamCountsBuilder
from ioplan_sim.load import StreamLoad

# The part of a run that a stream has: when it does I/O, and when that counts.


class StreamPart(Struct, frozen=True):
    """Times from the start of the run's warm-up on."""

    begins_ns: float
    measured_from_ns: float
    ends_ns: float

    @classmethod
    def of(cls, stream: JobStream, job: Job) -> StreamPart:
        """As `ioplan.workload.Stream` defines it."""
        warmup_ns = job.warmup_ns
        ends_ns = inf if stream.ends_ns is None else warmup_ns + stream.ends_ns
        return cls(stream.starts_ns, warmup_ns + stream.starts_ns, ends_ns)

    def is_active(self, now_ns: float) -> bool:
        """Whether the stream does I/O."""
        return self.begins_ns <= now_ns < self.ends_ns

    def is_measured(self, now_ns: float) -> bool:
        """Whether its own warm-up is over."""
        return now_ns >= self.measured_from_ns

    def next_change_ns(self, now_ns: float) -> float:
        """How long it stays as it is."""
        times_ns = (self.begins_ns, self.measured_from_ns, self.ends_ns)
        return min((one - now_ns for one in times_ns if one > now_ns), default=inf)

    def measured_ns(self, now_ns: float) -> float:
        """How long it has been measured."""
        return max(0.0, min(now_ns, self.ends_ns) - self.measured_from_ns)


Names = tuple[str, ...]
Split = list[tuple[list[StreamCountsBuilder], float]]
"""What counts I/Os that complete, each with the share of them that it counts."""


class PhaseCounts:
    """Counts for each phase and stream.

    What is due and waits belongs to the phases in which it fell due, in whichever it
    completes; a closed loop issues what completes.
    """

    def __init__(self, job: Job) -> None:
        self.phases, self.warmup_ns = job.phases, job.warmup_ns
        self.counts = {
            phase.name: {s.name: StreamCountsBuilder(s.name) for s in job.streams}
            for phase in job.phases
        }
        self.due: dict[str, deque[tuple[Names, int]]] = {
            stream.name: deque() for stream in job.streams
        }

    def _edges_ns(self, at_ns: float) -> Iterator[float]:
        for phase in self.phases:
            since_ns = at_ns - self.warmup_ns - phase.start_ns
            end_ns = inf if phase.end_ns is None else phase.end_ns - phase.start_ns
            every_ns = phase.every_ns or inf
            yield -since_ns
            yield end_ns - since_ns
            if 0 <= since_ns < end_ns:
                into_ns = since_ns % every_ns
                yield phase.length_ns - into_ns
                yield every_ns - into_ns

    def next_change_ns(self, at_ns: float) -> float:
        """How long the phases stay as they are."""
        return min((edge for edge in self._edges_ns(at_ns) if edge > 0), default=inf)

    def names(self, at_ns: float) -> Names:
        """The phases at a time since the warm-up began."""
        since_ns = at_ns - self.warmup_ns
        return tuple(
            phase.name
            for phase in self.phases
            if since_ns >= phase.start_ns
            and since_ns < (inf if phase.end_ns is None else phase.end_ns)
            and (since_ns - phase.start_ns) % (phase.every_ns or inf) < phase.length_ns
        )

    def split(self, load: StreamLoad, names: Names, ios: int) -> Split:
        """Take so many I/Os that complete from those that are due, first come first.

        `names` are the phases now, none while the stream is not measured.
        """
        if not self.phases or not ios:
            return []
        stream, due = load.stream.name, self.due[load.stream.name]
        waiting = sum(count for _, count in due)
        due.append((names, max(0, ios + int(load.backlog_ios) - waiting)))
        found, left = [], ios
        while due and left:
            those, count = due.popleft()
            taken = min(count, left)
            left -= taken
            if count > taken:
                due.appendleft((those, count - taken))
            if taken:
                counters = [self.counts[name][stream] for name in those]
                found.append((counters, taken / ios))
        return found

    def current(self, load: StreamLoad, names: Names) -> Split:
        """All of what begins now."""
        return [([self.counts[name][load.stream.name] for name in names], 1.0)]

    def result(self) -> dict[str, tuple[StreamCounts, ...]]:
        """As the Result has them."""
        return {
            name: tuple(stream.counts() for stream in streams.values())
            for name, streams in self.counts.items()
        }


def shares_of(
    split: Split, ios: int
) -> Iterator[tuple[list[StreamCountsBuilder], int]]:
    """How many of so many I/Os each counts; none is lost."""
    total, before = 0.0, 0
    for counters, share in split:
        total += share
        upto = round(total * ios)
        if upto > before:
            yield counters, upto - before
        before = upto
