"""One job on one drive, from start to what came out."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic_ns

from pydantic_core import to_json

from ioplan.backends import BackendError, Drive
from ioplan.job import Event, Failure, Job, Progress, Result, Started
from ioplan.measure.measurement import Measurement
from ioplan.records.record import Interval, RunDetail, Status
from ioplan.runner.execute.interrupt import CRITICAL, Interrupt
from ioplan.runner.execute.io_errors import DEVICE_ERROR, device_failure, errors_in
from ioplan.runner.execute.progress import ClockPair, fraction_done
from ioplan.runner.execute.watchdog import STUCK, Limits, Watchdog
from ioplan.telemetry.instruments import InstrumentedRun, Instruments, RunTelemetry

EVENTS = (Started, Progress, Result, Failure)
COMPLETE_FRACTION = 0.95
"""A run that ends by itself before this share of what was asked was cut short…"""
STARTUP_NS = 100_000_000
"""…but for what a loaded machine may take until the first I/O is issued."""

UNCONDITIONAL_FAILURES = (STUCK, DEVICE_ERROR)
"""Causes that are told also of a run that the user has stopped."""
DEFAULT_LIMITS = Limits()

OnInterval = Callable[[Progress, Interval | None], bool]
"""Told of each interval; returning True ends the run, as its purpose is reached."""


@dataclass(frozen=True)
class RunOutcome:
    """A run that is over, well or not.

    The cause "stuck" says that it left processes behind in the kernel: nothing more
    may be done on its target. `warnings` are the runner's own.
    """

    measurement: Measurement
    status: Status
    cause: str
    message: str
    started_at: str
    ended_at: str
    warnings: tuple[str, ...] = ()
    telemetry: RunTelemetry = field(default_factory=RunTelemetry)

    @property
    def detail(self) -> RunDetail:
        """What is kept beside the record."""
        points = {"telemetry": self.telemetry.points}
        return self.measurement.detail.model_copy(update=points)


def now() -> str:
    """The time, in UTC and ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def execute(
    drive: Drive,
    job: Job,
    interrupt: Interrupt,
    on_interval: OnInterval,
    limits: Limits = DEFAULT_LIMITS,
    instruments: Instruments | None = None,
) -> RunOutcome:
    """Run a job to its end, good or bad.

    Nothing of it goes on when this returns, but for what is "stuck".
    """
    run, clocks, started_at = _Run(job, interrupt, limits), ClockPair(), now()
    watched = InstrumentedRun(instruments, job)
    with interrupt.tolerating(CRITICAL), watched, closing(run.events(drive)) as taken:
        for event, interval in taken:
            watched.on_event(event)
            if isinstance(event, Progress) and not run.is_over(event):
                run.enough = on_interval(event, interval)
            if (run.enough or run.errors) and interrupt.current:
                interrupt.current.stop()
    status, cause, message = run.verdict()
    gathered, ended_at = watched.telemetry, now()
    warnings = tuple(filter(None, [clocks.jump()]))
    return RunOutcome(
        run.measurement,
        status,
        cause,
        message,
        started_at,
        ended_at,
        warnings,
        gathered,
    )


class _Run:
    """A run while it goes on, and what is to be said of it."""

    def __init__(self, job: Job, interrupt: Interrupt, limits: Limits) -> None:
        self.job, self.interrupt, self.limits = job, interrupt, limits
        self.measurement = Measurement()
        self.enough, self.errors = False, 0
        self.began_ns = self.lasted_ns = 0

    def events(
        self, drive: Drive
    ) -> Generator[tuple[Event, Interval | None], None, None]:
        """All events, measured. What a backend raises ends its run as a Failure."""
        try:
            dog = Watchdog(lambda: drive.start(self.job), self.job, self.limits)
            try:
                with dog, self.interrupt.stopping(dog):
                    for event in dog:
                        yield event, self._measured(event)
            finally:
                if hung := dog.failure():
                    self.measurement.add(hung)
        except Exception as error:  # a stranger's code: anything may come
            self.measurement.add(
                Failure(cause="backend-error", message=format_error(error))
            )

    def _measured(self, event: Event) -> Interval | None:
        if not isinstance(event, EVENTS):
            raise BackendError(f"the backend gave what is no event: {event!r}")
        if isinstance(event, Started):
            self.began_ns = monotonic_ns() + self.job.warmup_ns
        elif self.began_ns:
            self.lasted_ns = monotonic_ns() - self.began_ns
        return self.measurement.add(event)

    def is_over(self, progress: Progress) -> bool:
        """Whether it has reached its purpose, or cannot any more."""
        self.errors += errors_in(progress)
        return self.enough or self.errors > 0

    def verdict(self) -> tuple[Status, str, str]:
        """Whether the run is what was asked; if not, why, in a word and a sentence."""
        measurement = self.measurement = _sanitized(self.measurement)
        failed = device_failure(self.job.target, self.errors, measurement)
        failure = measurement.failure or failed
        if failure and failure.cause in UNCONDITIONAL_FAILURES:
            return "failed", failure.cause, failure.message
        failure = failure or _missing_result(measurement)
        short = (
            ""
            if failure or self.enough
            else _cut_short(self.job, measurement, self.lasted_ns)
        )
        if self.interrupt.signals and (failure or short):
            return "interrupted", "interrupted", "stopped by the user"
        if failure:
            return "failed", failure.cause, failure.message
        if short:
            return "failed", "short", short
        return _self_consistent(measurement)


def format_error(error: Exception) -> str:
    """What a backend's error says; a backend's defect is called by its name."""
    if isinstance(error, BackendError):
        return str(error)
    return f"the backend failed: {type(error).__name__}: {error}"


def _sanitized(measurement: Measurement) -> Measurement:
    """The measurement, or what is left of one that no figures can be made of."""
    try:
        _ = (measurement.streams, measurement.directions, measurement.total)
        _ = (measurement.detail, measurement.cpu_percent, to_json(measurement.facts))
        measurement.inconsistencies()
        return measurement
    except (ArithmeticError, TypeError, ValueError) as error:
        left = Measurement()
        message = f"no figures can be made of what the backend gave: {error}"
        left.add(Failure(cause="backend-garbage", message=message))
        return left


def _missing_result(measurement: Measurement) -> Failure | None:
    if measurement.complete:
        return None
    return Failure(cause="no-result", message="the backend ended without a result")


def _cut_short(job: Job, measurement: Measurement, lasted_ns: int) -> str:
    """How a run that nobody ended came to its end too early, if it did.

    What counts is how long it went on, `lasted_ns` by our own clock: a slow device
    may complete nothing in the last part of the time that is measured.
    """
    moved_bytes = sum(part.bytes for part in measurement.directions.values())
    share = fraction_done(job, measurement.run_ns, moved_bytes)
    stopped = measurement.result is not None and measurement.result.stopped
    if stopped and share < 1:
        return f"something stopped the run at {share:.1%} of what was asked"
    went_on_ns = max(measurement.run_ns, lasted_ns) + STARTUP_NS
    if fraction_done(job, went_on_ns, moved_bytes) < COMPLETE_FRACTION:
        return f"the run ended at {share:.1%} of what was asked"
    return ""


def _self_consistent(measurement: Measurement) -> tuple[Status, str, str]:
    """The figures must agree with each other, and the data with what was written."""
    wrong = sum(stream.verify_errors for stream in measurement.streams)
    if wrong:
        return "failed", "verify", f"{wrong} blocks did not hold what was last written"
    for found in measurement.inconsistencies():
        if found.level == "error":
            return "failed", "inconsistent", f"the figures contradict: {found}"
    return "ok", "", ""
