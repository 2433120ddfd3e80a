"""What tests of a volume's limits have found: limit, burst, and how fast it refills."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from ioplan.core.units import bandwidth_text, bytes_text, digits, iops_text, time_text
from ioplan.language.metric import THROTTLED, Metric
from ioplan.records.record import RunRecord
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
    sustained, of_bytes, burst, burst_bytes = (
        reader.figure(Metric(name=name), [first]) for name in THROTTLED
    )
    if sustained.value is None or of_bytes.value is None:
        return f"no limit was found: {sustained.why or of_bytes.why}"
    limit = f"sustains {iops_text(sustained.value)} IOPS"
    limit += f" ({bandwidth_text(of_bytes.value)})"
    if not burst.value:
        return f"{limit}, with no burst before that"
    size = f"{digits(burst.value)} I/Os ({bytes_text(round(burst_bytes.value or 0))})"
    again = _refill(first, second, burst.value, reader) if second else ""
    return f"{limit} after a burst of {size}{again}"


def _refill(first: RunRecord, second: RunRecord, burst: float, reader: Reader) -> str:
    back = reader.figure(Metric(name="burst"), [second])
    if back.value is None:
        return f"; the refill is unknown: {back.why}"
    rest_s = (_moment(second.started_at) - _moment(first.ended_at)).total_seconds()
    rested = f"; after {time_text(rest_s)} without I/O"
    if back.value >= FULL * burst:
        return f"{rested} it was full again: let it rest for less to see its refill"
    ios = f"{digits(back.value)} I/Os were back"
    return f"{rested} {ios}: {digits(back.value / rest_s)} a second"


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
