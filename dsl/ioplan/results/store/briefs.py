"""What histories need of a run, in two columns: two to ten times as fast as its record.

`place` is where in its plan the run is, and the same text in every session that did the
same, so it is taken apart once. `figures` are its results over all streams, as arrays.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from ioplan.core.error_kinds import StoreFault
from ioplan.records.record import (
    Asked,
    Decided,
    DirectionResult,
    Latency,
    Preparation,
    RunRecord,
    Steady,
)
from ioplan.results.store.connection import Row
from ioplan.results.store.errors import StoreError
from ioplan.workload import Direction

PLACES = 65_536
"""So many texts are kept apart: rounds of large matrices have as many."""
HOSTS = 256
"""So many descriptions of hosts are kept; they hardly change between runs."""


class _Percentile(Struct, frozen=True, array_like=True):
    """A `record.Percentile`; likewise those below."""

    percent: float
    latency_ns: float
    supported: bool
    is_bound: bool = False


class _Latency(Struct, frozen=True, array_like=True):
    mean_ns: float
    min_ns: int
    max_ns: int
    stddev_ns: float
    percentiles: tuple[_Percentile, ...]


class _Result(Struct, frozen=True, array_like=True):
    ios: int
    bytes: int
    errors: int
    iops: float
    bandwidth_bytes_per_s: float
    latency_json: msgspec.Raw
    """Taken apart where it is asked for: that takes longer than all the rest."""

    @property
    def latency(self) -> _Latency | None:
        """Raises StoreError for a damaged one."""
        try:
            found: _Latency | None = _LATENCY.decode(self.latency_json)
        except msgspec.MsgspecError as error:
            raise StoreError(
                f"a latency is not as ioplan writes it ({error}): the store is damaged "
                "or made by another program",
                StoreFault.RECORD_DAMAGED,
            ) from error
        return found


class Results(Struct, frozen=True, array_like=True):
    """A run as a metric looks at it; `whole` is none where it is the only direction."""

    run_s: float
    cpu_percent: float | None
    directions: dict[Direction, _Result]
    whole: _Result | None
    streams = ()
    telemetry = wear = found = None
    message = ""

    @property
    def total(self) -> _Result:
        """Raises StopIteration for damaged ones."""
        return self.whole or next(iter(self.directions.values()))


class _Place(Struct, frozen=True, omit_defaults=True):
    """Of `steady` the window and whether it is reached, of `decided` likewise."""

    test: str
    cell: dict[str, str]
    kind: str
    step: int
    name: str = ""
    round: int = 0
    iteration: int = 0
    after: tuple[str, str] | None = None
    steady: tuple[int, bool] | None = None
    decided: tuple[int, bool] | None = None
    removed: bool = False


class _Backend(Struct, frozen=True):
    name: str
    version: str
    mode: str = ""


class _Setting(Struct, frozen=True):
    """On what a run was done, and by what: a part of a record."""

    session: str
    ioplan: str
    backend: _Backend
    target: dict[str, Any]
    started_at: str


_JSON = msgspec.json.Encoder()
_SETTING = msgspec.json.Decoder(_Setting)
_RESULTS = msgspec.json.Decoder(Results)
_PLACE = msgspec.json.Decoder(_Place)
_LATENCY = msgspec.json.Decoder(_Latency | None)


def brief_row(record: RunRecord) -> Row:
    """The two columns. Of what a seek found, nothing: the record is read then."""
    if record.found:
        return {"place": None, "figures": None}
    return {"place": _text(_place(record)), "figures": _text(_results(record))}


def _text(value: Struct) -> str:
    return _JSON.encode(value).decode()


def _place(record: RunRecord) -> _Place:
    asked, steady, decided = record.asked, record.steady, record.decided
    return _Place(
        test=asked.test,
        cell=asked.cell,
        kind=asked.kind,
        step=asked.step,
        name=asked.name,
        round=asked.round,
        iteration=asked.iteration,
        after=(asked.after.name, asked.after.digest) if asked.after else None,
        steady=(steady.window, steady.is_borne) if steady else None,
        decided=(len(decided.values), decided.reached) if decided else None,
        removed=asked.removed,
    )


def _results(record: RunRecord) -> Results:
    only = list(record.directions.values()) == [record.total]
    return Results(
        run_s=record.run_s,
        cpu_percent=record.cpu_percent,
        directions={name: _result(one) for name, one in record.directions.items()},
        whole=None if only else _result(record.total),
    )


def _result(one: DirectionResult) -> _Result:
    return _Result(
        *(one.ios, one.bytes, one.errors, one.iops, one.bandwidth_bytes_per_s),
        msgspec.Raw(_JSON.encode(_latency(one.latency) if one.latency else None)),
    )


def _latency(one: Latency) -> _Latency:
    kept = ((p.percent, p.latency_ns, p.supported, p.is_bound) for p in one.percentiles)
    return _Latency(
        *(one.mean_ns, one.min_ns, one.max_ns, one.stddev_ns),
        tuple(_Percentile(*values) for values in kept),
    )


def results_of(row: Row) -> Results:
    """Those of a row with a place, in a third of the time of `brief_of`. Raises
    StoreError for damaged ones."""
    try:
        return _RESULTS.decode(row["figures"])
    except (msgspec.MsgspecError, TypeError) as error:
        raise _damaged(row, error) from error


def brief_of(row: Row) -> RunRecord:
    """A record of what the two columns have, to be held for a moment: without streams,
    target, host and versions. Raises StoreError for damaged ones."""
    try:
        place = _parts(row["place"])
        results = results_of(row)
        total = results.total
    except (msgspec.MsgspecError, TypeError, StopIteration) as error:
        raise _damaged(row, error) from error
    return RunRecord.complete(
        {
            "session": row["session"],
            "seq": row["seq"],
            "run_id": row["run_id"],
            "status": row["status"],
            "message": "",
            "found": None,
            **place,
            "run_s": results.run_s,
            "cpu_percent": results.cpu_percent,
            "directions": results.directions,
            "total": total,
            "streams": (),
            "telemetry": None,
            "wear": None,
        }
    )


def setting_of(row: Row) -> RunRecord:
    """Of the `record` and the host's `facts` of a run, on what it was done, and by
    what. Raises StoreError."""
    try:
        found = _SETTING.decode(row["record"])
        return RunRecord.complete(asdict(found) | {"host": host_of(row["facts"])})
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise _damaged(row, error) from error


def _damaged(row: Row, error: Exception) -> StoreError:
    return StoreError(
        f"run {row['seq']} of session {row['session']!r} is not as ioplan writes it "
        f"({error}): the store is damaged or made by another program",
        StoreFault.RECORD_DAMAGED,
    )


@lru_cache(HOSTS)
def host_of(facts: str) -> dict[str, Any]:
    """A host's facts, the same for all runs on it. Raises ValueError."""
    found = json.loads(facts)
    if not isinstance(found, dict):
        raise ValueError("no facts of a host")
    return found


@lru_cache(PLACES)
def _parts(text: str) -> dict[str, Any]:
    """What a record has of its place, as far as windows look at it."""
    asked = asdict(_PLACE.decode(text)) | {"seek": None}
    after, steady, decided = (asked.pop(n) for n in ("after", "steady", "decided"))
    asked["after"] = after and Preparation(name=after[0], digest=after[1])
    return {
        "asked": Asked.complete(asked),
        "steady": steady
        and Steady.complete({"window": steady[0], "reached": steady[1], "limits": ""}),
        "decided": decided
        and Decided.complete({"values": (0.0,) * decided[0], "reached": decided[1]}),
    }
