"""What displays learn while a plan runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from ioplan.job import SECOND_NS, Job, Progress
from ioplan.job_stream import JobStream
from ioplan.planner.steps import Step
from ioplan.records.record import Interval, RunRecord, Steady, Verdict
from ioplan.records.session import Session


class SessionObserver:
    """Is called with everything, and does nothing; displays override what they show."""

    def session_started(self, session: Session, total_s: float) -> None:
        """The session starts; `total_s` is the estimate for all of it."""

    def note(self, text: str) -> None:
        """Something worth a line."""

    def warned(self, kind: str, text: str, help: str) -> None:
        """A classic lint of the plan, before the first run, and what to write."""

    def step(self, step: Step, number: int) -> None:
        """A step starts, the first with number 1."""

    def progress(
        self, progress: Progress, interval: Interval | None, done: float | None
    ) -> None:
        """An interval has ended; `done` is the fraction of the step, from 0 to 1."""

    def purged(self, done: float) -> None:
        """A purge goes on; `done` is the fraction of it, from 0 to 1."""

    def record(self, record: RunRecord) -> None:
        """A run has ended and is stored."""

    def reused(self, record: RunRecord) -> None:
        """A run is kept: an earlier part of the session has finished it."""

    def steady(self, steady: Steady, round: int) -> None:
        """A round, or a window of a precondition, was judged."""

    def verdict(self, record: RunRecord, verdict: Verdict) -> None:
        """An expectation was judged on the cell that the record belongs to."""

    def eta(self, left_s: float) -> None:
        """The estimate for the rest of the plan has changed."""

    def failed(self, kind: str, text: str) -> None:
        """What failed in the session, by name and in words; called at its end."""

    def session_finished(self, status: str, verdict: str) -> None:
        """The session has ended; `verdict` is the gravest, as the store has it."""


class Observers(SessionObserver):
    """Several that are called with everything, in their order."""

    def __init__(self, *observers: SessionObserver) -> None:
        self.observers = observers


def _call_each(name: str) -> Callable[..., None]:
    def call(self: Observers, *args: Any, **named: Any) -> None:
        for one in self.observers:
            getattr(one, name)(*args, **named)

    return call


for _name in (one for one in vars(SessionObserver) if not one.startswith("_")):
    setattr(Observers, _name, _call_each(_name))


# How much of a job is done.


def fraction_done(job: Job, run_ns: int, moved_bytes: int) -> float:
    """From 0 to 1: by time or by bytes, whichever is further."""
    by_time = run_ns / job.run_ns if job.run_ns else 0.0
    by_bytes = (
        moved_bytes / max(1, _limit_bytes(job)) if _is_limited_by_bytes(job) else 0.0
    )
    return min(1.0, max(by_time, by_bytes))


def _is_limited_by_bytes(job: Job) -> bool:
    if job.limit_bytes is not None or job.passes is not None:
        return True
    return all(stream.replay for stream in job.streams)  # its end may come before


def _limit_bytes(job: Job) -> float:
    """What the limits let the job move. The last bytes of a pass may fit no I/O."""
    if job.limit_bytes is not None:
        return job.limit_bytes
    return (job.passes or 1) * sum(map(_covered_bytes, job.streams))


def _covered_bytes(stream: JobStream) -> int:
    if stream.replay:
        return stream.pass_bytes
    sizes = (*stream.read_sizes, *stream.write_sizes)
    left_out = stream.threads * max(size.size_bytes for size in sizes)
    return stream.pass_bytes - left_out * max(1, len(stream.target_numbers))


class RunWatch(Protocol):
    """Says when a run has gone on long enough: it is steady, or decided."""

    def add(self, progress: Progress) -> bool:
        """Take an interval; True once it is enough."""


class ProgressReporter:
    """Reports the intervals of one run to the observer, with the fraction done.

    Where what a run measures ends it, `watch` says when. `count` learns all of them
    before that.
    """

    def __init__(
        self,
        job: Job,
        observer: SessionObserver,
        watch: RunWatch | None = None,
        count: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        self.job, self.observer, self.watch, self.count = job, observer, watch, count
        self.moved_bytes = 0

    def __call__(self, progress: Progress, interval: Interval | None) -> bool:
        """Whether the run has gone on long enough."""
        self.count(progress)
        if interval:
            self.moved_bytes += sum(interval.bytes.values())
        run_ns = 0 if progress.warmup else progress.t_ns
        fraction = fraction_done(self.job, run_ns, self.moved_bytes)
        self.observer.progress(progress, interval, fraction)
        return self.watch is not None and self.watch.add(progress)


MAX_JUMP_S = 1.0

Clock = Callable[[], int]


class ClockPair:
    """A moment on the wall clock and on the monotonic one, both in ns."""

    def __init__(
        self, wall: Clock = time.time_ns, steady: Clock = time.monotonic_ns
    ) -> None:
        self.wall, self.steady = wall, steady
        self.wall_ns, self.steady_ns = wall(), steady()

    def jump(self) -> str:
        """How far the date has moved against the durations since; empty if it has not.

        Also a machine that slept shows so: its durations do not count the sleep.
        """
        passed_ns = self.steady() - self.steady_ns
        jump_s = (self.wall() - self.wall_ns - passed_ns) / SECOND_NS
        if abs(jump_s) <= MAX_JUMP_S:
            return ""
        return (
            f"the system's clock moved by {jump_s:+.1f} s during the run: it was set, "
            "or the machine was suspended; durations and rates use a different clock "
            "and are valid, timestamps are not"
        )
