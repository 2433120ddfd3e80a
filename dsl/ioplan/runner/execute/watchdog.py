"""Makes sure that a run ends: by itself, by SIGTERM, by SIGKILL, or abandoned.

The events of an execution are read in a thread, one on request, so that whatever
the backend hangs in, the runner does not. What survives SIGKILL hangs in the
kernel; it is left behind, and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import IntEnum
from math import inf
from threading import Thread
from typing import Any, Self

from msgspec import Struct

from ioplan.backends.backend import Execution
from ioplan.core.error_kinds import Cause
from ioplan.job import (
    SECOND_NS,
    Event,
    Failure,
    Job,
    Progress,
    Result,
)
from ioplan.job_stream import JobStream
from ioplan.runner.execute.event_reader import reader_of
from ioplan.runner.execute.processes import (
    Process,
    StuckProcess,
    descendants,
    unkillable,
)

POLL_S = 0.25
"""How often the limits are checked."""
MAX_POLL_S = 4 * POLL_S
"""A longer wait counts as this much: ioplan itself was stopped or starved."""
SILENT_GAPS = 20
"""How many mean gaps of a slow rate may pass without an I/O."""
SILENT_INTERVALS = 5
LATE_S = 1.0
"""A report that comes later than this is named: a busy machine takes less."""


class Limits(Struct, frozen=True):
    """How long a run may do no I/O, and how long each way to end it may take.

    `silence_s` is raised to five intervals, and to what a slow rate needs.
    `overdue_s` is by the backend's own clock, which may be a virtual one.
    """

    silence_s: float = 30.0
    overdue_s: float = 60.0
    stop_s: float = 15.0
    kill_s: float = 5.0


class Phase(IntEnum):
    """How the run is being ended."""

    RUNNING = 0
    ENDING = 1
    KILLED = 2
    GIVEN_UP = 3


class Watchdog:
    """An execution that gives events or is ended. `stuck` is what it left behind."""

    def __init__(
        self, start: Callable[[], Execution], job: Job, limits: Limits
    ) -> None:
        """Raises what `start` raises."""
        self.before = descendants()
        self.execution, self.job, self.limits = start(), job, limits
        self.silence_s = max(hang_s(job, limits.silence_s), least_silence_s(job))
        self.end_s = limits.overdue_s + planned_s(job)
        self.phase, self.why = Phase.RUNNING, ""
        self.reported_s = self.silent_s = self.phase_s = 0.0
        self.waited_s = self.late_s = self.late_at_s = 0.0
        self.started: set[Process] = set()
        self.stuck: tuple[StuckProcess, ...] = ()
        self.reader = reader_of(self.execution)

    def stop(self) -> None:
        """End the I/O at once; the Result of what was done still comes."""
        self._advance_to(Phase.ENDING)
        self.execution.stop()

    def __iter__(self) -> Iterator[Event]:
        """Events, until there are no more or the run is given up."""
        self.reader.start()
        while self.phase < Phase.GIVEN_UP:
            self.reader.request()
            self.waited_s = 0.0
            while not self.reader.wait(POLL_S):
                self.waited_s += self.reader.waited_s
                self._on_elapsed(min(self.reader.waited_s, MAX_POLL_S))
                if self.phase is Phase.GIVEN_UP:
                    return
            event = self.reader.result()
            if event is None:
                return
            self._on_event(event)
            self._on_elapsed(min(self.reader.waited_s, MAX_POLL_S))
            yield event

    def _on_event(self, event: Event) -> None:
        if not isinstance(event, Progress) or had_io(event):
            self.silent_s = 0.0
        if isinstance(event, Progress):
            self._note_late(self.waited_s + self.reader.waited_s)
            warmup_ns = 0 if event.warmup else self.job.warmup_ns
            self.reported_s = (warmup_ns + event.t_ns) / SECOND_NS
        if isinstance(event, Result | Failure):
            self._advance_to(Phase.ENDING)

    def _note_late(self, waited_s: float) -> None:
        """Reports come whether the device does or not: who sends them stood still."""
        late_s = waited_s - self.job.interval_ns / SECOND_NS
        if late_s > max(LATE_S, self.late_s):
            self.late_s, self.late_at_s = late_s, self.reported_s

    def late(self) -> str:
        """The longest time that a report was late; empty if all came in time."""
        if not self.late_s:
            return ""
        return (
            f"at {self.late_at_s:.1f} s of the run a report of the backend was "
            f"{self.late_s:.1f} s late: its programs, ioplan or the machine stood "
            "still; the largest latencies may be of that, and not of the target"
        )

    def _on_elapsed(self, waited_s: float) -> None:
        """Time has passed: end the run if a limit is exceeded."""
        self.silent_s += waited_s
        self.phase_s += waited_s
        if self.phase is Phase.RUNNING:
            self.why = self._overdue()
            if self.why:
                with suppress(Exception):  # a stranger's code; it is killed next
                    self.stop()
        elif self.phase is Phase.ENDING and self.phase_s > self.limits.stop_s:
            self.why = self.why or self._unresponsive()
            self._advance_to(Phase.KILLED)
            with suppress(Exception):
                self.execution.kill()
        elif self.phase is Phase.KILLED and self.phase_s > self.limits.kill_s:
            self._advance_to(Phase.GIVEN_UP)

    def _overdue(self) -> str:
        """Why the run must be ended, if it must."""
        if self.silent_s > self.silence_s:
            return f"no I/O completed for {self.silence_s:.0f} s"
        if self.reported_s > self.end_s:
            return f"the run went on for {self.limits.overdue_s:.0f} s after its time"
        return ""

    def _unresponsive(self) -> str:
        return f"it had not ended {self.limits.stop_s:.0f} s after it was to"

    def _advance_to(self, phase: Phase) -> None:
        if phase > self.phase:
            self.phase, self.phase_s = phase, 0.0
            self.started |= descendants() - self.before

    # the end

    def __enter__(self) -> Self:
        self.execution.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        """Leave no I/O behind but what nothing can end."""
        self._advance_to(Phase.ENDING)
        try:
            self._exit_execution(error)
        finally:
            self.reader.close()
            self.stuck = unkillable(self.started)

    def _exit_execution(self, error: tuple[Any, ...]) -> None:
        leave = self.execution.__exit__
        if self.phase < Phase.GIVEN_UP:
            leave(*error)
            return
        thread = Thread(target=leave, args=error, daemon=True)
        thread.start()
        thread.join(self.limits.stop_s)

    def failure(self) -> Failure | None:
        """The hang, if there was one, once the run was left."""
        if not self.why and not self.stuck:
            return None
        why = self.why or "the run was stopped"
        is_stuck = self.stuck or self.phase is Phase.GIVEN_UP
        cause = Cause.STUCK if is_stuck else Cause.HUNG
        return Failure(cause=cause, message=f"{why}: {self._outcome()}")

    def _outcome(self) -> str:
        if self.stuck:
            named = ", ".join(map(str, self.stuck))
            return (
                f"{named} hangs in the kernel, and cannot be killed; "
                f"{self.job.target} cannot be used until it ends; the device may have "
                "to recover, or the host be rebooted"
            )
        how = "on request"
        if self.phase is Phase.KILLED:
            how = "only when killed"
        if self.phase is Phase.GIVEN_UP:
            outcome = "the backend could not be killed"
            return f"{outcome}; {KERNEL_LOG_HINT}"
        return f"the run was aborted, and ended {how}; {KERNEL_LOG_HINT}"


KERNEL_LOG_HINT = "see the kernel's log (dmesg) for the device's messages"


def planned_s(job: Job) -> float:
    """How long the job is to take; `inf` where only its bytes end it."""
    return (job.warmup_ns + job.run_ns) / SECOND_NS if job.run_ns else inf


def least_silence_s(job: Job) -> float:
    """What a sound run may take between two signs of I/O."""
    gaps_s = min((mean_gap_s(stream) for stream in job.streams), default=0.0)
    least_s = max(SILENT_INTERVALS * job.interval_ns / SECOND_NS, SILENT_GAPS * gaps_s)
    return max(hang_s(job) + job.interval_ns / SECOND_NS, least_s + longest_rest_s(job))


def hang_s(job: Job, usual_s: float = 0.0) -> float:
    """The longest that a stream may wait for an I/O, as it says, or as is usual."""
    said = (one.hang_ns / SECOND_NS or usual_s for one in job.streams)
    return max(said, default=usual_s)


def longest_rest_s(job: Job) -> float:
    """How long a run may be without any stream that is to do I/O."""
    quiet_ns = min(map(_quiet_ns, job.streams), default=0)
    return (_between_streams_ns(job) + quiet_ns) / SECOND_NS


def _quiet_ns(stream: JobStream) -> int:
    """How long its rate may be 0, or its trace have no I/O."""
    if stream.replay and stream.pace != "fast":
        return round(stream.replay.quiet_ns / stream.speed)
    phases = stream.rate.phases if stream.rate else ()
    return max((one.length_ns for one in phases if not one.per_s), default=0)


def _between_streams_ns(job: Job) -> float:
    parts = sorted((s.starts_ns, s.ends_ns or inf) for s in job.streams)
    rest_ns, until_ns = 0.0, 0.0
    for starts_ns, ends_ns in parts:
        rest_ns = max(rest_ns, starts_ns - job.warmup_ns - until_ns)
        until_ns = max(until_ns, ends_ns)
    return rest_ns


def mean_gap_s(stream: JobStream) -> float:
    """The mean time between two I/Os that a rate or a pause asks for."""
    rate = stream.rate
    if rate is None:
        return stream.pause_ns / SECOND_NS
    unit = 1
    if not rate.iops:
        unit = max(s.size_bytes for s in (*stream.read_sizes, *stream.write_sizes))
    slowest = min(one for one in rate.all_per_s if one)
    return unit / slowest


def had_io(progress: Progress) -> bool:
    """Whether an I/O came back in the interval, well or not."""
    return any(
        stream.sync_ios
        or any(one.ios or one.errors for one in stream.directions.values())
        for stream in progress.streams
    )
