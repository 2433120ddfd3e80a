"""Tables without a second axis: a row a place, a column a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ioplan.language.metric import Metric
from ioplan.records.record import RunRecord
from ioplan.report.charts.axis import axis_title, in_order
from ioplan.report.charts.over_axis import Missing, values_of
from ioplan.report.charts.power import METRICS as POWER
from ioplan.report.charts.request import (
    UNIT_NAMES,
    Request,
    capital,
    metric_name,
    metrics_title,
    unit_of,
)
from ioplan.report.document import Column, Frame, Picture, Value
from ioplan.report.points import Spot, only_trims
from ioplan.report.reader import Reader
from ioplan.workload import Direction

SHOWN = ("iops", "bandwidth", "mean", "p50", "p99", "p99.9", "max", "cpu", "errors")
TITLES = {"iops": "IOPS", "bandwidth": "throughput", "cpu": "CPU of the load generator"}
USUAL = {"cpu": 0, "errors": 0, "runs": 1, "status": "ok"}
"""A column that has this in every row is left out."""


def run_frame(spots: Sequence[Spot], reader: Reader, window: int) -> Frame:
    """Session, axes and figures; a percentile without support is absent."""
    axes = list(dict.fromkeys(name for spot in spots for name in spot.place))
    if len({spot.place["session"] for spot in spots}) < 2 and axes:
        axes.remove("session")
    direction: Direction | None = "trim" if only_trims(spots) else None
    metrics = [Metric(name=name, direction=direction) for name in SHOWN]
    columns = [
        *place_columns(spots, axes),
        *(Column(m.name, TITLES.get(m.name, m.name), unit_of(m)) for m in metrics),
        Column("runs", "runs", ""),
        Column("status", "status"),
    ]
    rows = [_row(spot, axes, metrics, reader, window) for spot in spots]
    return _telling(Frame(tuple(columns), rows))


def varying(spots: Sequence[Spot], always: str = "") -> list[str]:
    """The names of what differs between places, and `always`."""
    names = dict.fromkeys(name for spot in spots for name in spot.place)
    texts = {name: {spot.place.get(name) for spot in spots} for name in names}
    return [n for n in names if len(texts[n]) > 1 or n == always] or [*names][:1]


def place_columns(spots: Sequence[Spot], axes: Sequence[str]) -> list[Column]:
    """A column of texts for each axis."""
    return [
        Column(f"d{n}", axis_title(axis), "text", in_order(_texts(spots, axis)))
        for n, axis in enumerate(axes)
    ]


def place_values(spot: Spot, axes: Sequence[str]) -> list[Value]:
    """The texts in these columns."""
    return [spot.place.get(axis, "") for axis in axes]


def _texts(spots: Sequence[Spot], axis: str) -> Iterator[str]:
    return (spot.place[axis] for spot in spots if axis in spot.place)


def _row(
    spot: Spot, axes: list[str], metrics: list[Metric], reader: Reader, window: int
) -> tuple[Value, ...]:
    records = spot.last_window(window)
    figures = [reader.figure(metric, records).value for metric in metrics]
    return (*place_values(spot, axes), *figures, len(records), _status(records))


def _status(records: Sequence[RunRecord]) -> str:
    return next((r.status for r in records if r.status != "ok"), "ok")


def _telling(frame: Frame) -> Frame:
    """Without the columns that say the usual in every row."""
    kept = [
        at
        for at, column in enumerate(frame.columns)
        if column.key not in USUAL
        or any(row[at] != USUAL[column.key] for row in frame.rows)
    ]
    columns = tuple(frame.columns[at] for at in kept)
    return Frame(columns, [tuple(row[at] for at in kept) for row in frame.rows])


def listed(request: Request) -> Iterator[Picture]:
    """All figures in one table, each in its own unit; those without any left out."""
    by = request.chart.by[0] if request.chart.by else ""
    spots = [s for s in request.spots if not by or by in s.place]
    found, notes = _found(request, spots)
    axes = varying(spots, always=by)
    heads = [Column(f"m{n}", metric_name(m), unit_of(m)) for n, m in enumerate(found)]
    figures = zip(*found.values(), strict=True)
    rows = [
        (*place_values(spot, axes), *values)
        for spot, values in zip(spots, figures, strict=bool(found))
    ]
    yield Picture(
        kind="table",
        title=f"{_title(list(found) or request.chart.metrics, by)}{request.when}",
        line=request.line,
        frame=Frame((*place_columns(spots, axes), *heads), rows),
        x="",
        y="",
        notes=notes,
    )


def _title(metrics: Sequence[Metric], by: str) -> str:
    """What is in the table; of several figures, their kinds."""
    over = f" by {axis_title(by)}" if by else ""
    if len(metrics) == 1:
        return f"{metrics_title(metrics)}{over}"
    names = dict.fromkeys(UNIT_NAMES.get(m.unit) or metric_name(m) for m in metrics)
    return f"{capital(', '.join(names))}{over}"


def _found(
    request: Request, spots: list[Spot]
) -> tuple[dict[Metric, list[Value]], tuple[str, ...]]:
    """The values of each metric that has any, and why others are missing."""
    found: dict[Metric, list[Value]] = {}
    told = Missing({})
    for metric in request.chart.metrics:
        power = metric.name in POWER  # the first screen tells that it was not measured
        missing = Missing({}) if power else told
        parts = [tuple(values_of(request, metric, spot, missing)) for spot in spots]
        if any(parts):
            found[metric] = [part[0] if part else None for part in parts]
    return found, told.notes()
