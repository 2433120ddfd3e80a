"""One side of a comparison: the runs of its sessions, cell by cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, ValidationError

from ioplan.core.model import slimmed
from ioplan.job import Wear
from ioplan.language.metric import HOST, Metric
from ioplan.planner.run_id import canonical
from ioplan.records.outline import current_records
from ioplan.records.record import (
    SCHEMA_VERSION,
    Asked,
    BackendFacts,
    Decided,
    DirectionResult,
    PhaseResult,
    Preparation,
    RunRecord,
    Status,
    Steady,
    StreamResult,
)
from ioplan.records.seek import Found
from ioplan.records.session import Session
from ioplan.records.telemetry import Telemetry
from ioplan.records.window import window_of
from ioplan.results.store.briefs import host_of
from ioplan.results.store.connection import Row
from ioplan.results.store.rows import record_of
from ioplan.results.store.store import Store
from ioplan.workload import Direction, Workload

# Records as far as comparisons and histories need them: read two or three times as
# fast as whole ones, and held in little more than half of the memory.


class _Part(BaseModel):
    """Some fields of a model; the others are passed over without being made."""

    model_config = ConfigDict(extra="ignore", defer_build=True)


class _Asked(_Part):
    test: str
    profile: str = "full"
    cell: dict[str, str]
    kind: str
    step: int
    name: str = ""
    round: int = 0
    iteration: int = 0
    after: Preparation | None = None
    removed: bool = False


class _Limits(_Part):
    warmup_ns: int = 0
    run_ns: int | None = None
    limit_bytes: int | None = None
    passes: float | None = None


class _AskedInFull(_Asked):
    workload: Workload
    job: _Limits


class _Backend(_Part):
    name: str
    version: str
    mode: str = ""


class _Outline(_Part):
    schema_version: int
    session: str
    seq: int
    run_id: str
    status: Status
    message: str = ""
    ioplan: str
    asked: _Asked
    backend: _Backend
    target: dict[str, Any]
    started_at: str
    run_s: float
    directions: dict[Direction, DirectionResult]
    total: DirectionResult
    cpu_percent: float | None = None
    steady: Steady | None = None
    decided: Decided | None = None
    found: Found | None = None


class _WithParts(_Outline):
    """For metrics that are not of the reads and writes of all streams alone."""

    streams: tuple[StreamResult, ...]
    phases: dict[str, PhaseResult] = {}
    telemetry: Telemetry | None = None
    wear: Wear | None = None


class _ToCompare(_Outline):
    asked: _AskedInFull


class _ToCompareWithParts(_WithParts):
    asked: _AskedInFull


def needs_parts(metric: Metric) -> bool:
    """Whether a metric needs the streams, phases, telemetry or wear of a run."""
    of_part = metric.stream is not None or metric.phase is not None
    return of_part or metric.name in (*HOST, "verified")


def outlined(row: Row, parts: bool) -> RunRecord:
    """A record without its job and workload, to be held for a moment. Raises
    StoreError for a damaged one."""
    return _outlined(row, _WithParts if parts else _Outline)


def to_compare(row: Row, parts: bool) -> RunRecord:
    """A run's record with its workload, and of its job what ends it, to be kept."""
    found = _outlined(row, _ToCompareWithParts if parts else _ToCompare)
    return slimmed(found)


def _outlined(row: Row, kind: type[_Outline]) -> RunRecord:
    try:
        read = kind.model_validate_json(row["record"])
        host = host_of(row["facts"])
    except (ValidationError, ValueError):
        return record_of(row, [])
    if read.schema_version != SCHEMA_VERSION:
        return record_of(row, [])
    nothing: dict[str, Any] = {
        "streams": (),
        "phases": {},
        "telemetry": None,
        "wear": None,
    }
    known = nothing | read.__dict__
    asked = Asked.complete({"seek": None, **read.asked.__dict__})
    backend = BackendFacts.complete(dict(read.backend.__dict__))
    return RunRecord.complete(
        {**known, "asked": asked, "backend": backend, "host": host, "verdicts": ()}
    )


Place = tuple[str, int, tuple[tuple[str, str], ...]]
"""Test, step and cell, as one session has them."""


class CellRuns(Struct):
    """The runs of one cell; of rounds, those of the last window.

    `occurrence` distinguishes places of one session that do the very same.
    """

    run_id: str
    occurrence: int
    runs: list[RunRecord] = []
    failed: list[RunRecord] = []

    @property
    def any(self) -> RunRecord:
        """One of the runs, for what all have in common."""
        return (self.runs or self.failed)[-1]

    def by_session(self) -> dict[str, list[RunRecord]]:
        """Its runs by the session that did them."""
        found: dict[str, list[RunRecord]] = {}
        for run in self.runs:
            found.setdefault(run.session, []).append(run)
        return found

    @property
    def workload(self) -> str:
        """What it asks of the target, as text."""
        return canonical(self.any.asked.workload)

    @property
    def state(self) -> str:
        """What it starts from, as a digest."""
        after = self.any.asked.after
        return after.digest if after else ""

    @property
    def cell(self) -> tuple[tuple[str, str], ...]:
        """Its place in the matrix."""
        return tuple(sorted(self.any.asked.cell.items()))


class Side(Struct, frozen=True):
    """The sessions of a side and their cells, in the order of the plan."""

    sessions: tuple[Session, ...]
    cells: tuple[CellRuns, ...]


def side_of(store: Store, sessions: Sequence[Session], parts: bool = False) -> Side:
    """Read a side, with what `needs_parts` of its runs if asked. Raises StoreError."""
    cells: dict[tuple[str, int], CellRuns] = {}
    for session in sessions:
        records = current_records(
            [to_compare(row, parts) for row in store.run_rows(session.id)]
        )
        _add(cells, [record for record in records if record.asked.kind == "run"])
    return Side(tuple(sessions), tuple(cells.values()))


def cells_of(records: Iterable[RunRecord], kind: str = "run") -> list[CellRuns]:
    """The cells of one session; with kind `prepare`, the steps of its preparations."""
    cells: dict[tuple[str, int], CellRuns] = {}
    current = current_records(list(records))
    _add(cells, [record for record in current if record.asked.kind == kind])
    return list(cells.values())


def _add(cells: dict[tuple[str, int], CellRuns], records: list[RunRecord]) -> None:
    """Add a session: a run that counts finds its cell by what it does."""
    turns: dict[tuple[str, Place], int] = {}
    seen: Counter[str] = Counter()
    for record in _counting(records):
        if record.status == "interrupted":
            continue
        key = record.run_id, _place(record)
        if key not in turns:
            turns[key] = seen[record.run_id]
            seen[record.run_id] += 1
        turn = turns[key]
        cell = cells.setdefault((record.run_id, turn), CellRuns(record.run_id, turn))
        (cell.runs if record.status == "ok" else cell.failed).append(record)


def _place(record: RunRecord) -> Place:
    asked = record.asked
    return asked.test, asked.step, tuple(sorted(asked.cell.items()))


def _counting(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Without the rounds before the last window of their test."""
    records = list(records)
    by_test: dict[str, list[RunRecord]] = {}
    for record in records:
        by_test.setdefault(record.asked.test, []).append(record)
    windows = {test: window_of(runs) for test, runs in by_test.items()}
    return [
        record
        for record in records
        if (window := windows[record.asked.test]) is None
        or not record.asked.round
        or window.holds(record)
    ]
