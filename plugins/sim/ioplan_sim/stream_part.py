"""The part of a run that a stream has: when it does I/O, and when that counts."""

from __future__ import annotations

from math import inf

from msgspec import Struct

from ioplan.job import Job, JobStream


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
