"""Charts of runs over time, or over the bytes written: a point an interval.

The runs of a cell follow one another. Events of the lab are lines across a picture, and
the phases that all of its cells share are bands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from itertools import chain, pairwise, repeat
from math import inf
from statistics import fmean, pstdev
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.grouping import grouped
from ioplan.core.units import bytes_text, metric_text, spread_text, time_text
from ioplan.job import SECOND_NS
from ioplan.language.metric import Metric, why_not_in_intervals
from ioplan.records.record import Interval, RunRecord
from ioplan.records.telemetry import TelemetryPoint
from ioplan.results.measure.metrics import RATIO_METRICS, Stretch
from ioplan.results.measure.over_time import (
    LEAST_FOR_SPREAD,
    is_cut_short,
    is_steered,
)
from ioplan.results.measure.series import changes, in_series, value_at
from ioplan.results.measure.tally import READ_WRITE
from ioplan.results.report.charts.axis import latency_scale
from ioplan.results.report.charts.request import (
    Datum,
    Request,
    capital,
    left_out,
    metric_name,
    metrics_title,
    of_metric,
    scoped_name,
    together,
    untitled,
    without,
    y_column,
)
from ioplan.results.report.documents import FAILED, ChartSpec, Column, Frame, Value
from ioplan.results.report.point import Dimensions, Point, is_of

MOST_CELLS = 120
MOST_POINTS = 3000
"""The most points of one curve; longer ones are drawn in coarser intervals."""
MOST_IN_ALL = 60_000
"""The most points of all curves of a chart together."""
WINDOW = 5
"""The last fifth of a curve is what its mean and spread are of."""
MOST_SPREADS = 6
BANDS = ("p50", "p99", "p99.9", "max")
PEAKS = ("max", "errors", "temperature")
ELAPSED, WRITTEN = Column("x", "time", "s"), Column("x", "written", "B")
OF_TRACE = "of the trace"
"""Ends the name of the line that a replayed trace has itself."""
RATE = Metric(name="iops")
READINGS = {
    "system_cpu": "system_cpu_percent",
    "stack_cpu": "stack_cpu_percent",
    "cpu": "generator_cpu_percent",
    "watts": "watts",
    "temperature": "temperature_celsius",
}
"""What the telemetry has of an interval."""

Measured = Sequence[tuple[float, float]]
"""Where intervals end, and what they measured."""


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

    def at_s(self, time_ns: float) -> float:
        return round(self.start_s + time_ns / SECOND_NS, 6)

    @property
    def phases(self) -> Iterator[Phase]:
        run_ns = round(self.run.run_s * SECOND_NS)
        for name, result in self.run.phases.items():
            for times_ns in result.when.windows(run_ns) if result.when else ():
                begin_s, end_s = (self.start_s + ns / SECOND_NS for ns in times_ns)
                yield Phase(name, begin_s, end_s)


Cell = list[TimedRun]


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


# The intervals of a cell.


class Moment(NamedTuple):
    """An interval of a step, from `begin` until `at` along x.

    Runs may be without telemetry, and without counts of their intervals.
    """

    begin: float
    at: float
    step: str
    interval: Interval
    readings: TelemetryPoint | None
    counts: Stretch | None

    def value(self, metric: Metric) -> float | None:
        if not metric.counts(self.step):
            return None
        if self.counts and not in_series(metric):
            return self.counts.value(metric)
        return metric_at(metric, self.interval, self.readings)

    def traced(self, metric: Metric) -> float | None:
        """The rate if all I/Os of the replayed traces were done when they are due; None
        of what is no rate, and without a trace."""
        has_rate = metric.name in ("iops", "bandwidth") and metric.counts(self.step)
        if not has_rate or metric.stream or not self.readings:
            return None
        what = "ios" if metric.name == "iops" else "bytes"
        directions = (metric.direction,) if metric.direction else READ_WRITE
        names = (f"trace_{direction}_{what}" for direction in directions)
        amounts = [getattr(self.readings, name, None) for name in names]
        present = [amount for amount in amounts if amount is not None]
        length_s = self.interval.length_s
        return float(sum(present) / length_s) if present and length_s else None


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


class Timeline(Struct, dict=True):
    """The intervals of the runs of a point, and where runs ended early, and how."""

    point: Point
    moments: list[Moment] = []
    failures: list[tuple[float, str]] = []

    @cached_property
    def rates(self) -> Measured:
        """What is looked at for changes: latencies change where it does."""
        return self.measured(RATE)

    @cached_property
    def begins(self) -> dict[float, float]:
        """Where intervals begin, by where they end."""
        return {moment.at: moment.begin for moment in reversed(self.moments)}

    def measured(self, metric: Metric) -> Measured:
        return _known((moment.at, moment.value(metric)) for moment in self.moments)

    def traced(self, metric: Metric) -> Measured:
        return _known((moment.at, moment.traced(metric)) for moment in self.moments)


def _known(pairs: Iterable[tuple[float, float | None]]) -> Measured:
    return [(at, value) for at, value in pairs if value is not None]


def _timelines(
    cells: Sequence[Cell],
    request: Request,
    metrics: Sequence[Metric],
    is_joined: bool = False,
) -> Iterator[Timeline]:
    """A timeline for each step of the cells, or one for all steps of a cell."""
    in_counts = not all(map(in_series, metrics))
    for cell in cells:
        lines, written = dict[str, Timeline](), 0.0
        first = cell[0].point
        dimensions = without(first.dimensions, "step")
        every = replace(first, dimensions=dimensions, runs=[run for run, *_ in cell])
        for timed in cell:
            point = every if is_joined else timed.point
            line = lines.setdefault(point.dimensions.get("step", ""), Timeline(point))
            written = _extend(line, timed, written, request, in_counts)
        yield from lines.values()


def _extend(
    line: Timeline, timed: TimedRun, written: float, request: Request, in_counts: bool
) -> float:
    """Add the intervals of a run; returns what is written after it."""
    run, series = timed.run, list(request.reader.series(timed.run))
    intervals = request.reader.intervals(run) if in_counts else ()
    counts = chain((Stretch([i]) for i in intervals), repeat(None))
    moments = []
    for (interval, readings), own in zip(series, counts, strict=False):
        begin, at = written, written + interval.bytes.get("write", 0)
        written = at
        if request.by != "bytes":
            at = round(timed.start_s + interval.t_s, 6)
            begin = round(at - interval.length_s, 6)
        moments.append(Moment(begin, at, run.asked.name, interval, readings, own))
    is_cut = is_cut_short([interval for interval, _ in series])
    line.moments += moments[: len(series) - is_cut]
    if run.status != "ok":
        end_s = round(timed.start_s + run.run_s, 6)
        line.failures.append((written if request.by == "bytes" else end_s, run.status))
    return written


# Their curves.


class _Curves(Struct):
    """The rows of a chart; `coarse` intervals became one point of `most` in a curve."""

    most: int
    data: list[Datum] = []
    windows: list[Datum] = []
    coarse: int = 1
    failures: int = 0
    absent: set[str] = set()

    def thinned(self, values: Measured, metric: Metric) -> Measured:
        """Few enough points: several intervals become one, at its end.

        It has their mean, but of percentiles and extremes the outermost, as those do
        not average.
        """
        step = -(-len(values) // self.most)
        if step <= 1:
            return values
        self.coarse = max(self.coarse, step)
        peaks = metric.percent is not None or metric.name in PEAKS
        merge = min if metric.name == "min" else max if peaks else fmean
        parts = [values[i : i + step] for i in range(0, len(values), step)]
        return [(p[-1][0], float(merge(v for _, v in p))) for p in parts]

    def add(self, line: Timeline, metric: Metric) -> None:
        """The measured intervals, those of a trace, where the line ends early, and its
        level at last."""
        dimensions = of_metric(line.point.dimensions, metric)
        measured, trace = line.measured(metric), line.traced(metric)
        if line.moments and not measured:
            self.absent.add(str(metric))
        own = dimensions | {"metric": f"{metric} {OF_TRACE}"}
        for values, named in ((trace, own), (measured, dimensions)):  # the last on top
            self.data += [Datum(named, pair) for pair in self.thinned(values, metric)]
        self.add_failures(line, dimensions, 1)
        if not (line.failures or trace):  # what a trace steers has no level of its own
            self.windows += (
                Datum(dimensions, _window(line.begins[part[0][0]], part))
                for part in _levels(line, measured)
            )

    def add_failures(self, line: Timeline, dimensions: Dimensions, values: int) -> None:
        for at, status in line.failures:
            self.data.append(Datum(dimensions, (at, *[None] * values), status))


def _most(curves: int) -> int:
    return min(MOST_POINTS, MOST_IN_ALL // max(1, curves))


def over_time(request: Request) -> Iterator[ChartSpec]:
    cells = timed_cells(request.points)[:MOST_CELLS]
    is_joined, metrics = request.marks == "scatter", request.chart.metrics
    lines = list(_timelines(cells, request, metrics, is_joined))
    for few in request.units:
        picture = _points(request, lines, few)
        yield picture if request.by == "bytes" else annotated(picture, cells)


def _points(
    request: Request, lines: list[Timeline], metrics: list[Metric]
) -> ChartSpec:
    x, over = ELAPSED, "time"
    if request.by == "bytes":
        x, over = WRITTEN, "bytes written"
    replays = any(line.traced(RATE) for line in lines)
    curves = _Curves(_most(len(lines) * len(metrics) * (1 + replays)))
    for line in lines:
        curves.failures += len(line.failures)
        for metric in metrics:
            if request.marks == "scatter" or is_of(metric.step, line.point):
                curves.add(line, metric)
    picture = request.picture(
        "lines" if request.marks == "lines" else "scatter",
        f"{metrics_title(metrics)} over {over}",
        curves.data,
        (x, y_column(metrics)),
        over=curves.windows,
        over_keys=("x", "x2", "mean", "low", "high"),
        x_scale=request.x_scale("linear"),
        y_scale=request.y_scale(),
    )
    has_levels = picture.overlay is not None
    return replace(picture, notes=_notes(request, curves, has_levels))


def _levels(line: Timeline, measured: Measured) -> list[Measured]:
    """What it measured, apart where the rate changes; else its last fifth."""
    rates = line.rates
    is_level = is_steered(line.point.counted)
    cuts = [] if is_level else changes([value for _, value in rates])
    if cuts:
        ends = (-inf, *(rates[cut][0] for cut in cuts), inf)
        parts = [[m for m in measured if a <= m[0] < b] for a, b in pairwise(ends)]
        return [part for part in parts if part]
    if len(measured) < LEAST_FOR_SPREAD:
        return []
    return [measured[-(len(measured) // WINDOW) :]]


def _window(begin: float, part: Measured) -> tuple[Value, ...]:
    values = [value for _, value in part]
    mean, spread = fmean(values), pstdev(values)
    return (begin, part[-1][0], mean, max(0.0, mean - spread), mean + spread)


def _notes(request: Request, curves: _Curves, has_levels: bool) -> tuple[str, ...]:
    windows, absent = curves.windows, ", ".join(sorted(curves.absent))
    places = {tuple(window.dimensions.items()) for window in windows}
    is_cut = len(places) < len(windows)  # a curve whose rate changed has several
    of = f"{'before and after the rate changed, else ' * is_cut}of the last fifth"
    notes = {
        f"{FAILED} where a run failed or was stopped": curves.failures,
        left_out(len(request.points), MOST_CELLS): True,
        f"not counted in the intervals of some runs: {absent}": absent,
        f"each point stands for {curves.coarse} intervals": curves.coarse > 1,
        f"line and band: mean and standard deviation {of}": has_levels,
    }
    few = windows if len(windows) <= MOST_SPREADS else ()
    spreads = (_spread(window, request) for window in few)
    return (*(note for note, is_so in notes.items() if note and is_so), *spreads)


def _spread(window: Datum, request: Request) -> str:
    start, end, mean, _, high = (float(value or 0) for value in window.values)
    where = window.dimensions
    metric = next(m for m in request.chart.metrics if str(m) == where["metric"])
    share = 100 * (high - mean) / mean if mean else 0.0
    text = bytes_text if request.by == "bytes" else time_text
    place = together(without(where, "session", "metric"))
    return (
        f"{', '.join(filter(None, (where['session'], place)))}, {text(start)} to "
        f"{text(end)}: {metric_name(metric)} {metric_text(mean, metric.unit)}"
        f"{spread_text(share)}"
    )


def bands_over_time(request: Request) -> Iterator[ChartSpec]:
    """Percentiles of each interval, one above the other, for what is asked for."""
    metrics = request.chart.metrics or (RATE,)
    for scope in dict.fromkeys(replace(m, name="", sought=None) for m in metrics):
        yield _bands(request, [replace(scope, name=name) for name in BANDS])


def _bands(request: Request, metrics: Sequence[Metric]) -> ChartSpec:
    cells = timed_cells(request.points)[:MOST_CELLS]
    lines = list(_timelines(cells, request, metrics))
    curves = _Curves(_most(len(lines)))
    for line in lines:
        if not is_of(metrics[0].step, line.point):
            continue
        dimensions = line.point.dimensions
        every = [(m.at, [m.value(metric) for metric in metrics]) for m in line.moments]
        busy = [(at, values) for at, values in every if values[0] is not None]
        columns = []
        for column, metric in enumerate(metrics):
            pairs = _known((at, values[column]) for at, values in busy)
            columns.append(curves.thinned(pairs, metric))
        for rows in zip(*columns, strict=True):
            values = rows[0][0], *(value for _, value in rows)
            curves.data.append(Datum(dimensions, values))
        curves.failures += len(line.failures)
        curves.add_failures(line, dimensions, len(metrics))
    named = [Column(f"y{n}", m.name, "ns") for n, m in enumerate(metrics)]
    picture = request.picture(
        "bands",
        f"{capital(scoped_name(metrics[0], 'latency percentiles'))} over time",
        curves.data,
        (ELAPSED, *named),
        y="y0",
        y_scale=latency_scale(v for d in curves.data for v in d.values[1:]),
        notes=_notes(request, curves, False),
    )
    return annotated(picture, cells)


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
    events = [
        (timed.start_s + event.start_s, event.name)
        for cell in cells
        for timed in cell
        for event in timed.run.events
    ]
    times = {(round(t_s, 2), name): t_s for t_s, name in events}
    marks = [(times[key], None, key[1]) for key in sorted(times)][:MOST_EVENTS]
    if marks:
        notes = [f"┊ {name}, at {time_text(t_s)}" for t_s, _, name in marks]
        if more := len(times) - len(marks):
            notes.append(f"{more} more events are not drawn")
        limits = Frame(untitled(picture.x, picture.y, "limit"), marks)
        picture = replace(picture, limits=limits, notes=(*picture.notes, *notes))
    return with_phases(picture, cells)


def with_phases(
    picture: ChartSpec, cells: Sequence[Cell], starts: Starts | None = None
) -> ChartSpec:
    """`starts` are the columns of a picture that has these, and when each begins."""
    phases, note = _shared_phases(cells)
    if not phases:
        return replace(picture, notes=(*picture.notes, note)) if note else picture
    x, names = picture.frame.column("x"), tuple(dict.fromkeys(p.name for p in phases))
    rows: list[tuple[Value, ...]] = [
        (round(begin_s, 6), round(end_s, 6), name) for name, begin_s, end_s in phases
    ]
    until = Column("x2", "until", x.unit)
    if starts is not None:
        rows, until = list(_in_columns(phases, starts)), Column("x2", "", "hidden")
    columns = x, until, Column("phase", "phase", "text", names)
    return replace(picture, phases=Frame(columns, rows))


def _in_columns(phases: Sequence[Phase], starts: Starts) -> Iterator[tuple[Value, ...]]:
    ends = [*(begin_s for _, begin_s in starts[1:]), inf]
    for name, own in grouped(phases, lambda phase: phase.name).items():
        for (text, begin_s), end_s in zip(starts, ends, strict=False):
            if any(p.begin_s < end_s - 1e-6 and begin_s < p.end_s - 1e-6 for p in own):
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
