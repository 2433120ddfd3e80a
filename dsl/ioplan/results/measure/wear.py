"""Metrics of a drive's wear, from what its logs counted in all runs together.

Write amplification is what was written to the flash over what the host wrote (Hu et
al., Write Amplification Analysis in Flash-Based Solid State Drives, SYSTOR 2009). Drive
writes per day is what the host wrote over capacity and time (JESD218B.02): that of a
run is what a drive would take if the run went on all day.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ioplan.job import Wear

DAY_S = 86_400
STEPS = 100
"""So many steps of the log must have been written: it is then right to 1 %."""
NO_LOG = "not measured: the drive has no log of what is written"
NO_MEDIA = "not measured: the drive's log does not count what goes to its flash"
NO_CAPACITY = "not measured: the drive does not report its capacity"
NOT_WRITTEN = "nothing was written"

Reason = str


def wear_value(name: str, runs: Sequence[Wear | None]) -> float | Reason:
    """A metric of WEAR_METRICS over all runs, or why there is none."""
    known = [one for one in runs if one]
    if not known or len(known) < len(runs):
        return NO_LOG
    return WEAR_METRICS[name](known)


def wear_since(before: Wear | None, now: Wear | None) -> Wear | None:
    """What was written between two counts of a run so far."""
    if before is None or now is None:
        return now
    counts = before.media_written_bytes, now.media_written_bytes
    media = None if None in counts else (counts[1] or 0) - (counts[0] or 0)
    host = now.host_written_bytes - before.host_written_bytes
    return now.model_copy(
        update={
            "span_s": now.span_s - before.span_s,
            "host_written_bytes": host,
            "media_written_bytes": media,
        }
    )


def _media_bytes(runs: Sequence[Wear]) -> float | Reason:
    found = [one.media_written_bytes for one in runs]
    known = [number for number in found if number is not None]
    return float(sum(known)) if len(known) == len(found) else NO_MEDIA


def _host_bytes(runs: Sequence[Wear]) -> float | Reason:
    written = sum(one.host_written_bytes for one in runs)
    least = STEPS * max(one.step_bytes for one in runs)
    if written and least > STEPS and written < least:
        return f"too little was written: the log needs {least / 1e6:g} MB"
    return float(written) if written else NOT_WRITTEN


def _amplification(runs: Sequence[Wear]) -> float | Reason:
    media, host = _media_bytes(runs), _host_bytes(runs)
    if isinstance(media, Reason):
        return media
    return host if isinstance(host, Reason) else media / host


def _drive_writes_per_day(runs: Sequence[Wear]) -> float | Reason:
    host, span_s = _host_bytes(runs), sum(one.span_s for one in runs)
    capacity_bytes = runs[-1].capacity_bytes
    if not capacity_bytes or span_s <= 0:
        return NO_CAPACITY
    return host if isinstance(host, Reason) else host / capacity_bytes / span_s * DAY_S


WEAR_METRICS: dict[str, Callable[[Sequence[Wear]], float | Reason]] = {
    "waf": _amplification,
    "media_written": _media_bytes,
    "dwpd": _drive_writes_per_day,
}
