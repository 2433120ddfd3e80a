"""The figures of runs as rows of `figure`: of each direction of each stream.

A figure is of one target or all, of one phase or the whole run, of one stream or all;
an empty text stands for all. `total` is reads and writes together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

import msgspec
from pydantic import ConfigDict, TypeAdapter

from ioplan.language.metric import Metric
from ioplan.records.record import (
    PERCENTILES,
    DirectionResult,
    Latency,
    Percentile,
    RunRecord,
)
from ioplan.results.store.connection import Row
from ioplan.results.store.tables import FigureColumns
from ioplan.workload import COUNTED

TOTAL = "total"
PERCENTILE_LIST = TypeAdapter(
    tuple[Percentile, ...], config=ConfigDict(defer_build=True)
)
COUNTED_SET = set(COUNTED)

Part = tuple[str, str, str]
"""Target, phase and stream."""
WHOLE_RUN: Part = ("", "", "")
Results = dict[str, Any]
"""The fields `directions` and `total` of what has results."""


class Stored(FigureColumns, frozen=True):
    """The figures of a row, as SQLite takes any value.

    It is used in place of a `DirectionResult` and its `Latency` where ten thousands are
    read for one figure each: the objects of all percentiles take longer than the rest.
    """

    @property
    def latency(self) -> Stored | None:
        return None if self.mean_ns is None else self

    @property
    def percentiles(self) -> tuple[Percentile, ...]:
        if self.foreign:
            return PERCENTILE_LIST.validate_json(self.foreign)
        return tuple(filter(None, map(self._own, PERCENTILES)))

    def percentile(self, percent: float) -> Percentile | None:
        if self.foreign:
            return next((p for p in self.percentiles if p.percent == percent), None)
        return self._own(percent)

    def _own(self, percent: float) -> Percentile | None:
        name = PERCENTILE_COLUMNS.get(percent)
        value_ns = getattr(self, name) if name else None
        if value_ns is None:
            return None
        supported, bound = _marks(percent, self.supported_percent, self.bound_percent)
        marks = {"supported": supported, "is_bound": bound}
        return Percentile.complete(
            {"percent": percent, "latency_ns": value_ns, **marks}
        )

    def result(self) -> DirectionResult:
        """All figures, as a record has them."""
        latency = None
        if self.latency:
            percentiles = {"percentiles": self.percentiles}
            latency = Latency.complete(picked(self, MOMENTS) | percentiles)
        return DirectionResult.complete(picked(self, COUNTS) | {"latency": latency})


def picked(source: object, names: Iterable[str]) -> Row:
    """Some fields of a model or a struct."""
    return {name: getattr(source, name) for name in names}


VALUES = FigureColumns.__struct_encode_fields__
COUNTS, MOMENTS = VALUES[:5], VALUES[5:9]
PERCENTILE_COLUMNS = dict(zip(PERCENTILES, VALUES[9:16], strict=True))


def _marks(
    percent: float, supported: float | None, bound: float | None
) -> tuple[bool, bool]:
    """Whether a percentile is supported, and whether it is a bound, by two columns.

    Support falls with the percentile, and what is only a bound stays one.
    """
    return percent <= (supported or 0.0), percent >= (bound or 101.0)


# Writing.


def figure_rows(record: RunRecord) -> Iterator[Row]:
    key = {"session": record.session, "seq": record.seq}
    for target, phase, part in parts_of(record, record.targets, record.phases):
        place = {**key, "target": target, "phase": phase}
        yield from _rows(place | {"stream": ""}, part)
        figures = [(stream.directions, stream.total) for stream in part.streams]
        if figures != [(part.directions, part.total)]:  # else its only stream is all
            for stream in part.streams:
                yield from _rows(place | {"stream": stream.name}, stream)


def parts_of(
    run: Any, targets: Mapping[str, Any], phases: Mapping[str, Any]
) -> Iterator[tuple[str, str, Any]]:
    """All that has results of its own in a run, with its target and its phase."""
    yield "", "", run
    yield from ((name, "", target) for name, target in targets.items())
    yield from (("", name, phase) for name, phase in phases.items())


def _rows(place: Row, part: Any) -> Iterator[Row]:
    results: dict[str, DirectionResult] = {TOTAL: part.total}
    results |= {d: part.directions[d] for d in COUNTED if d in part.directions}
    for direction, result in results.items():
        latency = _latency_row(result.latency)
        yield {**place, "direction": direction, **picked(result, COUNTS), **latency}


def _latency_row(latency: Latency | None) -> Row:
    if latency is None:
        return dict.fromkeys(VALUES[5:])
    percentiles = latency.percentiles
    values = {p.percent: p.latency_ns for p in percentiles}
    supported = max((p.percent for p in percentiles if p.supported), default=None)
    bound = min((p.percent for p in percentiles if p.is_bound), default=None)
    row = picked(latency, MOMENTS)
    row |= {name: values.get(p) for p, name in PERCENTILE_COLUMNS.items()}
    row |= {"supported_percent": supported, "bound_percent": bound}
    are_ours = [*values] == [percent for percent in PERCENTILES if percent in values]
    marks = [(p.supported, p.is_bound) for p in percentiles]
    if are_ours and marks == [_marks(p, supported, bound) for p in values]:
        return row | {"percentiles": None}
    return row | {"percentiles": PERCENTILE_LIST.dump_json(percentiles).decode()}


# Reading.


def results_by_part(
    rows: Sequence[tuple[Any, ...]], read: Callable[[Stored], Any]
) -> dict[Part, Results]:
    """All results of a run, of rows from `target` on. Raises ValueError, MsgspecError
    for rows that ioplan does not write."""
    parts: dict[Part, dict[Any, Any]] = {}
    for row, figures in zip(rows, _checked([row[4:] for row in rows]), strict=True):
        parts.setdefault(row[:3], {})[row[3]] = read(figures)
    return {part: _results(directions) for part, directions in parts.items()}


def _results(directions: dict[Any, Any]) -> Results:
    total = directions.pop(TOTAL, None)
    if total is None or directions.keys() - COUNTED_SET:
        raise ValueError(f"no total, or an unknown direction: {[*directions]}")
    if len(directions) > 1:
        directions = {d: directions[d] for d in COUNTED if d in directions}
    return {"directions": directions, "total": total}


def _checked(rows: list[tuple[Any, ...]]) -> list[Stored]:
    results = msgspec.convert(rows, list[Stored])
    for columns, figures in zip(rows, results, strict=True):
        if not isfinite(sum(filter(None, columns[:-1]))):
            raise ValueError("a figure is infinite")
        if figures.latency and None in columns[5:9]:
            raise ValueError("a latency has no deviation, or no extremes")
        if figures.foreign:
            PERCENTILE_LIST.validate_json(figures.foreign)
    return results


def columns_of(metric: Metric) -> tuple[str, ...] | None:
    """The columns of its direction that the metric of a single run is computed from.

    None of a metric that needs more of the run than one direction's figures.
    """
    if metric != Metric(name=metric.name, direction=metric.direction):
        return None
    if metric.percent in PERCENTILE_COLUMNS:
        return ("ios", "mean_ns", PERCENTILE_COLUMNS[metric.percent], *VALUES[-3:])
    if (moment := f"{metric.name}_ns") in MOMENTS:
        return ("ios", "mean_ns", moment)
    return ("ios", "bytes") if metric.name in ("iops", "cpu", "bandwidth") else None
