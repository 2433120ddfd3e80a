"""One job on one drive, from start to what came out."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic_core import to_json

from ioplan.backends import BackendError, Drive
from ioplan.job import Event, Failure, Job, Progress, Result, Started
from ioplan.results.measure import Measurement
from ioplan.results.record import Interval, Status
from ioplan.runner.interrupt import HOLDING, Interrupt
from ioplan.runner.share import share_done

EVENTS = (Started, Progress, Result, Failure)
WHOLE = 0.95
"""A run that ends by itself before this share of what was asked was cut short…"""
START_NS = 50_000_000
"""…but for what a loaded machine may take until the first I/O is issued."""

Watch = Callable[[Progress, Interval | None], bool]
"""Told of each interval; returning True ends the run, as its purpose is reached."""


@dataclass(frozen=True)
class Finished:
    """A run that is over, well or not."""

    measurement: Measurement
    status: Status
    cause: str
    message: str
    started_at: str
    ended_at: str


def now() -> str:
    """The time, in UTC and ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def execute(drive: Drive, job: Job, interrupt: Interrupt, watch: Watch) -> Finished:
    """Run a job to its end, good or bad. Nothing of it goes on when this returns."""
    started_at, measurement, enough = now(), Measurement(), False
    with (
        interrupt.patient(HOLDING),
        closing(_taken(drive, job, interrupt, measurement)) as taken,
    ):
        for event, interval in taken:
            if enough or not isinstance(event, Progress):
                continue
            enough = watch(event, interval)
            if enough and interrupt.current:
                interrupt.current.stop()
    measurement = _usable(measurement)
    status, cause, message = _judged(job, measurement, interrupt.asked > 0, enough)
    return Finished(measurement, status, cause, message, started_at, now())


def _taken(
    drive: Drive, job: Job, interrupt: Interrupt, measurement: Measurement
) -> Generator[tuple[Event, Interval | None], None, None]:
    """All events, measured. A backend that breaks ends its run as a Failure does."""
    try:
        with drive.start(job) as execution, interrupt.stopping(execution):
            for event in execution:
                if not isinstance(event, EVENTS):
                    raise BackendError(f"the backend gave what is no event: {event!r}")
                yield event, measurement.add(event)
    except Exception as error:  # a stranger's code: anything may come
        measurement.add(Failure(cause="backend-error", message=told(error)))


def told(error: Exception) -> str:
    """What a backend's error says; a backend's defect is called by its name."""
    if isinstance(error, BackendError):
        return str(error)
    return f"the backend failed: {type(error).__name__}: {error}"


def _usable(measurement: Measurement) -> Measurement:
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


def _judged(
    job: Job, measurement: Measurement, interrupted: bool, enough: bool
) -> tuple[Status, str, str]:
    """Whether the run is what was asked; if not, why, in a word and a sentence."""
    failure = measurement.failure or _unmeasured(measurement)
    short = "" if failure or enough else _short(job, measurement)
    if interrupted and (failure or short):
        return "interrupted", "interrupted", "stopped by the user"
    if failure:
        return "failed", failure.cause, failure.message
    if short:
        return "failed", "short", short
    return _checked(measurement)


def _unmeasured(measurement: Measurement) -> Failure | None:
    if measurement.complete:
        return None
    return Failure(cause="no-result", message="the backend ended without a result")


def _short(job: Job, measurement: Measurement) -> str:
    """How a run that nobody ended came to its end too early, if it did."""
    moved_bytes = sum(part.bytes for part in measurement.directions.values())
    share = share_done(job, measurement.run_ns, moved_bytes)
    stopped = measurement.result is not None and measurement.result.stopped
    if stopped and share < 1:
        return f"something stopped the run at {share:.1%} of what was asked"
    if share_done(job, measurement.run_ns + START_NS, moved_bytes) < WHOLE:
        return f"the run ended at {share:.1%} of what was asked"
    return ""


def _checked(measurement: Measurement) -> tuple[Status, str, str]:
    """The figures must agree with each other, and the data with what was written."""
    wrong = sum(stream.verify_errors for stream in measurement.streams)
    if wrong:
        return "failed", "verify", f"{wrong} blocks did not hold what was last written"
    for found in measurement.inconsistencies():
        if found.level == "error":
            return "failed", "inconsistent", f"the figures contradict: {found}"
    return "ok", "", ""
