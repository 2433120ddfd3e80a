"""One job on one drive, from start to what came out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import cached_property
from importlib import import_module
from time import monotonic_ns

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic_core import to_json

from ioplan.backends.backend import BackendError, Drive
from ioplan.core.error_kinds import Cause, ExplainedError
from ioplan.core.units import told_apart
from ioplan.job import (
    SECOND_NS,
    Event,
    Failure,
    Job,
    Progress,
    Result,
    Started,
)
from ioplan.job_stream import JobStream
from ioplan.records.record import Interval, RunDetail, Status
from ioplan.records.telemetry import TelemetryPoint
from ioplan.results.measure.measurement import Measurement
from ioplan.runner.execute.event_reader import never_waits
from ioplan.runner.execute.first_result import prepare_first_result
from ioplan.runner.execute.interrupt import CRITICAL, Interrupt
from ioplan.runner.execute.io_errors import FailedIos, verify_failure
from ioplan.runner.execute.observer import ClockPair, fraction_done
from ioplan.runner.execute.watchdog import Limits, Watchdog
from ioplan.runner.telemetry.instruments import (
    InstrumentedRun,
    Instruments,
    RunTelemetry,
)

# The rate that the replayed traces of a run have themselves, beside its series.


def with_trace_rate(
    telemetry: RunTelemetry, job: Job, series: Sequence[Interval]
) -> RunTelemetry:
    """The telemetry, with what the traces at recorded times have in each interval.

    It is counted after the run, which it must not disturb; a trace that is gone by
    then is a warning.
    """
    replays = [one for one in job.streams if one.replay and one.pace != "fast"]
    if not (replays and series):
        return telemetry
    try:
        rows = _counted(replays, series)
    except (BackendError, OSError) as error:
        text = f"the rate of the trace itself is not known: {error}"
        return replace(telemetry, warnings=(*telemetry.warnings, text))
    read = {point.t_s: point for point in telemetry.points}
    points = [
        read.get(one.t_s, TelemetryPoint(t_s=one.t_s, length_s=one.length_s))
        for one in series
    ]
    pairs = zip(points, rows, strict=True)
    made = tuple(point.model_copy(update=row) for point, row in pairs)
    return replace(telemetry, points=made)


def _counted(
    replays: Sequence[JobStream], series: Sequence[Interval]
) -> list[dict[str, float]]:
    """Of all these streams together, by interval."""
    own_rate = import_module("ioplan.job_replay").own_rate  # only these need numpy
    ends_ns = [round(one.t_s * SECOND_NS) for one in series]
    rows: list[Counter[str]] = [Counter() for _ in series]
    for stream in replays:
        for name, counts in own_rate(stream, ends_ns).items():
            for row, count in zip(rows, counts.tolist(), strict=True):
                row[name] += count
    return [dict(row) for row in rows]


EVENTS = (Started, Progress, Result, Failure)
COMPLETE_FRACTION = 0.95
"""A run that ends by itself before this fraction of its length was cut short…"""
STARTUP_NS = 100_000_000
"""…but for what a loaded machine may take until the first I/O is issued."""

UNCONDITIONAL_FAILURES = (Cause.STUCK, Cause.DEVICE_ERROR)
"""Causes that are reported also of a run that the user has stopped."""
DEFAULT_LIMITS = Limits()

OnInterval = Callable[[Progress, Interval | None], bool]
"""Called with each interval; True ends the run, as its purpose is reached."""


class RunOutcome(Struct, frozen=True):
    """A run that is over, well or not.

    The cause "stuck" says that it left processes behind in the kernel: nothing more
    may be done on its target. `warnings` are the runner's own, and `lasted_s` is by its
    clock; none if the backend computes, or ioplan was late to read what it told.
    """

    measurement: Measurement
    status: Status
    cause: str
    message: str
    started_at: str
    ended_at: str
    warnings: tuple[str, ...] = ()
    lasted_s: float | None = None
    telemetry: RunTelemetry = field(default_factory=RunTelemetry)

    @property
    def detail(self) -> RunDetail:
        """What is kept beside the record."""
        points = {"telemetry": self.telemetry.points}
        return self.measurement.detail.model_copy(update=points)


class _Clock:
    """The time of day when a session began, carried on by a clock that nobody sets:
    the times of a session are as far apart as they were."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.began_at = datetime.now(UTC)
        self.began_s = time.clock_gettime(time.CLOCK_BOOTTIME)

    def now(self) -> datetime:
        passed_s = time.clock_gettime(time.CLOCK_BOOTTIME) - self.began_s
        return self.began_at + timedelta(seconds=passed_s)


_CLOCK = _Clock()
begin_clock = _CLOCK.begin
"""Called before a session's first time."""


def now() -> str:
    """The time, in UTC and ISO 8601."""
    return _CLOCK.now().isoformat(timespec="milliseconds")


def execute(
    drive: Drive,
    job: Job,
    interrupt: Interrupt,
    on_interval: OnInterval,
    limits: Limits = DEFAULT_LIMITS,
    instruments: Instruments | None = None,
    begun: Callable[[], None] = lambda: None,
) -> RunOutcome:
    """Run a job to its end, good or bad; `begun` is called as its I/O begins.

    Nothing of it goes on when this returns, but for what is "stuck".
    """
    run, clocks, started_at = _Run(job, interrupt, limits), ClockPair(), now()
    watched = InstrumentedRun(instruments, job)
    with interrupt.tolerating(CRITICAL), watched, closing(run.events(drive)) as events:
        for event, interval in events:
            watched.on_event(event)
            if isinstance(event, Started):
                begun()
            if isinstance(event, Progress) and not run.is_over(event):
                run.enough = on_interval(event, interval)
            if (run.enough or run.failed.exceeded) and interrupt.current:
                interrupt.current.stop()
    status, cause, message = run.verdict()
    return RunOutcome(
        run.measurement,
        status,
        cause,
        message,
        started_at,
        ended_at=now(),
        warnings=tuple(filter(None, [clocks.jump(), run.late])),
        lasted_s=run.lasted_s,
        telemetry=with_trace_rate(watched.telemetry, job, run.measurement.series),
    )


