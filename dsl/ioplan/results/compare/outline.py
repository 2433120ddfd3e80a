"""Records as far as comparisons and histories need them: read two or three times as
fast as whole ones, and held in little more than half of the memory."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from ioplan.core.model import slimmed
from ioplan.job import Wear
from ioplan.language.metric import HOST, Metric
from ioplan.records.record import (
    SCHEMA_VERSION,
    Asked,
    BackendFacts,
    Decided,
    DirectionResult,
    PhaseResult,
    Predicted,
    Preparation,
    RunRecord,
    Status,
    Steady,
    StreamResult,
)
from ioplan.records.seek import Found
from ioplan.records.telemetry import Telemetry
from ioplan.results.store.briefs import host_of
from ioplan.results.store.connection import Row
from ioplan.results.store.rows import record_of
from ioplan.workload import Direction, Workload


class _Part(BaseModel):
    """Some fields of a model; the others are passed over without being made."""

    model_config = ConfigDict(extra="ignore", defer_build=True)


class _Asked(_Part):
    test: str
    cell: dict[str, str]
    kind: str
    step: int
    name: str = ""
    round: int = 0
    iteration: int = 0
    after: Preparation | None = None


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
    predicted: Predicted | None = None


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
