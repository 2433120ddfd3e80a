"""Runs one after the other: intervals, events and phases of charts over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import accumulate
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.grouping import grouped
from ioplan.core.units import time_text
from ioplan.job import SECOND_NS
from ioplan.language.metric import Metric, why_not_in_intervals
from ioplan.records.record import Interval, RunRecord
from ioplan.records.telemetry import TelemetryPoint
from ioplan.results.measure.metrics import RATIO_METRICS, Stretch
from ioplan.results.measure.over_time import is_cut_short
from ioplan.results.measure.series import in_series, value_at
from ioplan.results.measure.tally import READ_WRITE
from ioplan.results.report.charts.encoding import without
from ioplan.results.report.documents import ChartSpec, Column, Frame
from ioplan.results.report.point import Point
from ioplan.results.report.reader import Reader

READINGS = {
    "system_cpu": "system_cpu_percent",
    "stack_cpu": "stack_cpu_percent",
    "cpu": "generator_cpu_percent",
    "watts": "watts",
    "temperature": "temperature_celsius",
}
"""What the telemetry has of an interval."""
RATE = Metric(name="iops")
"""What is looked at for changes: latencies change where it does."""


class Phase(NamedTuple):
    """A time at which a phase came, since the first run of the cell began."""

    name: str
    begin_s: float
    end_s: float


class TimedRun(NamedTuple):
    """A run with its point, and when it began since the first of its cell did."""

    run: RunRecord
    point: Point
    start_s: float

    @property
    def phases(self) -> Iterator[Phase]:
        run_ns = round(self.run.run_s * SECOND_NS)
        for name, result in self.run.phases.items():
            for times_ns in result.when.windows(run_ns) if result.when else ():
                begin_s, end_s = (self.start_s + ns / SECOND_NS for ns in times_ns)
                yield Phase(name, begin_s, end_s)


Cell = list[TimedRun]
Figures = list[float | None]


def timed_cells(points: Sequence[Point]) -> list[Cell]:
    """The runs of each cell in their order; its steps share their time."""
    cells = grouped(points, key=lambda p: tuple(without(p.dimensions, "step").items()))
    return [list(_timed(cell)) for cell in cells.values()]


def _timed(points: Sequence[Point]) -> Iterator[TimedRun]:
    """A run begins when it began; on a simulated clock, which runs ahead of ours, when
    the one before has ended."""
    runs = [(run, point) for point in points for run in point.runs]
    runs.sort(key=lambda pair: pair[0].seq)
    moments = [datetime.fromisoformat(run.started_at) for run, _ in runs]
    end_s = 0.0
    for (run, point), moment in zip(runs, moments, strict=True):
        start_s = max(end_s, (moment - moments[0]).total_seconds())
        end_s = start_s + run.run_s
        yield TimedRun(run, point, start_s)


# The intervals of a cell with the metrics that are drawn.


class Timeline(Struct):
    """The runs of a point: columns with an entry for the end of each interval.

    `traced` has the rates that the replayed traces have here themselves, `failures`
    where runs ended early, and how.
    """

    point: Point
    t_s: list[float] = []
    written: list[float] = []
    values: dict[Metric, Figures] = {}
    traced: dict[Metric, Figures] = {}
    failures: list[tuple[float, float, str]] = []


def timelines(
    cells: Sequence[Cell],
    reader: Reader,
    metrics: Sequence[Metric],
    is_joined: bool = False,
) -> Iterator[Timeline]:
    """A timeline for each step of the cells, or one for all steps of a cell."""
    for cell in cells:
        lines, written = dict[str, Timeline](), 0.0
        joined = _joined(cell) if is_joined else None
        for timed in cell:
            point = joined or timed.point
            line = lines.setdefault(point.dimensions.get("step", ""), Timeline(point))
            written = _extend(line, timed, written, reader, {*metrics, RATE})
        yield from lines.values()


def _joined(cell: Cell) -> Point:
    """The steps of a cell as one point."""
    first = cell[0].point
    dimensions = without(first.dimensions, "step")
    return replace(first, dimensions=dimensions, runs=[timed.run for timed in cell])


def _extend(
    line: Timeline,
    timed: TimedRun,
    written: float,
    reader: Reader,
    metrics: set[Metric],
) -> float:
    """Add the intervals of a run; what is written after it."""
    run, start_s = timed.run, timed.start_s
    series = list(reader.series(run))
    writes = (interval.bytes.get("write", 0) for interval, _ in series)
    _, *totals = accumulate(writes, initial=written)
    total = totals[-1] if totals else written
    length = len(series) - is_cut_short([interval for interval, _ in series])
    line.t_s += [round(start_s + interval.t_s, 6) for interval, _ in series[:length]]
    line.written += totals[:length]
    in_counts = any(not in_series(metric) for metric in metrics)
    stretches = [Stretch([c]) for c in reader.intervals(run)] if in_counts else []
    for metric in metrics:
        values: Figures = [None] * length
        traced: Figures = [None] * length
        if metric.counts(run.asked.name):
            traced = [_traced(metric, *pair) for pair in series[:length]]
            if in_series(metric):
                values = [metric_at(metric, *pair) for pair in series[:length]]
            else:  # runs may be without counts
                counted = [stretch.value(metric) for stretch in stretches[:length]]
                values[: len(counted)] = counted
        line.values.setdefault(metric, []).extend(values)
        line.traced.setdefault(metric, []).extend(traced)
    if run.status != "ok":
        line.failures.append((round(start_s + run.run_s, 6), total, run.status))
    return total


def metric_at(
    metric: Metric, interval: Interval, readings: TelemetryPoint | None = None
) -> float | None:
    """The metric, or None where the series does not have it."""
    if why_not_in_intervals(metric) or not in_series(metric):
        return None
    if metric.name in READINGS:
        return getattr(readings, READINGS[metric.name], None)
    if metric.name in RATIO_METRICS:
        rate, used = (
            metric_at(Metric(name=name), interval, readings)
            for name in RATIO_METRICS[metric.name]
        )
        return rate / used if used and rate is not None else None
    return value_at(metric, interval)


def _traced(
    metric: Metric, interval: Interval, readings: TelemetryPoint | None
) -> float | None:
    """What the rate would be if all I/Os of the replayed traces were done when they
    are due; None of what is no rate, and without a trace."""
    if metric.name not in ("iops", "bandwidth") or metric.stream or not readings:
        return None
    what = "ios" if metric.name == "iops" else "bytes"
    directions = (metric.direction,) if metric.direction else READ_WRITE
    names = (f"trace_{direction}_{what}" for direction in directions)
    amounts = [getattr(readings, name, None) for name in names]
    present = [amount for amount in amounts if amount is not None]
    length_s = interval.length_s
    return float(sum(present) / length_s) if present and length_s else None


# Events of the lab as lines across a picture, and phases as its bands.

MOST_EVENTS = 24
"""More lines hide the curves."""
MOST_PHASES = 200
NEAR_S = 0.1
"""Phases that begin so near to one another begin together."""
Starts = Sequence[tuple[str, float]]
APART = "phases are not marked: they begin at different times in its curves"
MANY = f"phases are not marked: there are more than {MOST_PHASES}"


def annotated(picture: ChartSpec, cells: Sequence[Cell]) -> ChartSpec:
    """The picture over time with events, and the phases that all of its cells share."""
    return with_phases(_with_events(picture, cells), cells)


def _with_events(picture: ChartSpec, cells: Sequence[Cell]) -> ChartSpec:
    times = {
        (round(t_s, 2), event.name): t_s
        for cell in cells
        for timed in cell
        for event in timed.run.events
        for t_s in (timed.start_s + event.start_s,)
    }
    marks = [(times[key], None, key[1]) for key in sorted(times)][:MOST_EVENTS]
    if not marks:
        return picture
    axes = (picture.frame.column(key) for key in (picture.x, picture.y))
    notes = [f"┊ {name}, at {time_text(t_s)}" for t_s, _, name in marks]
    if more := len(times) - len(marks):
        notes.append(f"{more} more events are not drawn")
    limits = Frame((*axes, Column("limit", "event")), marks)
    return replace(picture, limits=limits, notes=(*picture.notes, *notes))


def with_phases(
    picture: ChartSpec, cells: Sequence[Cell], starts: Starts | None = None
) -> ChartSpec:
    """`starts` are the columns of a picture that has these, and when each begins."""
    phases, note = _shared_phases(cells)
    if not phases:
        return replace(picture, notes=(*picture.notes, note)) if note else picture
    x, names = picture.frame.column("x"), tuple(dict.fromkeys(p.name for p in phases))
    rows: list[tuple[str | float | None, ...]] = [
        (round(begin_s, 6), round(end_s, 6), name) for name, begin_s, end_s in phases
    ]
    until = Column("x2", "until", x.unit)
    if starts is not None:
        rows, until = list(_in_columns(phases, starts)), Column("x2", "", "hidden")
    columns = x, until, Column("phase", "phase", "text", names)
    return replace(picture, phases=Frame(columns, rows))


def _in_columns(
    phases: Sequence[Phase], starts: Starts
) -> Iterator[tuple[str | None, ...]]:
    ends = [*(begin_s for _, begin_s in starts[1:]), float("inf")]
    for name in dict.fromkeys(phase.name for phase in phases):
        for (text, begin_s), end_s in zip(starts, ends, strict=False):
            if any(
                p.begin_s < end_s - 1e-6 and begin_s < p.end_s - 1e-6
                for p in phases
                if p.name == name
            ):
                yield text, None, name


def _shared_phases(cells: Sequence[Cell]) -> tuple[list[Phase], str]:
    """The phases, or why they are not drawn: nothing to tell where there are none."""
    keyed = [
        {(p.name, round(p.begin_s / NEAR_S)): p for timed in cell for p in timed.phases}
        for cell in cells
    ]
    if not any(keyed):
        return [], ""
    end_s = min(max((p.end_s for p in by.values()), default=0.0) for by in keyed)
    begun = [{k for k, p in by.items() if p.begin_s < end_s - NEAR_S} for by in keyed]
    if not all(keyed) or any(keys != begun[0] for keys in begun):
        return [], APART
    longest = max(keyed, key=len)
    if len(longest) > MOST_PHASES:
        return [], MANY
    return sorted(longest.values(), key=lambda phase: phase.begin_s), ""