class _Run:
    """A run while it goes on, and how it came out."""

    def __init__(self, job: Job, interrupt: Interrupt, limits: Limits) -> None:
        self.job, self.interrupt, self.limits = job, interrupt, limits
        self.enough, self.waits, self.late = False, True, ""
        self.failed = FailedIos(job)
        self.started_ns = self.lasted_ns = 0

    @cached_property
    def measurement(self) -> Measurement:
        """A measurement of nothing, until the first event comes."""
        return _nothing_measured()

    def events(
        self, drive: Drive
    ) -> Generator[tuple[Event, Interval | None], None, None]:
        """All events, measured. What a backend raises ends its run as a Failure."""
        try:
            watchdog = Watchdog(lambda: drive.start(self.job), self.job, self.limits)
            self.waits = not never_waits(watchdog.execution)
            try:
                with watchdog, self.interrupt.stopping(watchdog):
                    for event in watchdog:
                        yield event, self._measured(event)
            finally:
                self.late = watchdog.late()
                if hung := watchdog.failure():
                    self.measurement.add(hung)
        except Exception as error:  # a stranger's code: anything may come
            message = format_error(error)
            self.measurement.add(Failure(cause=Cause.BACKEND_ERROR, message=message))

    def _measured(self, event: Event) -> Interval | None:
        if not isinstance(event, EVENTS):
            raise BackendError(f"the backend sent an invalid event: {event!r}")
        if isinstance(event, Started):
            self.started_ns = monotonic_ns() + self.job.warmup_ns
            if self.waits:
                prepare_first_result(self.job)
        elif self.started_ns:
            self.lasted_ns = monotonic_ns() - self.started_ns
        return self.measurement.add(event)

    @property
    def lasted_s(self) -> float | None:
        """How long the measured part was by our own clock, where that can be told."""
        is_told = self.waits and self.started_ns and not self.late
        return self.lasted_ns / SECOND_NS if is_told else None

    def is_over(self, progress: Progress) -> bool:
        """Whether it has reached its purpose, or cannot any more."""
        self.failed.add(progress)
        return self.enough or self.failed.exceeded

    def verdict(self) -> tuple[Status, str, str]:
        """Status, cause and message: whether it is the run that was asked for."""
        self.measurement = _sanitized(self.measurement, self.job)
        failure = self._failure()
        if failure and self.interrupt.signals and _is_conditional(failure):
            return "interrupted", Cause.INTERRUPTED, self.interrupt.why
        failure = failure or verify_failure(self.job, self.measurement)
        return ("failed", failure.cause, failure.message) if failure else ("ok", "", "")

    def _failure(self) -> Failure | None:
        """Why the run did not come to its end, if it did not."""
        measurement = self.measurement
        failed = self.failed.failure(measurement)
        failure = measurement.failure or failed or _missing_result(measurement)
        if failure or self.enough:
            return failure
        return _cut_short(self.job, measurement, self.lasted_ns)


def format_error(error: Exception) -> str:
    """The text of a backend's or a target's error; a backend's defect with its type."""
    if isinstance(error, ExplainedError):
        return str(error)
    return f"the backend failed: {type(error).__name__}: {error}"


def _sanitized(measurement: Measurement, job: Job) -> Measurement:
    """The measurement, or an empty one if no figures can be made of it."""
    try:
        if measurement.bad_bins:
            raise ValueError(measurement.bad_bins)
        _ = (measurement.streams, measurement.directions, measurement.total)
        _ = (measurement.detail, measurement.cpu_percent, to_json(measurement.facts))
        _ = (measurement.targets, measurement.phases(job))
        return measurement
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        empty = _nothing_measured()
        message = f"the backend's results are invalid: {error!r}"
        empty.add(Failure(cause=Cause.BACKEND_GARBAGE, message=message))
        return empty


def _nothing_measured() -> Measurement:
    return Measurement()


def _is_conditional(failure: Failure) -> bool:
    return failure.cause not in UNCONDITIONAL_FAILURES


def _missing_result(measurement: Measurement) -> Failure | None:
    if measurement.complete:
        return None
    message = "the backend ended without a result"
    return Failure(cause=Cause.NO_RESULT, message=message)


def _cut_short(job: Job, measurement: Measurement, lasted_ns: int) -> Failure | None:
    """Whether a run that nobody ended was over too early.

    What counts is how long it reports, or else lasted, `lasted_ns` by our own clock: a
    slow device may complete nothing in the last part of the time that is measured.
    """
    moved_bytes = sum(part.bytes for part in measurement.directions.values())
    fraction = fraction_done(job, measurement.run_ns, moved_bytes)
    share = told_apart(min(100 * fraction, 99.9), 100, "%")
    stopped = measurement.result is not None and measurement.result.stopped
    if stopped and fraction < 1:
        text = f"the run was stopped after {share} of its length"
        return Failure(cause=Cause.SHORT, message=text)
    told_ns = round(measurement.series[-1].t_s * SECOND_NS) if measurement.series else 0
    lasted_ns = max(measurement.run_ns, told_ns or lasted_ns) + STARTUP_NS
    if fraction_done(job, lasted_ns, moved_bytes) < COMPLETE_FRACTION:
        text = f"the run ended after {share} of its length"
        return Failure(cause=Cause.SHORT, message=text)
    return None
