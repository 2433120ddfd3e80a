"""One job on one drive, from start to what came out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from ioplan.backends import Drive, Execution
from ioplan.job import Failure, Job, Progress
from ioplan.results.measure import Measurement
from ioplan.results.record import Interval, Status
from ioplan.runner.interrupt import Interrupt

SHORT = 0.95
"""A run that ends by itself before this share of its time was cut short…"""
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
    """Run a job to its end. Nothing of it goes on when this returns."""
    started_at, measurement = now(), Measurement()
    enough = False
    with drive.start(job) as execution:
        interrupt.current = execution
        try:
            if interrupt.asked:
                execution.stop()
            enough = _watched(execution, measurement, watch)
        finally:
            interrupt.current = None
    status, cause, message = _judged(job, measurement, interrupt.asked, enough)
    return Finished(measurement, status, cause, message, started_at, now())


def _watched(execution: Execution, measurement: Measurement, watch: Watch) -> bool:
    """Take all events; True if the watch ended the run."""
    enough = False
    for event in execution:
        interval = measurement.add(event)
        if isinstance(event, Progress) and not enough and watch(event, interval):
            enough = True
            execution.stop()
    return enough


def _judged(
    job: Job, measurement: Measurement, interrupted: bool, enough: bool
) -> tuple[Status, str, str]:
    """Whether the run is what was asked; if not, why, in a word and a sentence."""
    if interrupted:
        return "interrupted", "interrupted", "stopped by the user"
    failure = measurement.failure or _unmeasured(measurement)
    if failure:
        return "failed", failure.cause, failure.message
    if not enough and _is_short(job, measurement.run_ns):
        asked_s = (job.run_ns or 0) / 1e9
        return (
            "failed",
            "short",
            f"the run ended after {measurement.run_ns / 1e9:.3g} s of {asked_s:.3g} s",
        )
    return _checked(measurement)


def _unmeasured(measurement: Measurement) -> Failure | None:
    if measurement.complete:
        return None
    return Failure(cause="no-result", message="the backend ended without a result")


def _is_short(job: Job, run_ns: int) -> bool:
    """Only where time alone decides the end."""
    timed = job.run_ns if job.limit_bytes is None and job.passes is None else None
    return timed is not None and run_ns < timed * SHORT - START_NS


def _checked(measurement: Measurement) -> tuple[Status, str, str]:
    """The figures must agree with each other, and the data with what was written."""
    wrong = sum(stream.verify_errors for stream in measurement.streams)
    if wrong:
        return "failed", "verify", f"{wrong} blocks did not hold what was last written"
    for found in measurement.inconsistencies():
        if found.level == "error":
            return "failed", "inconsistent", f"the figures contradict: {found}"
    return "ok", "", ""
