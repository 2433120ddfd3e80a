"""What a session did of one test of the specification, as far as records tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Literal

from msgspec import Struct

from ioplan.records.record import RunDetail, RunRecord
from ioplan.records.session import Session, SessionEvent
from ioplan.records.window import Window, counted, window_of
from ioplan.workload import Stream

Outcome = Literal["done", "deviates", "not recorded"]
CLAIM = re.compile(r"\b(PTS|SNIA)\b", re.IGNORECASE)
"""A plan claims the specification by its title, or by that of a test."""
WORDS = {
    "demand intensity": "D8",
    "composite": "D7",
    "cross stimulus": "D6",
    "host idle": "D5",
    "write saturation": "D4",
    "latency": "D3",
    "throughput": "D2",
    "iops": "D1",
}
"""The words of a title that name a test; the first that is in it."""
PURGED = "purged"


class Finding(Struct, frozen=True):
    """What was done, and where that deviates, why."""

    outcome: Outcome
    what: str
    why: str = ""


Detail = Callable[[int], RunDetail]


class Tested:
    """The records of a session that are of one test of the specification."""

    def __init__(
        self,
        session: Session,
        records: Sequence[RunRecord],
        events: Sequence[SessionEvent],
        everything: Sequence[RunRecord],
        detail: Detail,
    ) -> None:
        """`everything` are the records of the whole session."""
        self.session, self.events, self.detail = session, events, detail
        self.everything = everything
        self.runs = [r for r in records if r.asked.kind == "run" and not r.found]
        self.prepared = [r for r in records if r.asked.kind == "prepare"]
        self.continued: list[Tested] = []

    def continue_with(self, other: Tested) -> None:
        """Another session that measured on what the rounds of this one have found."""
        self.continued.append(other)

    @property
    def has_rounds(self) -> bool:
        """Whether anything was done in rounds."""
        return any(run.asked.round for run in self.runs)

    @property
    def target(self) -> str:
        """Which target it was: equal for two sessions on one target."""
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
        return [*own, *(run for one in self.continued for run in one.runs)]

    @property
    def prepared_after(self) -> list[RunRecord]:
        """What was written before these."""
        titles = {run.asked.test for run in self.after}
        own = [r for r in self.prepared if r.asked.test in titles]
        return [*own, *(r for one in self.continued for r in one.prepared)]

    @cached_property
    def parts(self) -> dict[str, list[RunRecord]]:
        """The rounds by the title of their test: each is prepared by itself."""
        found: dict[str, list[RunRecord]] = {}
        for run in self.rounds:
            found.setdefault(run.asked.test, []).append(run)
        return found

    @property
    def windows(self) -> dict[str, Window | None]:
        """The measurement window of each part."""
        return {title: window_of(runs) for title, runs in self.parts.items()}

    def figures(self) -> Iterator[RunRecord]:
        """The rounds whose figures are reported."""
        for title, runs in self.parts.items():
            yield from counted(runs, self.windows[title])

    def fills(self, title: str) -> list[RunRecord]:
        """What was written before the first run of a part."""
        first = self.parts[title][0].seq
        return [r for r in self.prepared if r.asked.test == title and r.seq < first]

    def purge(self, title: str) -> str:
        """How the target was purged before a part, and not written to; or empty."""
        begin = next(iter(self.fills(title)), self.parts[title][0])
        purged = [
            e for e in self.events if e.kind == PURGED and e.at <= begin.started_at
        ]
        if not purged:
            return ""
        last = purged[-1]
        between = (last.at, begin.started_at)
        if any(between[0] < r.started_at < between[1] for r in self.written):
            return ""
        return last.text.removeprefix("purge: ")

    @cached_property
    def written(self) -> list[RunRecord]:
        """All records of the session that wrote."""
        return [r for r in self.everything if r.asked.workload.streams[0].writes]


def stream_of(record: RunRecord) -> Stream:
    """The stream that a test of the specification has."""
    return record.asked.workload.streams[0]


def size_bytes(record: RunRecord) -> int:
    """The only size of its I/Os, else 0."""
    sizes = stream_of(record).sizes_bytes
    return next(iter(sizes)) if len(sizes) == 1 else 0


def load(record: RunRecord) -> tuple[int, int]:
    """Its threads, and the queue depth of each."""
    return stream_of(record).threads, stream_of(record).qd


def claimed(
    session: Session,
    records: Sequence[RunRecord],
    events: Callable[[], Sequence[SessionEvent]],
    detail: Detail,
) -> dict[str, Tested]:
    """What a session claims to have done, by the test's name; most claim nothing."""
    by_test: dict[str, list[RunRecord]] = {}
    for record in records:
        if name := _claim(session.plan, record.asked.test):
            by_test.setdefault(name, []).append(record)
    told = events() if by_test else ()
    made = {
        name: Tested(session, of, told, records, detail)
        for name, of in sorted(by_test.items())
    }
    return {name: tested for name, tested in made.items() if tested.runs}


def _claim(plan: str, test: str) -> str:
    if not (CLAIM.search(plan) or CLAIM.search(test)):
        return ""
    return _name(test) or _name(plan)


def _name(title: str) -> str:
    lower = title.lower()
    return next((name for words, name in WORDS.items() if words in lower), "")
