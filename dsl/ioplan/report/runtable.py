"""The runs of a test as a frame: a row a cell, as `ioplan show` has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ioplan.language.metric import Metric
from ioplan.report.axis import axis_title, in_order
from ioplan.report.document import Column, Frame, Value
from ioplan.report.places import Spot
from ioplan.report.reader import Reader
from ioplan.results.record import RunRecord

SHOWN = ("iops", "bandwidth", "mean", "p50", "p99", "p99.9", "max", "cpu", "errors")
TITLES = {"iops": "IOPS", "bandwidth": "throughput", "cpu": "CPU"}


def run_frame(spots: Sequence[Spot], reader: Reader, window: int) -> Frame:
    """Session, axes and figures; a percentile without support is absent."""
    axes = list(dict.fromkeys(name for spot in spots for name in spot.place))
    if len({spot.place["session"] for spot in spots}) < 2 and axes:
        axes.remove("session")
    metrics = [Metric(name=name) for name in SHOWN]
    columns = [
        Column(f"d{n}", axis_title(axis), "text", in_order(_texts(spots, axis)))
        for n, axis in enumerate(axes)
    ]
    columns += [
        Column(f"m{n}", TITLES.get(metric.name, metric.name), metric.unit)
        for n, metric in enumerate(metrics)
    ]
    columns += [Column("runs", "runs", ""), Column("status", "status")]
    rows = [_row(spot, axes, metrics, reader, window) for spot in spots]
    return Frame(tuple(columns), rows)


def _texts(spots: Sequence[Spot], axis: str) -> Iterator[str]:
    return (spot.place[axis] for spot in spots if axis in spot.place)


def _row(
    spot: Spot, axes: list[str], metrics: list[Metric], reader: Reader, window: int
) -> tuple[Value, ...]:
    records = spot.last_window(window)
    figures = [reader.figure(metric, records).value for metric in metrics]
    place = [spot.place.get(axis, "") for axis in axes]
    return (*place, *figures, len(records), _status(records))


def _status(records: Sequence[RunRecord]) -> str:
    return next((r.status for r in records if r.status != "ok"), "ok")
