"""A probe of a seek, and what was found, each in a few words."""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.core.text import counted
from ioplan.core.units import digits
from ioplan.records.record import RunRecord
from ioplan.records.seek import Found


def probe_words(record: RunRecord) -> str:
    """`bisect: no (p99 <= 1ms)`: what the probe was for, and what decided it."""
    probed = record.asked.seek
    if probed is None:
        return ""
    how = probed.decision
    decisive = [d.demand for d in probed.demands if how != "yes" and d.decision == how]
    why = f" ({', '.join(decisive)})" if decisive else ""
    return f"{probed.phase}: {how or record.status}{why}"


def found_at(record: RunRecord) -> str:
    """What a seek found, with the cell that it was found in."""
    cell = " ".join(f"{n}={v}" for n, v in record.asked.cell.items())
    text = found_line(record.found) if record.found else ""
    return f"{cell}: {text}" if cell else text


def found_line(found: Found) -> str:
    """`qd = 24: yes at 24, no at 25, confirmed; 9 probes`."""
    if found.value is None:
        least = f": no at {found.no_text}" if found.no_at is not None else ""
        return f"{found.nothing}{least}; {counted(found.probes, 'probe')}"
    sign = found.beyond or "="
    return f"{found.axis} {sign} {found.text}: {'; '.join(_surety(found))}"


def _surety(found: Found) -> Iterator[str]:
    beyond = "yes to the end of the range"
    if found.no_at is not None:
        beyond = f"no at {found.no_text}"
    yield f"{beyond}, {'confirmed' if found.confirmed else 'not confirmed'}"
    yield counted(found.probes, "probe")
    if found.fit and found.fit.peak:
        yield f"the scalability law has its peak at {digits(found.fit.peak)}"
    if found.undecided:
        yield f"{found.undecided} undecided"
    if not found.monotone:
        yield "not monotone: a value beyond a no held"
