"""A run on the device: what was asked, what the backend told, and what arrived."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ioplan.backends import JobStream
from ioplan.job import Counts, Job, Result, StreamCounts
from ioplan.workload import DIRECTIONS
from ioplan_witness.log import KINDS, Entries

READ, WRITE, FLUSH, DISCARD = range(len(KINDS))
PIECE_BYTES = 1 << 20
"""Larger I/Os arrive in pieces."""
KIND_OF = {"read": READ, "write": WRITE, "trim": DISCARD}
Verdict = Literal["as asked", "differs", "not judged"]
Flags = npt.NDArray[np.bool_]


class Clause(Struct, frozen=True):
    """A row: a clause of a stream, as it was asked, told and seen.

    `note` says why it is not judged, or by how much it differs.
    """

    name: str
    stream: str
    asked: str
    told: str
    seen: str
    verdict: Verdict
    note: str = ""

    def __str__(self) -> str:
        told = f", reported {self.told}" * bool(self.told)
        text = f"{self.stream}: {self.name}: asked {self.asked}{told}, seen {self.seen}"
        return f"{text} ({self.note})" if self.note else text


def judged(fits: bool | None) -> Verdict:
    """The verdict; None is what could not be decided."""
    return "not judged" if fits is None else "as asked" if fits else "differs"


class StreamSighting:
    """One stream of a run; `entries` are its own, in the order of arrival."""

    def __init__(
        self, stream: JobStream, told: StreamCounts, entries: Entries, job: Job
    ) -> None:
        self.stream, self.told, self.entries, self.job = stream, told, entries, job

    def of(self, kind: int) -> Entries:
        """The entries of a kind."""
        found: Entries = self.entries[self.entries["kind"] == kind]
        return found

    def counts(self, direction: str) -> Counts:
        """What the backend tells of a direction; nothing counts as zeros."""
        return next(
            (c for d, c in self.told.directions.items() if d == direction), Counts()
        )

    @property
    def outstanding(self) -> int:
        """At most so many I/Os at once."""
        return self.stream.qd * self.stream.threads

    @cached_property
    def transfers(self) -> Entries:
        """Reads and writes."""
        found: Entries = self.entries[self.entries["kind"] <= WRITE]
        return found

    @property
    def in_pieces(self) -> bool:
        """Whether what arrives is smaller than what was asked."""
        return max(self.stream.sizes_bytes) > PIECE_BYTES

    def clause(
        self,
        name: str,
        asked: str,
        told: str,
        seen: str,
        fits: bool | None,
        note: str = "",
    ) -> Clause:
        """A row of this stream."""
        return Clause(name, self.stream.name, asked, told, seen, judged(fits), note)


def stream_sightings(
    job: Job, result: Result, entries: Entries
) -> Iterator[StreamSighting | Clause]:
    """Each stream with its I/Os; those of streams that are alike are not judged.

    An I/O is of the stream that alone may do its kind and size there. One that none
    may do is of each, so that it shows.
    """
    streams = job.streams
    may = np.array([_may(stream, entries) for stream in streams])
    alone = len(streams) == 1
    io = entries["kind"] != FLUSH
    shared = io & (may.sum(axis=0) > 1)
    nobody = io & (may.sum(axis=0) == 0)
    for number, stream in enumerate(streams):
        told = next(one for one in result.streams if one.name == stream.name)
        if not alone and bool((shared & may[number]).any()):
            yield Clause(
                "all", stream.name, "several streams", "", "I/Os", "not judged",
                "its I/Os cannot be told from those of another stream",
            )  # fmt: skip
            continue
        mine = np.ones(len(entries), bool) if alone else may[number] | nobody
        yield StreamSighting(stream, told, entries[mine], job)


def _may(stream: JobStream, entries: Entries) -> Flags:
    """Which I/Os the stream could have done."""
    shares = {
        "read": stream.read_percent * (stream.trim_percent < 100),
        "write": (100 - stream.read_percent) * (stream.trim_percent < 100),
        "trim": stream.trim_percent,
    }
    kinds = [KIND_OF[one] for one in DIRECTIONS if shares[one]]
    begins, ends = entries["offset"], entries["offset"] + entries["size"]
    inside = (begins >= stream.region_start_bytes) & (ends <= stream.region_end_bytes)
    found: Flags = np.isin(entries["kind"], kinds) & inside
    if max(stream.sizes_bytes) <= PIECE_BYTES:
        found &= np.isin(entries["size"], list(stream.sizes_bytes))
    if stream.sync_every:
        found |= entries["kind"] == FLUSH
    return found
