"""Failed I/Os: counted wherever a backend reports them, and described."""

from __future__ import annotations

import os
from collections import Counter
from math import inf
from typing import TYPE_CHECKING, Any

from ioplan.core.error_kinds import Cause
from ioplan.core.units import latency_text, told_apart
from ioplan.job import Failure, Job, Progress
from ioplan.job_stream import JobStream

if TYPE_CHECKING:
    from ioplan.results.measure.measurement import Measurement


# What a run with `verify` has found: whether the data is what was last written.

FAULTS = {
    "no_stamp": "carry no stamp",
    "checksum": "do not match their checksum",
    "misdirected": "were written for another offset",
    "stale": "are older than the last write",
    "lost_flushed": "were flushed, and a power cut took them back",
    "lost_fua": "were written with FUA, and a power cut took them back",
    "older_than_durable": "had survived a power cut, and a later one took them back",
    "torn": "are torn: a part is of one write, a part of another",
    "foreign": "carry a generation that was never written",
}
"""The faults of a block, by their names in the fact `verify` of a Result."""
REORDERED = "though writes survived that were issued after they were durable"
OVERTAKEN = "are entries of a log, and writes survived that follow it"
SHOWN = 5
NOTHING = (
    "verified 0 of {read} blocks: nothing that was read had been written with "
    "'verify'; write it with 'verify' first"
)


def verify_failure(job: Job, measurement: Measurement) -> Failure | None:
    """Why the data cannot be vouched for, if it cannot.

    A backend tells what it found in the fact `verify`: blocks `read` and `verified`,
    how many have each of `FAULTS`, and the `first` of those, with offset and text.
    """
    facts = measurement.facts.get("verify")
    text = _found(job, facts) if isinstance(facts, dict) else ""
    wrong = sum(stream.verify_errors for stream in measurement.streams)
    if wrong and not text:
        text = f"{wrong} blocks did not contain the data last written"
    return Failure(cause=Cause.VERIFY, message=text) if text else None


def _found(job: Job, facts: dict[str, Any]) -> str:
    read, verified = int(facts.get("read", 0)), int(facts.get("verified", 0))
    counts = {what: int(facts.get(name, 0)) for name, what in FAULTS.items()}
    found = [
        f"{count} of {read} blocks {what}" for what, count in counts.items() if count
    ]
    if found:
        if reordered := facts.get("reordered"):
            found.append(f"{reordered} of these {REORDERED}")
        if overtaken := facts.get("overtaken"):
            found.append(f"{overtaken} of these {OVERTAKEN}")
        return f"{job.target}: {', '.join(found)}; {_places(facts.get('first', []))}"
    if read and not verified and not facts.get("rolled_back"):
        return NOTHING.format(read=read)
    return ""


def _places(first: list[dict[str, Any]]) -> str:
    offsets = ", ".join(str(one.get("offset")) for one in first[:SHOWN])
    what = f" ({first[0].get('what')})" if first else ""
    return f"the first at byte {offsets}{what}"


KERNEL_LOG_HINT = "see the kernel's log (dmesg) for the device's own words"


class FailedIos:
    """A run's failed I/Os, by stream, against what its plan allows."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.seen: Counter[str] = Counter()

    def add(self, progress: Progress) -> None:
        """Count those of an interval, of the warm-up too."""
        for stream in progress.streams:
            errors = sum(counts.errors for counts in stream.directions.values())
            self.seen[stream.name] += errors

    @property
    def exceeded(self) -> bool:
        """Whether a stream has more than it may; a share is judged at the end."""
        return any(self.seen[one.name] > _most(one) for one in self.job.streams)

    def failure(self, measurement: Measurement) -> Failure | None:
        """The failure of a run with more failed I/Os than its plan allows."""
        refused = (_refusal(one, self.seen, measurement) for one in self.job.streams)
        text = next((one for one in refused if one is not None), None)
        if text is None:
            return None
        seen = self.seen.total()
        failure = device_failure(self.job.target, seen, measurement)
        return failure and Failure(cause=failure.cause, message=failure.message + text)


def _most(stream: JobStream) -> float:
    if stream.errors_allowed_percent is not None:
        return inf
    return stream.errors_allowed or 0


def _refusal(
    stream: JobStream, seen: Counter[str], measurement: Measurement
) -> str | None:
    """What the plan allows, where there are more; empty where it allows none."""
    results = [
        r
        for s in measurement.streams
        if s.name == stream.name
        for r in s.directions.values()
    ]
    counted = sum(result.errors for result in results)
    ios = counted + sum(result.ios for result in results)
    if max(seen[stream.name], counted) > _most(stream):
        allowed = stream.errors_allowed
        return f"; {stream.name} may have {allowed}" if allowed else ""
    share = stream.errors_allowed_percent
    if share is None or counted * 100 <= share * ios:
        return None
    failed = told_apart(counted * 100 / ios, share, "%")
    return f"; {stream.name} may have {share:g} % and has {failed}"


def by_errno(measurement: Measurement) -> str:
    """Failed I/Os by stream and errno, where the backend has them in its facts."""
    found = measurement.facts.get("errors")
    if not isinstance(found, dict):
        return ""
    return ", ".join(
        f"{stream}: {figures['ios']} {name}, at most {latency_text(figures['max_ns'])}"
        for stream, errors in found.items()
        for name, figures in errors.items()
    )


def retried(measurement: Measurement) -> str:
    """Attempts that failed and were followed by another one, as `by_errno`."""
    found = measurement.facts.get("retried")
    if not isinstance(found, dict) or not found:
        return ""
    kinds = ", ".join(
        f"{stream}: {ios} {name}"
        for stream, attempts in found.items()
        for name, ios in attempts.items()
    )
    return f"attempts failed and were repeated ({kinds}); latencies include them"


def device_failure(target: str, seen: int, measurement: Measurement) -> Failure | None:
    """The failure of a run with failed I/Os; `seen` were counted in its intervals."""
    counted = sum(part.errors for part in measurement.directions.values())
    errors, first = max(seen, counted), measurement.facts.get("first_error")
    if not errors:
        return None
    text = f"{target}: {errors} I/Os failed{_first(first)}; {KERNEL_LOG_HINT}"
    return Failure(cause=Cause.DEVICE_ERROR, message=text)


def _first(error: Any) -> str:
    """The first error, where the backend reports it in its facts."""
    if not isinstance(error, dict):
        return ""
    direction, size = error.get("direction", "I/O"), error.get("bytes", "?")
    where = f"a {direction} of {size} bytes at offset {error.get('offset', '?')}"
    where += f" of {error['target']}" if error.get("target") else ""
    return f", the first {where}: {_named(error)}"


def _named(error: dict[str, Any]) -> str:
    """EIO (Input/output error)."""
    name, number = str(error.get("name", "an error")), error.get("errno")
    if number == 0:
        return f"{name}, fewer bytes than asked for"
    return f"{name} ({os.strerror(number)})" if isinstance(number, int) else name
