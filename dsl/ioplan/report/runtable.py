"""The runs of a test as a frame: a row a cell, as `ioplan show` has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ioplan.language.metric import Metric
from ioplan.report.axis import axis_title, in_order
from ioplan.report.document import Column, Frame, Value
from ioplan.report.places import Spot, only_trims
from ioplan.report.reader import Reader
from ioplan.report.request import unit_of
from ioplan.results.record import RunRecord
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
