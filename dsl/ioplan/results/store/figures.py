"""The figures of runs as rows of `figure`: of each direction of each stream.

A figure is of one target or all, of one phase or the whole run, of one stream or all;
an empty text stands for all. `total` is reads and writes together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from math import isfinite
from operator import itemgetter
from typing import Any

import msgspec
from msgspec import Struct
from pydantic import ConfigDict, TypeAdapter

from ioplan.language.metric import Metric
from ioplan.records.record import (
    PERCENTILES,
    DirectionResult,
    Latency,
    Percentile,
    PhaseResult,
    RunRecord,
    StreamResult,
    TargetResult,
)
from ioplan.results.store.connection import Row
from ioplan.results.store.layout.tables import COLUMNS, PERCENTILE_COLUMNS
from ioplan.workload import COUNTED, Direction

TOTAL = "total"
KEY = ("session", "seq", "target", "phase", "stream", "direction")
VALUES = COLUMNS["figure"][len(KEY) :]
NAMES = dict(zip(PERCENTILES, PERCENTILE_COLUMNS, strict=True))
PERCENTILE_LIST = TypeAdapter(
    tuple[Percentile, ...], config=ConfigDict(defer_build=True)
)
COUNTED_SET = set(COUNTED)
_VALUES, _PART = itemgetter(*VALUES), itemgetter(*KEY[2:5])

Part = tuple[str, str, str]
"""Target, phase and stream."""


class Results(Struct, frozen=True):
    """What each direction did, and reads and writes together."""

    directions: dict[Direction, DirectionResult]
    total: DirectionResult


# Writing.


def figure_rows(record: RunRecord) -> Iterator[Row]:
    """The rows of a run."""
    key = {"session": record.session, "seq": record.seq}
    for target, phase, results in _parts(record):
        place = {**key, "target": target, "phase": phase}
        yield from _rows(place | {"stream": ""}, results)
        for stream in () if _is_repetition(results) else results.streams:
            yield from _rows(place | {"stream": stream.name}, stream)


def _parts(
    record: RunRecord,
) -> Iterator[tuple[str, str, RunRecord | TargetResult | PhaseResult]]:
    yield "", "", record
    for name, target in record.targets.items():
        yield name, "", target
    for name, phase in record.phases.items():
        yield "", name, phase


def _is_repetition(results: RunRecord | TargetResult | PhaseResult) -> bool:
    """Whether the figures of its only stream are those of all streams."""
    if len(results.streams) != 1:
        return False
    (stream,) = results.streams
    return stream.directions == results.directions and stream.total == results.total


def _rows(
    place: Row, results: RunRecord | TargetResult | PhaseResult | StreamResult
) -> Iterator[Row]:
    yield _row(place, TOTAL, results.total)
    for direction in COUNTED:
        if direction in results.directions:
            yield _row(place, direction, results.directions[direction])


def _row(place: Row, direction: str, result: DirectionResult) -> Row:
    counts = {name: getattr(result, name) for name in VALUES[:5]}
    return {**place, "direction": direction, **counts, **_latency_row(result.latency)}


def _latency_row(latency: Latency | None) -> Row:
    if latency is None:
        return dict.fromkeys(VALUES[5:])
    percentiles = latency.percentiles
    known = {one.percent: one.latency_ns for one in percentiles}
    supported = max((one.percent for one in percentiles if one.supported), default=None)
    bound = min((one.percent for one in percentiles if one.is_bound), default=None)
    row = {name: getattr(latency, name) for name in VALUES[5:9]}
    row |= {name: known.get(percent) for percent, name in NAMES.items()}
    row |= {"supported_percent": supported, "bound_percent": bound}
    are_ours = [*known] == [percent for percent in PERCENTILES if percent in known]
    marks = [(one.supported, one.is_bound) for one in percentiles]
    if are_ours and marks == [_marks(p, supported, bound) for p in known]:
        return row | {"percentiles": None}
    return row | {"percentiles": PERCENTILE_LIST.dump_json(percentiles).decode()}


def _marks(
    percent: float, supported: float | None, bound: float | None
) -> tuple[bool, bool]:
    """Whether a percentile is supported, and whether it is a bound, by two columns.

    Support falls with the percentile, and what is only a bound stays one.
    """
    return percent <= (supported or 0.0), percent >= (bound or 101.0)


# Reading.


class Stored(Struct, frozen=True, array_like=True):
    """A row as msgspec checks it, as SQLite takes any value in any column.

    It is used in place of a `DirectionResult` and its `Latency` where ten thousands are
    read for one figure each: the objects of all percentiles take longer than the rest.
    """

    ios: int
    bytes: int
    errors: int
    iops: float
    bandwidth_bytes_per_s: float
    mean_ns: float | None
    min_ns: int | None
    max_ns: int | None
    stddev_ns: float | None
    p50_ns: float | None
    p90_ns: float | None
    p95_ns: float | None
    p99_ns: float | None
    p99_9_ns: float | None
    p99_99_ns: float | None
    p99_999_ns: float | None
    supported_percent: float | None
    bound_percent: float | None
    others: str | None

    @property
    def latency(self) -> Stored | None:
        return None if self.mean_ns is None else self

    @property
    def percentiles(self) -> tuple[Percentile, ...]:
        if self.others:
            return PERCENTILE_LIST.validate_json(self.others)
        return tuple(filter(None, map(self._own, PERCENTILES)))

    def percentile(self, percent: float) -> Percentile | None:
        if self.others:
            return next((p for p in self.percentiles if p.percent == percent), None)
        return self._own(percent)

    def _own(self, percent: float) -> Percentile | None:
        name = NAMES.get(percent)
        value_ns = getattr(self, name) if name else None
        if value_ns is None:
            return None
        supported, bound = _marks(percent, self.supported_percent, self.bound_percent)
        marks = {"supported": supported, "is_bound": bound}
        return Percentile.complete(
            {"percent": percent, "latency_ns": value_ns, **marks}
        )

    def result(self) -> DirectionResult:
        """All of it."""
        counts = {name: getattr(self, name) for name in VALUES[:5]}
        return DirectionResult.complete({**counts, "latency": self._whole_latency()})

    def _whole_latency(self) -> Latency | None:
        if self.mean_ns is None:
            return None
        moments = {name: getattr(self, name) for name in VALUES[5:9]}
        return Latency.complete({**moments, "percentiles": self.percentiles})


def stored(row: Row) -> Stored:
    """The checked figures of a row. Raises ValueError, MsgspecError."""
    columns = _VALUES(row)
    figures = msgspec.convert(columns, Stored)
    if not isfinite(sum(filter(None, columns[:-1]))):
        raise ValueError("a figure is infinite")
    if figures.latency and None in columns[5:9]:
        raise ValueError("a latency has no deviation, or no extremes")
    if figures.others:
        PERCENTILE_LIST.validate_json(figures.others)
    return figures


LATENCY_COLUMNS = {
    "mean": ("mean_ns",),
    "min": ("mean_ns", "min_ns"),
    "max": ("mean_ns", "max_ns"),
    "stddev": ("mean_ns", "stddev_ns"),
}
PERCENTILE_NEEDS = ("mean_ns", "supported_percent", "bound_percent", "percentiles")


def columns_of(metric: Metric) -> tuple[str, ...] | None:
    """The columns of its direction that the metric of a single run is computed from.

    None of a metric that needs more of the run than one direction's figures.
    """
    if metric != Metric(name=metric.name, direction=metric.direction):
        return None
    if metric.percent in NAMES:
        return ("ios", *PERCENTILE_NEEDS, NAMES[metric.percent])
    if metric.name == "bandwidth":
        return ("ios", "bytes")
    if metric.name in ("iops", "cpu"):
        return ("ios",)
    columns = LATENCY_COLUMNS.get(metric.name)
    return columns and ("ios", *columns)


def selection(table: str, columns: Collection[str]) -> str:
    """What is selected for a `Stored` of these columns; others are 0 or NULL."""
    return ", ".join(
        f"{table}.{name}" if name in columns else "0" if name in VALUES[:5] else "NULL"
        for name in VALUES
    )


def some_results(rows: Iterable[Sequence[Any]]) -> list[Stored | None]:
    """What was selected; None where a run has not the direction.

    Raises MsgspecError.
    """
    return msgspec.convert(
        [None if row[0] is None else row for row in rows], list[Stored | None]
    )


def results_of(rows: Iterable[Row], read: Callable[[Row], Any]) -> Results:
    """The results of one part of a run. Raises ValueError, MsgspecError for rows that
    ioplan does not write."""
    results = {row["direction"]: read(row) for row in rows}
    total = results.pop(TOTAL, None)
    if total is None or results.keys() - COUNTED_SET:
        raise ValueError(f"no total, or an unknown direction: {[*results]}")
    if len(results) > 1:
        results = {one: results[one] for one in COUNTED if one in results}
    return Results(results, total)


def results_by_part(rows: Iterable[Row]) -> dict[Part, Results]:
    """All results of a run, by target, phase and stream."""
    parts: dict[Part, list[Row]] = {}
    for row in rows:
        parts.setdefault(_PART(row), []).append(row)
    return {part: results_of(rows, result_of) for part, rows in parts.items()}


def result_of(row: Row) -> DirectionResult:
    """All figures of a row, as a record has them."""
    return stored(row).result()
