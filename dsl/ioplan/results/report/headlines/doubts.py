"""What speaks against a figure: each in a few words, for beside it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from msgspec import Struct

from ioplan.backends.backend import BackendError, find
from ioplan.drive_needs import UNREAD
from ioplan.records.assessed import MAX_STEAL_PERCENT, unsteady
from ioplan.records.record import RunRecord
from ioplan.results.report.documents import AGAINST, Value
from ioplan.results.report.point import Point

SIMULATED, PROFILE = "simulated", "profile"
NOT_STEADY = "not steady"
BUSY = "busy host"
WARNED = "warned"
UNPREPARED = "unprepared"
NOT_PRECONDITIONED = "not preconditioned"
CIRCUMSTANTIAL = (BUSY, WARNED, UNPREPARED)
"""They may hold for two sides alike, and what they change from one session to the next
is part of the run-to-run variation."""
OF_TITLES = ("", SIMULATED, NOT_PRECONDITIONED)
"""What titles say of all figures, so that no sign stands beside each."""
CHANGED = "changed during the run"
MIXED = "figures of a whole run whose rate changed within it"
BURST = "burst value: the drive slowed down later"
UNCONFIRMED = "not confirmed by a long run"
HIDDEN = "noise hides the knee"

GRAVEST_FIRST = (
    *(NOT_PRECONDITIONED, NOT_STEADY, UNCONFIRMED, HIDDEN),
    *(UNREAD, " written", "overwritten", "garbage"),  # what a drive's state lacks
    *(" empty", "is unknown", "writes to only", "compressible"),  # what limits it
    *CIRCUMSTANTIAL,
)
"""By what doubts contain: what was not measured stands before what is not all of it."""
AMOUNT = re.compile(r"([\d.]+)( %)?")
LITTLE = re.compile("only|hardly")
"""Of what is written or collected, less is worse; of what is not, more."""


def gravity(doubt: str) -> tuple[int, float]:
    """The least is the gravest: by the kind of a doubt, then by its figure."""
    kinds = [kind in doubt for kind in (*GRAVEST_FIRST, "")]
    amount = AMOUNT.search(doubt)
    share = float(amount[1]) / (100 if amount[2] else 1) if amount else 0.0
    return kinds.index(True), share if LITTLE.search(doubt) else -share


class Doubts(Struct, frozen=True):
    """What speaks against the figures of a session beside the runs of a cell."""

    unsteady: frozenset[tuple[str, str]] = frozenset()
    """Preparations that did not become steady, by test and name."""
    prepared_from: float = 0
    """The number of the first run that prepared anything."""
    prepared: tuple[int, ...] = ()
    """The numbers of all of these."""

    def of(self, point: Point) -> Iterator[str]:
        runs = point.counted
        if not runs:
            return
        if any(is_virtual(run.backend.name) for run in runs):
            yield SIMULATED
        if shortened(runs):
            yield NOT_PRECONDITIONED
        if self._is_unsteady(point):
            yield NOT_STEADY
        if any(run.found and not run.found.confirmed for run in runs):
            yield UNCONFIRMED
        if any(run.found and run.found.interval and not run.found.high for run in runs):
            yield HIDDEN
        if (state := runs[-1].state) and state.doubt:
            yield state.doubt
        stolen = [(r.telemetry and r.telemetry.steal_percent) or 0.0 for r in runs]
        if max(stolen) > MAX_STEAL_PERCENT or any(r.host.get("warnings") for r in runs):
            yield BUSY
        elif any(run.warnings or run.substitutions for run in runs):
            yield WARNED
        if any(not r.asked.after and r.seq < self.prepared_from for r in runs):
            yield UNPREPARED

    def _is_unsteady(self, point: Point) -> bool:
        window, last = point.window, point.runs[-1]
        if window and not window.steady:
            return True
        if not window and last.steady and not last.steady.is_borne:
            return True
        after = last.asked.after
        return after is not None and (last.asked.test, after.name) in self.unsteady


NO_DOUBTS = Doubts()


def doubts(records: Sequence[RunRecord]) -> Doubts:
    prepared = [record for record in records if record.asked.kind == "prepare"]
    numbers = tuple(record.seq for record in prepared)
    missed = unsteady(prepared)
    names = ((r.asked.test, r.asked.after.name) for r in missed if r.asked.after)
    first = min(numbers, default=float("inf"))
    if not any(record.seq == 1 for record in records):
        first = 0  # a part of a session does not tell what was before it
    return Doubts(frozenset(names), first, numbers)


def shortened(runs: Sequence[RunRecord]) -> list[str]:
    """The profiles that leave out the preconditioning of runs."""
    return list(dict.fromkeys(r.asked.profile for r in runs if r.asked.shortened))


def doubts_of(row: Mapping[str, Value]) -> list[str]:
    """What a row of a table of runs has against it, besides what titles say."""
    texts = str(row.get(AGAINST.key) or "").split(", ")
    return [text for text in texts if text not in OF_TITLES]


def caveat_text(simulated: Sequence[bool], profiles: Sequence[str]) -> str:
    """What a title says where no drive was measured, or only a part of the plan was."""
    counts = Counter(f"{PROFILE.upper()} {name}" for name in profiles if name)
    counts[SIMULATED.upper()] = sum(simulated)
    return ", ".join(
        word if count == len(simulated) else f"{count} of {len(simulated)} {word}"
        for word, count in sorted(counts.items(), reverse=True)
        if count
    )


@cache
def is_virtual(backend: str) -> bool:
    """Whether a backend simulates; one that is not installed here does not."""
    try:
        return find(backend).virtual_time
    except BackendError:
        return False
