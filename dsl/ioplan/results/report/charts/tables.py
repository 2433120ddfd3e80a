"""Tables without a second axis: a row a place, a column a figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, compress
from typing import NamedTuple

from ioplan.language.metric import HOST, Metric
from ioplan.records.record import RunRecord
from ioplan.records.scopes import labels_of, on_target, part_texts, scopes_of
from ioplan.results.report.charts.axis import axis_title, in_order
from ioplan.results.report.charts.over_axis import cells, notes
from ioplan.results.report.charts.request import (
    OF_POWER,
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
FOUND, BEYOND_IT = "found", "found_no"
"""The columns of what a seek found."""
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
    sought = next((r.found for p in points for r in p.runs if r.found), None)
    unit, axis = (sought.unit, axis_title(sought.axis)) if sought else ("", "")
    columns = [
        *_place_columns(points, axes),
        Column(FOUND, axis, unit),
        Column(BEYOND_IT, "no at", unit),
        Column("scope", "I/Os"),
        *(Column(m.name, TITLES.get(m.name, m.name), unit_of(m)) for m in _metrics()),
        Column("rounds", "rounds"),
        Column("runs", "runs", ""),
        STATUS,
        AGAINST,
    ]
    several = any(len(scopes_of(point.counted)) > 1 for point in points)
    rows = [
        (
            *_place(point, axes),
            *_sought(point, row),
            row.label,
            *_figures(row, point.counted, reader),
            point.window.label if point.window else "",
            len(point.counted),
            point.status,
            ", ".join(against(point)),
        )
        for point in points
        for row in table_rows(point, several)
    ]
    usual = USUAL if sought else USUAL | {FOUND: None, BEYOND_IT: None}
    telling = [
        column.key not in usual
        or any(row[at] not in (usual[column.key], None) for row in rows)
        for at, column in enumerate(columns)
    ]
    shown = [tuple(compress(row, telling)) for row in rows]
    return Frame(tuple(compress(columns, telling)), shown)


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


def _place_columns(points: Sequence[Point], axes: Sequence[str]) -> list[Column]:
    places = [point.dimensions for point in points]
    texts = {axis: in_order(p[axis] for p in places if axis in p) for axis in axes}
    return [
        Column(f"d{n}", axis_title(axis), "text", texts[axis])
        for n, axis in enumerate(axes)
    ]


def _place(point: Point, axes: Sequence[str]) -> list[Value]:
    return [point.dimensions.get(axis, "") for axis in axes]


def table_rows(point: Point, several: bool = True) -> list[TableRow]:
    """The rows of a point: all that it did, then each stream and direction, and each
    target where a run has several.

    `apart` is whether any point of the table has several streams or directions.
    """
    scopes = scopes_of(point.counted)
    trims: Direction | None = "trim" if only_trims(point.counted) else None
    targets = dict.fromkeys(name for run in point.counted for name in run.targets)
    parts: list[TableRow] = []
    if len(scopes) < 2:
        label = labels_of(scopes)[0] if scopes and several else ""
        label = TRIMS if trims else label or ALL * bool(targets)
    else:
        both = any(scope.direction == "trim" for scope in scopes) and not trims
        label = READS_AND_WRITES if both else ALL
        times = part_texts(point.counted)
        parts = [
            TableRow(name + times.get(scope.stream, ""), scope.direction, scope.stream)
            for name, scope in zip(labels_of(scopes), scopes, strict=True)
        ]
    by_target = [TableRow(f"{ON}{name}", trims, None, name) for name in targets]
    return [TableRow(label, trims), *parts, *by_target]


def _sought(point: Point, row: TableRow) -> tuple[Value, Value]:
    """What a seek found, and the nearest value that was no, in the first row of its
    cell."""
    sought = point.runs[-1].found if point.runs else None
    if not sought or row.direction or row.stream or row.target:
        return None, None
    return sought.value, sought.no_at


def _figures(
    row: TableRow, runs: Sequence[RunRecord], reader: Reader
) -> Iterator[float | None]:
    metrics = _metrics(row.direction, row.stream)
    is_part = row.stream or row.target
    if row.target:
        runs = [on_target(run, row.target) for run in runs if row.target in run.targets]
    for metric, figure in zip(metrics, reader.figures(metrics, runs), strict=True):
        # histograms are kept of all targets together
        is_merged = row.target and len(runs) > 1 and metric.percent is not None
        unknown = is_merged or (is_part and metric.name in HOST)
        yield None if unknown else figure.value


def listed(request: Request) -> Iterator[ChartSpec]:
    """All figures in one table, each in its own unit; those without any left out."""
    points = request.along
    by_metric = {m: list(cells(request, [m], points)) for m in request.chart.metrics}
    figures: dict[Metric, list[Value]] = {}
    for metric, row in by_metric.items():
        values = {id(cell.point): cell.value for cell in row}
        if any(value is not None for value in values.values()):
            figures[metric] = [values.get(id(point)) for point in points]
    # of power the first screen says that it was not measured
    noted = (row for m, row in by_metric.items() if m.name not in OF_POWER)
    placed = points if figures else [point for point in points if point.failed]
    failed = any(point.failed for point in placed)
    names = list(dict.fromkeys(name for p in points for name in p.dimensions))
    apart = {n for n in names if len({p.dimensions.get(n) for p in points}) > 1}
    axes = [n for n in names if n in {*apart, request.by}] or names[:1]
    heads = [Column(f"m{n}", metric_name(m), unit_of(m)) for n, m in enumerate(figures)]
    rows = [
        (*_place(point, axes), *values, *(point.status,) * failed)
        for point, *values in zip(placed, *figures.values(), strict=True)
    ]
    columns = *_place_columns(points, axes), *heads, *(STATUS,) * failed
    yield ChartSpec(
        "table",
        f"{_title([*figures] or request.chart.metrics, request.by)}{request.when}",
        request.chart.text,
        Frame(columns, rows),
        x="",
        y="",
        notes=notes(chain.from_iterable(noted)),
    )


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
