"""What a session did of one test of the specification, as far as its records tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal

from msgspec import Struct

from ioplan.core.grouping import grouped
from ioplan.records.record import RunRecord
from ioplan.records.window import counted, window_of
from ioplan.results.report.facts import Reported
from ioplan.results.store.store import Store
from ioplan.workload import Stream

Outcome = Literal["deviates", "not recorded", "done"]
ORDER: tuple[Outcome, ...] = ("deviates", "not recorded", "done")
"""The gravest first."""


class Finding(Struct, frozen=True):
    """What was done, and where that deviates, why."""

    outcome: Outcome
    what: str
    why: str = ""


class Tested:
    def __init__(
        self, store: Store, part: Reported, records: Sequence[RunRecord]
    ) -> None:
        """`records` are those of the session that are of the test."""
        self.store, self.session = store, part.session
        self.events = store.events(part.session.id)
        self.runs = [r for r in records if r.asked.kind == "run" and not r.found]
        self.prepared = [r for r in records if r.asked.kind == "prepare"]
        self.written = [r for r in part.records if stream_of(r).writes]
        self.continued: list[Tested] = []
        """Sessions that measured on what the rounds of this one have found."""

    @property
    def has_rounds(self) -> bool:
        return any(run.asked.round for run in self.runs)

    @property
    def target(self) -> str:
        """Equal for two sessions on one target."""
        target = self.runs[0].target
        return str(target.get("identity") or target.get("path"))

    @cached_property
    def rounds(self) -> list[RunRecord]:
        """The runs that were done in rounds, else all."""
        return [run for run in self.runs if run.asked.round] or self.runs

    @cached_property
    def after(self) -> list[RunRecord]:
        """The runs after the rounds, such as those of histograms."""
        own = [r for r in self.runs if not r.asked.round] if self.has_rounds else []
        return [*own, *(run for other in self.continued for run in other.runs)]

    @property
    def prepared_after(self) -> list[RunRecord]:
        """What was written before these."""
        titles = {run.asked.test for run in self.after}
        own = [r for r in self.prepared if r.asked.test in titles]
        return [*own, *(r for other in self.continued for r in other.prepared)]

    @cached_property
    def parts(self) -> dict[str, list[RunRecord]]:
        """The rounds by the title of their test: each is prepared by itself."""
        return grouped(self.rounds, lambda run: run.asked.test)

    def in_window(self) -> Iterator[RunRecord]:
        """The rounds whose figures are reported."""
        for runs in self.parts.values():
            yield from counted(runs, window_of(runs))

    def fills(self, title: str) -> list[RunRecord]:
        first = self.parts[title][0].seq
        return [r for r in self.prepared if r.asked.test == title and r.seq < first]

    def purge(self, title: str) -> str:
        """How the target was purged before a part, and not written to; or empty."""
        begin = [*self.fills(title), self.parts[title][0]][0].started_at
        purges = [e for e in self.events if e.kind == "purged" and e.at <= begin]
        last = purges[-1].at if purges else begin
        is_used = any(last < run.started_at < begin for run in self.written)
        text = purges[-1].text if purges and not is_used else ""
        return text.removeprefix("purge: ")


def stream_of(record: RunRecord) -> Stream:
    return record.asked.workload.streams[0]


def size_bytes(record: RunRecord) -> int:
    """The only size of its I/Os, else 0."""
    sizes = stream_of(record).sizes_bytes
    return next(iter(sizes)) if len(sizes) == 1 else 0


def load(record: RunRecord) -> tuple[int, int]:
    return stream_of(record).threads, stream_of(record).qd


def access(record: RunRecord) -> tuple[str, int, float]:
    stream = stream_of(record)
    return stream.pattern, size_bytes(record), stream.read_percent
