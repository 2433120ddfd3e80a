"""What power cuts have shown: how many there were, and the bound that no loss gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import gcd
from typing import Any

from ioplan.core.text import counted
from ioplan.language.quantity import size_text
from ioplan.records.record import RunRecord
from ioplan.results.measure.zero_losses import BROKEN, PROMISES, bound_text
from ioplan.results.report.documents import Judged


def survived(by_label: Mapping[str, Sequence[RunRecord]]) -> Iterator[Judged]:
    """A line for each session of a test that cuts the power and reads afterwards."""
    for label, records in by_label.items():
        read = list(_read(records))
        if read:
            who = f"{label}: " if len(by_label) > 1 else ""
            outcome, text = _outcome(read)
            yield Judged(outcome, who + text + _more(read))


def _outcome(read: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """Only a cut after which something promised was read can have broken a promise."""
    broken = sum(any(map(found.get, BROKEN)) for found in read)
    if broken:
        of = counted(len(read), "power cut")
        return "failed", f"a promise was broken by {broken} of {of}"
    cuts = sum(any(map(found.get, PROMISES)) for found in read)
    others = counted(len(read) - cuts, "power cut")
    nothing = f"nothing that had been promised was read after {others}"
    if not cuts:
        return "undecided", nothing
    text = (
        f"no promise was broken by {counted(cuts, 'power cut')}: with 95 % confidence "
        f"{bound_text(cuts)} of such cuts break one"
    )
    return "held", text if cuts == len(read) else f"{text}; {nothing}"


def _more(read: Sequence[dict[str, Any]]) -> str:
    """How it broke them, and what no drive has to promise."""
    text = ""
    if any(found.get("reordered") for found in read):
        text += "; durable blocks were lost though writes issued after them survived"
    if any(found.get("overtaken") for found in read):
        text += "; entries of a log were lost though writes that follow it survived"
    if torn := sum(found.get("torn_writes", 0) for found in read):
        unit_bytes = gcd(*(found.get("torn_unit_bytes", 0) for found in read))
        text += (
            f"; {counted(torn, 'write')} torn, at multiples of {size_text(unit_bytes)}"
        )
    return text


def _read(records: Sequence[RunRecord]) -> Iterator[dict[str, Any]]:
    """What the first reads after each cut found."""
    cut = False
    for record in sorted(records, key=lambda one: one.seq):
        if record.power_cut:
            cut = True
            continue
        found = record.backend.facts.get("verify")
        if cut and isinstance(found, dict) and BROKEN[0] in found:
            yield found
            cut = False
