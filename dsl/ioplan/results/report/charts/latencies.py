"""All latencies of runs over time: how many I/Os took how long when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.units import time_text
from ioplan.job import SECOND_NS
from ioplan.language.metric import Metric
from ioplan.results.measure.histogram import Histogram, bucket_range
from ioplan.results.measure.metrics import Stretch, merged
from ioplan.results.report.charts.encoding import Datum, framed, same_dimensions
from ioplan.results.report.charts.phases import with_phases
from ioplan.results.report.charts.request import Request, capital, left_out
from ioplan.results.report.charts.timeline import Timeline, cells_of, placed
from ioplan.results.report.documents import ChartSpec, Column, Frame
from ioplan.results.report.point import Dimensions

# Events of the lab as lines across charts over time.

MOST_EVENTS = 24
"""More lines hide the curves."""


def with_events(picture: ChartSpec, lines: Sequence[Timeline]) -> ChartSpec:
    """The picture over time with the moments at which events began."""
    found = {(round(m.t_s, 2), m.event.name): m for line in lines for m in line.marks}
    shown = [found[key] for key in sorted(found)][:MOST_EVENTS]
    if not shown:
        return picture
    frame = picture.frame
    columns = (
        frame.column(picture.x),
        frame.column(picture.y),
        Column("limit", "event"),
    )
    rows = [(mark.t_s, None, mark.event.name) for mark in shown]
    notes = [f"┊ {mark.event.name}, at {time_text(mark.t_s)}" for mark in shown]
    if more := len(found) - len(shown):
        notes.append(f"{more} more events are not drawn")
    return replace(picture, limits=Frame(columns, rows), notes=(*picture.notes, *notes))


MOST_CELLS = 12
MOST_COLUMNS = 120
MOST_ROWS = 48
FINEST = 4
"""Bits of the finest rows: 16 an octave."""
TIME = (Column("x", "time", "s"), Column("x2", "until", "s"))
COLUMNS = (
    *TIME,
    Column("y", "latency", "ns"),
    Column("y2", "up to", "ns"),
    Column("count", "I/Os", ""),
)
OVER = (*TIME, Column("p50", "p50", "ns"), Column("p99", "p99", "ns"))


class _Span(Struct, frozen=True):
    """Some intervals that are drawn as one."""

    dimensions: Dimensions
    begin_s: float
    end_s: float
    latencies: Histogram
    percentiles_ns: Sequence[float]


def latencies_over_time(request: Request) -> Iterator[ChartSpec]:
    """A panel for each cell, stream and direction."""
    cells = list(cells_of(request.points).values())
    lines = [[Timeline(point) for point in found] for found in cells[:MOST_CELLS]]
    spans = [span for found in lines for span in _spans(found, request)]
    frame, channels = framed(_data(spans), COLUMNS, colored=False)
    over, _ = framed(_percentiles(spans), OVER, colored=False)
    picture = request.picture(
        "latencies",
        f"{_title(request.chart.metrics)} over time",
        (frame, channels),
        y_scale="log",
        overlay=over if same_dimensions(frame, over) else None,
        notes=_notes(request, len(cells), frame),
    )
    flat = [line for found in lines for line in found]
    yield with_phases(with_events(picture, flat), flat)


def _title(metrics: Sequence[Metric]) -> str:
    title = ", ".join(str(metric) for metric in metrics)
    return title if metrics[0].stream else capital(title)


def _notes(request: Request, cells: int, frame: Frame) -> tuple[str, ...]:
    notes = ["lines: p50 (solid, ·) and p99 (dashed, •)"] if frame.rows else []
    if not frame.rows:
        notes.append("no run has counts of its intervals")
    if any(run.status != "ok" for point in request.points for run in point.runs):
        notes.append("of runs that failed or were stopped, until then")
    if more := left_out(cells, MOST_CELLS):
        notes.append(more)
    return tuple(notes)


def _spans(lines: Sequence[Timeline], request: Request) -> Iterator[_Span]:
    """The intervals of all runs of a cell, few enough of them."""
    for run, line, start_s in placed(lines):
        counts, runs = request.reader.intervals(run), len(line.point.runs)
        step = -(-len(counts) * runs // MOST_COLUMNS)
        slices = iter(counts)
        while some := list(islice(slices, step)):
            for metric in request.chart.metrics:
                if metric.counts(run.asked.name):
                    where = line.point.dimensions
                    yield from _span(where, metric, start_s, Stretch(some))


def _span(
    dimensions: Dimensions, metric: Metric, start_s: float, part: Stretch
) -> Iterator[_Span]:
    """None of a stretch without such an I/O."""
    found = merged(metric, [part.sample])
    if found.total:
        yield _Span(
            dimensions | {"metric": str(metric)},
            round(start_s + part.begin_ns / SECOND_NS, 6),
            round(start_s + part.end_ns / SECOND_NS, 6),
            found.coarser(FINEST),
            found.percentiles_ns((50, 99)),
        )


def _data(spans: Sequence[_Span]) -> list[Datum]:
    """A row for each place that has any I/O, in rows of one height."""
    bits = _bits(spans)
    return [
        Datum(one.dimensions, (one.begin_s, one.end_s, *_edges(index, bits), count))
        for one in spans
        for index, count in pairs(one.latencies.coarser(bits))
    ]


def pairs(histogram: Histogram) -> Iterator[tuple[int, int]]:
    """Buckets and counts."""
    return zip(histogram.index.tolist(), histogram.count.tolist(), strict=True)


def _bits(spans: Sequence[_Span]) -> int:
    """The finest rows that are few enough."""
    for bits in range(FINEST, 0, -1):
        found = [one.latencies.coarser(bits).index for one in spans]
        ends = [int(edge) for index in found for edge in (index[0], index[-1])]
        if not ends or max(ends) - min(ends) < MOST_ROWS:
            return bits
    return 0


def _edges(index: int, bits: int) -> tuple[float, float]:
    """The edges of a row; a logarithmic axis has no place for 0."""
    low, high = bucket_range(index, bits)
    return max(low, 0.5), float(high)


def _percentiles(spans: Sequence[_Span]) -> list[Datum]:
    return [
        Datum(one.dimensions, (one.begin_s, one.end_s, *one.percentiles_ns))
        for one in spans
    ]
