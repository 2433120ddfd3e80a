"""What a run with `verify` has found: whether the data is what was last written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ioplan.core.error_kinds import Cause
from ioplan.job import Failure, Job

if TYPE_CHECKING:
    from ioplan.results.measure.measurement import Measurement

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
