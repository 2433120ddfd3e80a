"""Tables without a second axis: a row a place, a column a figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from ioplan.language.metric import HOST, Metric
from ioplan.records.record import RunRecord
from ioplan.records.scopes import labels_of, on_target, part_texts, scopes_of
from ioplan.results.report.charts.axis import axis_title, in_order
from ioplan.results.report.charts.defaults import METRICS as POWER
from ioplan.results.report.charts.over_axis import Missing, values_of
from ioplan.results.report.charts.request import (
    UNIT_NAMES,
    Request,
    capital,
    metric_name,
    metrics_title,
    unit_of,
)
from ioplan.results.report.documents import (
    AGAINST,
    STATUS,
    Channels,
    ChartSpec,
    Column,
    Frame,
    Value,
)
from ioplan.results.report.point import Point, only_trims
from ioplan.results.report.reader import Reader
from ioplan.workload import Direction

SHOWN = (
    *("iops", "bandwidth", "mean", "p50", "p99", "p99.9", "max"),
    *("cpu", "errors", "verified"),
)
TITLES = {"iops": "IOPS", "bandwidth": "throughput", "cpu": "CPU of the load generator"}
ALL, TRIMS, READS_AND_WRITES = "all", "trims", "reads, writes"
ON = "on "
"""What stands before the name of a target."""
USUAL = {
    **{"scope": "", "cpu": None, "errors": 0, "verified": None},
    **{"rounds": "", "runs": 1, "status": "ok", "against": ""},
}
"""A column that has this in every row is left out."""


Against = Callable[[Point], Iterable[str]]


class TableRow(NamedTuple):
    """What of a point a row is of; without a direction of reads and writes together."""

    label: str
    direction: Direction | None = None
    stream: str | None = None
    target: str | None = None


def run_frame(
    points: Sequence[Point], reader: Reader, against: Against = lambda _: ()
) -> Frame:
    """Session, axes, figures, and the rounds that these are of.

    A point with several streams or directions has a row for each of them below its own.
    A percentile with too few I/Os beyond it is absent. Figures of a run that failed
    are of what was done until then. What speaks `against` its figures stands in a row.
    """
    axes = axes_of(points)
    columns = [
        *dimension_columns(points, axes),
        *found_columns(points),
        Column("scope", "I/Os"),
        *(Column(m.name, TITLES.get(m.name, m.name), unit_of(m)) for m in _metrics()),
        Column("rounds", "rounds"),
        Column("runs", "runs", ""),
        STATUS,
        AGAINST,
    ]
    has_found = bool(found_columns(points))
    apart = any(len(scopes_of(point.counted)) > 1 for point in points)
    rows = [
        (*_row(point, row, axes, reader, has_found), ", ".join(against(point)))
        for point in points
        for row in table_rows(point, apart)
    ]
    return _without_usual(Frame(tuple(columns), rows))


def axes_of(points: Sequence[Point]) -> list[str]:
    """What tells the rows apart; the session where there are several."""
    axes = list(dict.fromkeys(name for point in points for name in point.dimensions))
    if len({point.dimensions["session"] for point in points}) < 2 and axes:
        axes.remove("session")
    return axes


@cache
def _metrics(
    direction: Direction | None = None, stream: str | None = None
) -> tuple[Metric, ...]:
    return tuple(
        Metric(name=name, direction=direction, stream=stream) for name in SHOWN
    )


def varying(points: Sequence[Point], always: str = "") -> list[str]:
    """The dimensions in which the points differ, and `always`."""
    names = dict.fromkeys(name for point in points for name in point.dimensions)
    texts = {name: {p.dimensions.get(name) for p in points} for name in names}
    return [n for n in names if len(texts[n]) > 1 or n == always] or [*names][:1]


def dimension_columns(points: Sequence[Point], axes: Sequence[str]) -> list[Column]:
    """A column of texts for each axis."""
    return [
        Column(f"d{n}", axis_title(axis), "text", in_order(_texts(points, axis)))
        for n, axis in enumerate(axes)
    ]


def dimension_values(point: Point, axes: Sequence[str]) -> list[Value]:
    """The texts in these columns."""
    return [point.dimensions.get(axis, "") for axis in axes]


def _texts(points: Sequence[Point], axis: str) -> Iterator[str]:
    return (p.dimensions[axis] for p in points if axis in p.dimensions)


def table_rows(point: Point, apart: bool = True) -> list[TableRow]:
    """The rows of a point: all that it did, then each stream and direction, and each
    target where a run has several.

    `apart` is whether any point of the table has several streams or directions.
    """
    first, *parts = _streams_rows(point, apart)
    targets = dict.fromkeys(name for run in point.counted for name in run.targets)
    if targets and not parts:
        first = first._replace(label=first.label or ALL)
    by_target = [
        TableRow(f"{ON}{name}", first.direction, None, name) for name in targets
    ]
    return [first, *parts, *by_target]


def _streams_rows(point: Point, apart: bool) -> list[TableRow]:
    scopes = scopes_of(point.counted)
    trims: Direction | None = "trim" if only_trims(point.counted) else None
    if len(scopes) < 2:
        name = labels_of(scopes)[0] if scopes and apart and not trims else ""
        return [TableRow(TRIMS if trims else name, trims)]
    both = any(scope.direction == "trim" for scope in scopes) and not trims
    times = part_texts(point.counted)
    parts = zip(labels_of(scopes), scopes, strict=True)
    return [
        TableRow(READS_AND_WRITES if both else ALL, trims),
        *(
            TableRow(label + times.get(scope.stream, ""), scope.direction, scope.stream)
            for label, scope in parts
        ),
    ]


FOUND, BEYOND_IT = "found", "found_no"
"""The columns of what a seek found."""


def found_columns(points: Sequence[Point]) -> list[Column]:
    """The sought axis, and the nearest value that was no; none without a seek."""
    found = (run.found for point in points for run in point.runs if run.found)
    first = next(found, None)
    if first is None:
        return []
    axis = axis_title(first.axis)
    return [Column(FOUND, axis, first.unit), Column(BEYOND_IT, "no at", first.unit)]


def found_values(point: Point, row: TableRow, has_found: bool) -> list[Value]:
    """What a seek found, in the first row of its cell."""
    found = point.runs[-1].found if point.runs else None
    if not has_found or not found or row.direction or row.stream or row.target:
        return [None, None] if has_found else []
    return [found.value, found.no_at]


def _row(
    point: Point, row: TableRow, axes: list[str], reader: Reader, has_found: bool
) -> tuple[Value, ...]:
    runs = point.counted
    return (
        *dimension_values(point, axes),
        *found_values(point, row, has_found),
        row.label,
        *_figures(row, runs, reader),
        point.window.label if point.window else "",
        len(runs),
        point.status,
    )


def _figures(
    row: TableRow, runs: Sequence[RunRecord], reader: Reader
) -> Iterator[float | None]:
    metrics = _metrics(row.direction, row.stream)
    is_part = row.stream or row.target
    if row.target:
        runs = [on_target(run, row.target) for run in runs if row.target in run.targets]
    for metric, found in zip(metrics, reader.figures(metrics, runs), strict=True):
        # histograms are kept of all targets together
        is_merged = row.target and len(runs) > 1 and metric.percent is not None
        unknown = is_merged or (is_part and metric.name in HOST)
        yield None if unknown else found.value


def _without_usual(frame: Frame) -> Frame:
    """Without the columns that have the usual value in every row."""
    kept = [
        at
        for at, column in enumerate(frame.columns)
        if column.key not in USUAL
        or any(row[at] not in (USUAL[column.key], None) for row in frame.rows)
    ]
    columns = tuple(frame.columns[at] for at in kept)
    return Frame(columns, [tuple(row[at] for at in kept) for row in frame.rows])


def listed(request: Request) -> Iterator[ChartSpec]:
    """All figures in one table, each in its own unit; those without any left out."""
    by = request.by
    points = [p for p in request.points if not by or by in p.dimensions]
    found, notes = _found(request, points)
    axes = varying(points, always=by)
    heads = [Column(f"m{n}", metric_name(m), unit_of(m)) for n, m in enumerate(found)]
    shown = points if found else [point for point in points if point.failed]
    figures = list(zip(*found.values(), strict=True)) or [()] * len(shown)
    rows = [
        (*dimension_values(point, axes), *values)
        for point, values in zip(shown, figures, strict=True)
    ]
    frame = Frame((*dimension_columns(points, axes), *heads), rows)
    title = _title(list(found) or request.chart.metrics, by)
    framed = _with_status(frame, shown), Channels()
    yield request.picture("table", title, framed, x="", y="", notes=notes)


def _with_status(frame: Frame, points: list[Point]) -> Frame:
    """With what became of each row, where something failed."""
    if not any(point.failed for point in points):
        return frame
    rows = [(*r, p.status) for r, p in zip(frame.rows, points, strict=True)]
    return Frame((*frame.columns, STATUS), rows)


def _title(metrics: Sequence[Metric], by: str) -> str:
    """What is in the table; of several figures, their kinds."""
    over = f" by {axis_title(by)}" if by else ""
    if len(metrics) == 1:
        return f"{metrics_title(metrics)}{over}"
    names = dict.fromkeys(
        metric_name(m) if m.beyond else UNIT_NAMES.get(m.unit) or metric_name(m)
        for m in metrics
    )
    return f"{capital(', '.join(names))}{over}"


def _found(
    request: Request, points: list[Point]
) -> tuple[dict[Metric, list[Value]], tuple[str, ...]]:
    """The values of each metric that has any, and why others are missing."""
    found: dict[Metric, list[Value]] = {}
    told = Missing()
    for metric in request.chart.metrics:
        power = metric.name in POWER  # the first screen tells that it was not measured
        missing = Missing() if power else told
        parts = [tuple(values_of(request, metric, one, missing)) for one in points]
        if any(part for part in parts if part != (None,)):
            found[metric] = [part[0] if part else None for part in parts]
    return found, told.notes()
