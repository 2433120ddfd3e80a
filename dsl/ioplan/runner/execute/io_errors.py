"""Failed I/Os: counted wherever a backend reports them, and described."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ioplan.core.error_kinds import Cause
from ioplan.job import Failure, Progress

if TYPE_CHECKING:
    from ioplan.measure.measurement import Measurement

KERNEL_LOG_HINT = "see the kernel's log (dmesg) for the device's own words"


def errors_in(progress: Progress) -> int:
    """Failed I/Os of an interval, in the warm-up as well."""
    return sum(
        counts.errors
        for stream in progress.streams
        for counts in stream.directions.values()
    )


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
    return f", the first {where}: {_named(error)}"


def _named(error: dict[str, Any]) -> str:
    """EIO (Input/output error)."""
    name, number = str(error.get("name", "an error")), error.get("errno")
    if number == 0:
        return f"{name}, fewer bytes than asked for"
    return f"{name} ({os.strerror(number)})" if isinstance(number, int) else name
