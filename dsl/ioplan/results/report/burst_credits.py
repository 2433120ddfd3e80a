"""What tests of a volume's limits have found: limit, burst, and how fast it refills."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from ioplan.core.units import bandwidth_text, bytes_text, digits, iops_text, time_text
from ioplan.records.record import Interval, RunRecord
from ioplan.results.measure.burst import Throttled, throttled
from ioplan.results.report.documents import Judged
from ioplan.results.report.reader import Reader

DRAINED, REFILLED = "drained", "refilled"
"""The names of the steps: until the burst is used up, and again after a rest."""
FULL = 0.95
"""So much of the first burst is all of it."""


def credits(
    by_label: Mapping[str, Sequence[RunRecord]], reader: Reader
) -> Iterator[Judged]:
    """A line for each session that has drained a volume."""
    for label, records in by_label.items():
        who = f"{label}: " if len(by_label) > 1 else ""
        runs = sorted((r for r in records if r.status == "ok"), key=lambda one: one.seq)
        for first in (one for one in runs if one.asked.name == DRAINED):
            later = (one for one in runs if one.seq > first.seq)
            second = next((r for r in later if r.asked.name == REFILLED), None)
            yield Judged("none", who + _text(first, second, reader))


def _text(first: RunRecord, second: RunRecord | None, reader: Reader) -> str:
    series = _series(first, reader)
    ios, moved = throttled("iops", series), throttled("bandwidth", series)
    if ios.why or moved.why:
        return f"no limit was found: {ios.why or moved.why}"
    limit = f"sustains {iops_text(ios.per_s)} IOPS"
    limit += f" ({bandwidth_text(moved.per_s)} MB/s)"
    if not ios.burst:
        return f"{limit}, with no burst before that"
    size = f"{digits(ios.burst)} I/Os ({bytes_text(round(moved.burst))})"
    again = _refill(first, second, ios, reader) if second else ""
    return f"{limit} after a burst of {size}{again}"


def _refill(first: RunRecord, second: RunRecord, ios: Throttled, reader: Reader) -> str:
    found = throttled("iops", _series(second, reader))
    if found.why:
        return f"; the refill is unknown: {found.why}"
    rest_s = (_moment(second.started_at) - _moment(first.ended_at)).total_seconds()
    rested = f"; after {time_text(rest_s)} without I/O"
    if found.burst >= FULL * ios.burst:
        return f"{rested} it was full again: let it rest for less to see its refill"
    back = f"{digits(found.burst)} I/Os were back"
    return f"{rested} {back}: {digits(found.burst / rest_s)} a second"


def _series(record: RunRecord, reader: Reader) -> list[Interval]:
    return [interval for interval, _ in reader.series(record)]


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
