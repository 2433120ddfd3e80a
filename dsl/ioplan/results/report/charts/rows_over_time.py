"""A figure of many drives over time: a row for each, its colour for how much when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ioplan.core.units import time_text
from ioplan.job import SECOND_NS
from ioplan.language.metric import Metric
from ioplan.results.measure.interval_counts import Slice
from ioplan.results.measure.metrics import Stretch
from ioplan.results.report.charts.encoding import Datum, framed, varied
from ioplan.results.report.charts.phases import with_columns
from ioplan.results.report.charts.request import (
    Request,
    left_out,
    metrics_title,
    y_column,
)
from ioplan.results.report.charts.timeline import Timeline, cells_of, placed
from ioplan.results.report.documents import ChartSpec, Column

MOST_ROWS = 200
MOST_COLUMNS = 30
STEPS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)
"""How long a column is; of more than 30 hours, whole hours."""
TIME = "time"


class _Row(Struct, frozen=True):
    """A cell's intervals, each with when it began, in s since the cell's first run, and
    the name of its step."""

    name: str
    slices: list[tuple[float, Slice, str]]


def rows_over_time(request: Request) -> Iterator[ChartSpec]:
    """A picture for each metric; its figures are of merged histograms."""
    cells = list(cells_of(request.points).values())
    told = [n for n in varied(request.points) if n != "step"] or ["session"]
    lines = [[Timeline(point) for point in found] for found in cells[:MOST_ROWS]]
    rows = [_row(found, request, told) for found in lines]
    times = [part for row in rows for part in row.slices]
    step_s = _step_s(times)
    columns = sorted({_column(begin_s, step_s) for begin_s, *_ in times})
    note = left_out(len(cells), MOST_ROWS)
    for metric in request.chart.metrics:
        data = [datum for row in rows for datum in _data(row, metric, step_s)]
        names = [row.name for row in rows]
        picture = _picture(request, metric, data, (names, columns, step_s), note)
        begins = [(time_text(column * step_s), column * step_s) for column in columns]
        yield with_columns(picture, [one for found in lines for one in found], begins)


def is_over_time(picture: ChartSpec) -> bool:
    """Whether it is one of these."""
    return picture.kind == "heatmap" and picture.frame.column("x").title == TIME


def _row(lines: Sequence[Timeline], request: Request, told: Sequence[str]) -> _Row:
    """The steps of a cell share its time."""
    found = [
        (round(start_s + one.begin_ns / SECOND_NS, 6), one, run.asked.name)
        for run, _, start_s in placed(lines)
        for one in request.reader.intervals(run)
    ]
    cell = {n: t for n, t in lines[0].point.dimensions.items() if n in told}
    name = (text if n == "session" else f"{n} {text}" for n, text in cell.items())
    return _Row(", ".join(name), found)


def _step_s(times: Sequence[tuple[float, Slice, str]]) -> float:
    """The shortest that is no shorter than an interval, and needs few columns."""
    end_s = max((begin_s for begin_s, *_ in times), default=0.0)
    longest_ns = max((one.end_ns - one.begin_ns for _, one, _ in times), default=0)
    hours = 3600.0 * -(-int(end_s) // (3600 * (MOST_COLUMNS - 1)))
    for step_s in STEPS_S:
        if step_s * SECOND_NS >= longest_ns and end_s < step_s * MOST_COLUMNS:
            return step_s
    return max(3600.0, hours)


def _column(begin_s: float, step_s: float) -> int:
    return int(begin_s / step_s + 1e-6)


def _data(row: _Row, metric: Metric, step_s: float) -> Iterator[Datum]:
    """The figure of each column in which it has one."""
    parts: dict[int, list[Slice]] = {}
    for begin_s, one, step in row.slices:
        if metric.counts(step):
            parts.setdefault(_column(begin_s, step_s), []).append(one)
    for column, some in sorted(parts.items()):
        value = Stretch(some).value(metric)
        if value is not None:
            yield Datum({}, (time_text(column * step_s), row.name, value))


def _picture(
    request: Request,
    metric: Metric,
    data: Sequence[Datum],
    axes: tuple[Sequence[str], Sequence[int], float],
    note: str,
) -> ChartSpec:
    names, columns, step_s = axes
    times = tuple(time_text(column * step_s) for column in columns)
    across = Column("x", TIME, "text", times)
    down = Column("row", "", "text", tuple(names))
    told = f"each column covers {time_text(step_s)} from the time below it"
    nothing = "" if data else "no run has counts of its intervals"
    return request.picture(
        "heatmap",
        f"{metrics_title([metric])} over time",
        framed(data, (across, down, y_column([metric])), colored=False),
        y="row",
        x_scale="names",
        y_scale="names",
        notes=tuple(text for text in (nothing or told, note) if text),
    )
