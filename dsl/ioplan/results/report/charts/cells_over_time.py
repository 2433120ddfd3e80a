"""Time across, a cell for how much when: latencies, and figures of many drives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ioplan.core.grouping import grouped
from ioplan.core.units import time_text
from ioplan.job import SECOND_NS
from ioplan.language.metric import Metric
from ioplan.results.measure.histogram import Histogram, bucket_range
from ioplan.results.measure.interval_counts import Slice
from ioplan.results.measure.metrics import Stretch, merged
from ioplan.results.report.charts.over_time import (
    Cell,
    TimedRun,
    annotated,
    timed_cells,
    with_phases,
)
from ioplan.results.report.charts.request import (
    Datum,
    Request,
    capital,
    left_out,
    metrics_title,
    without,
    y_column,
)
from ioplan.results.report.documents import ChartSpec, Column
from ioplan.results.report.point import Dimensions

NO_COUNTS = "no run has counts of its intervals"

# How many I/Os took how long when.

MOST_CELLS = 12
MOST_SPANS = 120
MOST_BUCKETS = 48
FINEST = 4
"""Bits of the finest rows: 16 an octave."""
LATENCIES = (
    Column("x", "time", "s"),
    Column("x2", "until", "s"),
    Column("y", "latency", "ns"),
    Column("y2", "up to", "ns"),
    Column("count", "I/Os", ""),
)


class _Span(NamedTuple):
    """Some intervals that are drawn as one."""

    dimensions: Dimensions
    times_s: tuple[float, float]
    latencies: Histogram
    percentiles_ns: Sequence[float]


def latencies_over_time(request: Request) -> Iterator[ChartSpec]:
    """A panel for each cell, stream and direction."""
    every, metrics = timed_cells(request.points), request.chart.metrics
    cells = every[:MOST_CELLS]
    spans = [span for cell in cells for run in cell for span in _spans(run, request)]
    bits = _bits(spans)
    data = [
        Datum(span.dimensions, (*span.times_s, *_edges(index, bits), count))
        for span in spans
        for latencies in (span.latencies.coarser(bits),)
        for index, count in zip(
            latencies.index.tolist(), latencies.count.tolist(), strict=True
        )
    ]
    title = ", ".join(str(metric) for metric in metrics)
    failed = any(run.status != "ok" for p in request.points for run in p.runs)
    picture = request.picture(
        "latencies",
        f"{title if metrics[0].stream else capital(title)} over time",
        data,
        LATENCIES,
        over=[Datum(s.dimensions, (*s.times_s, *s.percentiles_ns)) for s in spans],
        over_keys=("x", "x2", "p50", "p99"),
        y_scale="log",
        notes=(
            "lines: p50 (solid, ·) and p99 (dashed, •)" if data else NO_COUNTS,
            "of runs that failed or were stopped, until then" * failed,
            left_out(len(every), MOST_CELLS),
        ),
    )
    yield annotated(picture, cells)


def _spans(timed: TimedRun, request: Request) -> Iterator[_Span]:
    """The intervals of a run, few enough of them in all runs of its point."""
    counts = request.reader.intervals(timed.run)
    step = -(-len(counts) * len(timed.point.runs) // MOST_SPANS)
    slices = iter(counts)
    metrics = [m for m in request.chart.metrics if m.counts(timed.run.asked.name)]
    while few := list(islice(slices, step)):
        part = Stretch(few)
        begin_s, end_s = map(timed.at_s, (part.begin_ns, part.end_ns))
        for metric in metrics:
            latencies = merged(metric, [part.sample])
            if latencies.total:
                yield _Span(
                    timed.point.dimensions | {"metric": str(metric)},
                    (begin_s, end_s),
                    latencies.coarser(FINEST),
                    latencies.percentiles_ns((50, 99)),
                )


def _bits(spans: Sequence[_Span]) -> int:
    for bits in range(FINEST, 0, -1):
        indexes = [span.latencies.coarser(bits).index for span in spans]
        ends = [int(edge) for index in indexes for edge in (index[0], index[-1])]
        if not ends or max(ends) - min(ends) < MOST_BUCKETS:
            return bits
    return 0


def _edges(index: int, bits: int) -> tuple[float, float]:
    """The edges of a row; a logarithmic axis has no place for 0."""
    low, high = bucket_range(index, bits)
    return max(low, 0.5), float(high)


# A figure of many drives: a row for each.

MOST_ROWS = 200
MOST_COLUMNS = 30
STEPS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)
"""How long a column is; of more than 30 hours, whole hours."""
TIME = "time"

Timed = list[tuple[float, Slice, str]]
"""Intervals, each with when it began in its cell, and the name of its step."""


def rows_over_time(request: Request) -> Iterator[ChartSpec]:
    """A picture for each metric; its figures are of merged histograms."""
    every = timed_cells(request.points)
    cells = every[:MOST_ROWS]
    names = [n for n in request.varied if n != "step"] or ["session"]
    rows = [(_name(cell, names), _intervals(cell, request)) for cell in cells]
    times = [timed for _, intervals in rows for timed in intervals]
    step_s = _step_s(times)
    columns = sorted({_column(begin_s, step_s) for begin_s, *_ in times})
    starts = [(time_text(column * step_s), column * step_s) for column in columns]
    order = tuple(text for text, _ in starts)
    down = Column("row", "", "text", tuple(name for name, _ in rows))
    step = f"each column covers {time_text(step_s)} from the time below it"
    for metric in request.chart.metrics:
        data = [
            Datum({}, (time_text(column * step_s), name, value))
            for name, intervals in rows
            for column, value in _figures(intervals, metric, step_s)
        ]
        notes = step if data else NO_COUNTS, left_out(len(every), MOST_ROWS)
        picture = request.picture(
            "heatmap",
            f"{metrics_title([metric])} over time",
            data,
            (Column("x", TIME, "text", order), down, y_column([metric])),
            notes=notes,
        )
        yield with_phases(picture, cells, starts)


def is_over_time(picture: ChartSpec) -> bool:
    return picture.kind == "heatmap" and picture.frame.column("x").title == TIME


def _name(cell: Cell, names: Sequence[str]) -> str:
    dimensions = without(cell[0].point.dimensions, "step")
    own = {name: text for name, text in dimensions.items() if name in names}
    return ", ".join(t if n == "session" else f"{n} {t}" for n, t in own.items())


def _intervals(cell: Cell, request: Request) -> Timed:
    return [
        (timed.at_s(interval.begin_ns), interval, timed.run.asked.name)
        for timed in cell
        for interval in request.reader.intervals(timed.run)
    ]


def _step_s(times: Timed) -> float:
    """The shortest that is no shorter than an interval, and needs few columns."""
    end_s = max((begin_s for begin_s, *_ in times), default=0.0)
    longest_ns = max((interval.length_ns for _, interval, _ in times), default=0)
    hours = 3600.0 * -(-int(end_s) // (3600 * (MOST_COLUMNS - 1)))
    for step_s in STEPS_S:
        if step_s * SECOND_NS >= longest_ns and end_s < step_s * MOST_COLUMNS:
            return step_s
    return max(3600.0, hours)


def _column(begin_s: float, step_s: float) -> int:
    return int(begin_s / step_s + 1e-6)


def _figures(
    intervals: Timed, metric: Metric, step_s: float
) -> Iterator[tuple[int, float]]:
    counting = [timed for timed in intervals if metric.counts(timed[-1])]
    parts = grouped(counting, lambda timed: _column(timed[0], step_s))
    for column, few in sorted(parts.items()):
        value = Stretch([interval for _, interval, _ in few]).value(metric)
        if value is not None:
            yield column, value
