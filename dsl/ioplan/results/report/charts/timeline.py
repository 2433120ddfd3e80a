"""The intervals of runs, one after the other: what charts over time are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import repeat

from msgspec import Struct
from msgspec.structs import replace

from ioplan.job import SECOND_NS
from ioplan.language.metric import Metric, why_not_in_intervals
from ioplan.records.record import EventMade, Interval, RunRecord
from ioplan.records.telemetry import TelemetryPoint
from ioplan.results.measure.metrics import RATIO_METRICS, Stretch
from ioplan.results.measure.over_time import is_cut_short
from ioplan.results.measure.series import in_series, value_at
from ioplan.results.measure.tally import READ_WRITE
from ioplan.results.report.point import Point
from ioplan.results.report.reader import Reader

READ: dict[str, Callable[[TelemetryPoint], float | None]] = {
    "system_cpu": lambda found: found.system_cpu_percent,
    "stack_cpu": lambda found: found.stack_cpu_percent,
    "cpu": lambda found: found.generator_cpu_percent,
    "watts": lambda found: found.watts,
    "temperature": lambda found: found.temperature_celsius,
}
"""What the telemetry has of an interval."""
MOST_CELLS = 120

Cells = dict[tuple[tuple[str, str], ...], list[Point]]


def metric_at(
    metric: Metric, interval: Interval, readings: TelemetryPoint | None = None
) -> float | None:
    """The metric, or None where the series does not have it."""
    if why_not_in_intervals(metric) or not in_series(metric):
        return None
    if metric.name in READ:
        return READ[metric.name](readings) if readings else None
    if metric.name in RATIO_METRICS:
        return _ratio(metric, interval, readings)
    return value_at(metric, interval)


def _ratio(
    metric: Metric, interval: Interval, readings: TelemetryPoint | None
) -> float | None:
    """What is done for each percent of one CPU, or for each watt."""
    rate, used = (
        metric_at(Metric(name=name), interval, readings)
        for name in RATIO_METRICS[metric.name]
    )
    return rate / used if used and rate is not None else None


def trace_at(
    metric: Metric, interval: Interval, readings: TelemetryPoint | None
) -> float | None:
    """What the rate would be if all I/Os of the replayed traces were done when they
    are due; None of what is no rate, and without a trace."""
    if metric.name not in ("iops", "bandwidth") or metric.stream or not readings:
        return None
    what = "ios" if metric.name == "iops" else "bytes"
    directions = (metric.direction,) if metric.direction else READ_WRITE
    names = (f"trace_{direction}_{what}" for direction in directions)
    each = (getattr(readings, name, None) for name in names)
    found = [amount for amount in each if amount is not None]
    if not found or not interval.length_s:
        return None
    return float(sum(found) / interval.length_s)


class Instant(Struct, frozen=True):
    """An interval, and where in its timeline it ends.

    `counted` are the metrics that are made of the counts of each stream, `step` is the
    name of the run's step.
    """

    t_s: float
    written_bytes: int
    interval: Interval
    readings: TelemetryPoint | None
    counted: dict[Metric, float | None] = {}
    step: str = ""

    def value(self, metric: Metric) -> float | None:
        """The metric; none where nothing measured it, or it is of another step."""
        if not metric.counts(self.step):
            return None
        if in_series(metric):
            return metric_at(metric, self.interval, self.readings)
        return self.counted.get(metric)

    def trace_value(self, metric: Metric) -> float | None:
        """The rate that the replayed traces have here themselves, if any."""
        if not metric.counts(self.step):
            return None
        return trace_at(metric, self.interval, self.readings)


class Failure(Struct, frozen=True):
    """Where in its timeline a run failed or was stopped."""

    t_s: float
    written_bytes: int
    run: RunRecord


class Mark(Struct, frozen=True):
    """Where in its timeline an event began."""

    t_s: float
    event: EventMade


class Window(Struct, frozen=True):
    """A time at which a phase came."""

    name: str
    begin_s: float
    end_s: float


class Timeline(Struct):
    """The runs of a point as one series; `t_s` is since the first of its cell began."""

    point: Point
    instants: list[Instant] = []
    failures: list[Failure] = []
    marks: list[Mark] = []
    phases: list[Window] = []


def timelines(
    points: Sequence[Point], reader: Reader, metrics: Sequence[Metric] = ()
) -> Iterator[Timeline]:
    """A timeline for each point of the first MOST_CELLS cells.

    The steps of one cell share their time. A run begins when it began; on a simulated
    clock, which runs ahead of ours, when the one before has ended.
    """
    for found in list(cells_of(points).values())[:MOST_CELLS]:
        yield from _steps(found, reader, [m for m in metrics if not in_series(m)])


def cells_of(points: Sequence[Point]) -> Cells:
    """Points by their cell, whatever the step."""
    cells: Cells = {}
    for point in points:
        cell = tuple((n, t) for n, t in point.dimensions.items() if n != "step")
        cells.setdefault(cell, []).append(point)
    return cells


def _steps(
    points: Sequence[Point], reader: Reader, metrics: Sequence[Metric]
) -> Iterator[Timeline]:
    """The steps of one cell, in the order of their runs."""
    lines, written = [Timeline(point) for point in points], 0
    for run, line, start_s in placed(lines):
        series, step = list(reader.series(run)), run.asked.name
        counted = _counted(run, reader, metrics)
        for (interval, readings), values in zip(series, counted, strict=False):
            written += interval.bytes.get("write", 0)
            t_s = start_s + interval.t_s
            instant = Instant(t_s, written, interval, readings, values, step)
            line.instants.append(instant)
        if is_cut_short([interval for interval, _ in series]):
            line.instants.pop()
        if run.status != "ok":
            line.failures.append(Failure(start_s + run.run_s, written, run))
    yield from lines


def placed(lines: Sequence[Timeline]) -> Iterator[tuple[RunRecord, Timeline, float]]:
    """The runs of a cell in their order, and when each began; its events are marked."""
    runs = [(run, line) for line in lines for run in line.point.runs]
    runs.sort(key=lambda pair: pair[0].seq)
    begun, end_s = _moment(runs[0][0].started_at), 0.0
    for run, line in runs:
        start_s = max(end_s, (_moment(run.started_at) - begun).total_seconds())
        line.marks += [Mark(start_s + one.start_s, one) for one in run.events]
        line.phases += _phases(run, start_s)
        end_s = start_s + run.run_s
        yield run, line, start_s


def _phases(run: RunRecord, start_s: float) -> Iterator[Window]:
    """Each time that each phase of a run came."""
    for name, result in run.phases.items():
        run_ns = round(run.run_s * SECOND_NS)
        for begin_ns, end_ns in result.when.windows(run_ns) if result.when else ():
            begin_s, end_s = begin_ns / SECOND_NS, end_ns / SECOND_NS
            yield Window(name, start_s + begin_s, start_s + end_s)


def _counted(
    run: RunRecord, reader: Reader, metrics: Sequence[Metric]
) -> Iterator[dict[Metric, float | None]]:
    """These metrics in each interval; endless, and empty for runs without counts."""
    for one in reader.intervals(run) if metrics else ():
        part = Stretch([one])
        yield {metric: part.value(metric) for metric in metrics}
    yield from repeat({})


def joined(lines: Sequence[Timeline]) -> Iterator[Timeline]:
    """The steps of a cell as one timeline."""
    by_cell: dict[tuple[tuple[str, str], ...], list[Timeline]] = {}
    for line in lines:
        (cell,) = cells_of([line.point])
        by_cell.setdefault(cell, []).append(line)
    for cell, found in by_cell.items():
        instants = [instant for line in found for instant in line.instants]
        instants.sort(key=lambda instant: instant.t_s)
        failures = [failure for line in found for failure in line.failures]
        runs = [run for line in found for run in line.point.runs]
        marks = [mark for line in found for mark in line.marks]
        phases = [phase for line in found for phase in line.phases]
        point = replace(found[0].point, dimensions=dict(cell), runs=runs)
        yield Timeline(point, instants, failures, marks, phases)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
