"""Charts of runs over time, or over the bytes written: a point an interval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, pairwise
from math import inf
from statistics import fmean, pstdev

from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.units import bytes_text, metric_text, spread_text, time_text
from ioplan.language.metric import Metric
from ioplan.results.measure.over_time import LEAST_FOR_SPREAD, is_steered
from ioplan.results.measure.series import changes
from ioplan.results.report.charts.axis import latency_scale
from ioplan.results.report.charts.encoding import MOST_DASHES, Datum, together, without
from ioplan.results.report.charts.request import (
    Request,
    capital,
    left_out,
    metric_name,
    metrics_title,
    scoped_name,
    y_column,
)
from ioplan.results.report.charts.timeline import (
    RATE,
    Timeline,
    annotated,
    timed_cells,
    timelines,
)
from ioplan.results.report.documents import FAILED, ChartSpec, Column, Value
from ioplan.results.report.point import Dimensions, is_of

MOST_CELLS = 120
MOST_POINTS = 3000
"""The most points of one curve; longer ones are drawn in coarser intervals."""
MOST_IN_ALL = 60_000
"""The most points of all curves of a chart together."""
WINDOW = 5
"""The last fifth of a curve is what its mean and spread are of."""
MOST_SPREADS = 6
BANDS = ("p50", "p99", "p99.9", "max")
WRITTEN = Column("x", "written", "B")
ELAPSED = Column("x", "time", "s")
OF_TRACE = "of the trace"
"""Ends the name of the line that a replayed trace has itself."""

Measured = Sequence[tuple[float, float]]


class _Curves(Struct):
    """The rows of a chart; `coarse` intervals became one point of `most` in a curve."""

    x: Column
    most: int
    data: list[Datum] = []
    windows: list[Datum] = []
    coarse: int = 1
    failures: int = 0
    absent: set[str] = set()

    def measured(
        self, line: Timeline, column: Iterable[float | None]
    ) -> list[tuple[float, float]]:
        """Where each interval lies, and what it measured."""
        places = line.written if self.x is WRITTEN else line.t_s
        pairs = zip(places, column, strict=True)
        return [(at, value) for at, value in pairs if value is not None]

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

    def add_failures(self, line: Timeline, dimensions: Dimensions, values: int) -> None:
        for t_s, written, status in line.failures:
            at = written if self.x is WRITTEN else t_s
            self.data.append(Datum(dimensions, (at, *[None] * values), status))


PEAKS = ("max", "errors", "temperature")


def over_time(request: Request) -> Iterator[ChartSpec]:
    """Points over time or bytes, a picture for each unit."""
    cells = timed_cells(request.points)[:MOST_CELLS]
    is_scatter, metrics = request.marks == "scatter", request.chart.metrics
    lines = list(timelines(cells, request.reader, metrics, is_scatter))
    for few in request.units:
        picture = _points(request, lines, few)
        yield picture if request.by == "bytes" else annotated(picture, cells)


def _points(
    request: Request, lines: list[Timeline], metrics: list[Metric]
) -> ChartSpec:
    x, is_scatter = ELAPSED, request.marks != "lines"
    if request.by == "bytes":
        x = WRITTEN
    replays = any(rate is not None for line in lines for rate in line.traced[RATE])
    curves = _Curves(x, _most(len(lines) * len(metrics) * (2 if replays else 1)))
    for line in lines:
        curves.failures += len(line.failures)
        for metric in metrics:
            if request.marks == "scatter" or is_of(metric.step, line.point):
                _add(curves, line, metric)
    over, y = "bytes written" if x is WRITTEN else "time", y_column(metrics)
    picture = request.picture(
        "scatter" if is_scatter else "lines",
        f"{metrics_title(metrics)} over {over}",
        curves.data,
        (x, y),
        dashes=0 if is_scatter else MOST_DASHES,  # points have none
        over=curves.windows,
        over_columns=(
            Column("x", "from", x.unit),
            Column("x2", "to", x.unit),
            Column("mean", "mean", y.unit),
            Column("low", "mean − deviation", y.unit),
            Column("high", "mean + deviation", y.unit),
        ),
        x_scale=request.x_scale("linear"),
        y_scale=request.y_scale(),
    )
    has_levels = picture.overlay is not None
    return replace(picture, notes=_notes(request, curves, has_levels))


def _add(curves: _Curves, line: Timeline, metric: Metric) -> None:
    """The measured intervals, those of a trace, where the line ends early, and its
    level at last."""
    dimensions = line.point.dimensions | {"metric": str(metric)}
    if metric.step:
        dimensions = without(dimensions, "step")
    measured = curves.measured(line, line.values[metric])
    if line.t_s and not measured:
        curves.absent.add(str(metric))
    trace = curves.measured(line, line.traced[metric])
    own = dimensions | {"metric": f"{metric} {OF_TRACE}"}
    for values, named in ((trace, own), (measured, dimensions)):  # the last is on top
        curves.data += [Datum(named, pair) for pair in curves.thinned(values, metric)]
    curves.add_failures(line, dimensions, 1)
    if not (line.failures or trace):  # what a trace steers has no level of its own
        for part in _levels(curves, line, measured):
            curves.windows.append(Datum(dimensions, _window(part)))


def _most(curves: int) -> int:
    return min(MOST_POINTS, MOST_IN_ALL // max(1, curves))


def _levels(curves: _Curves, line: Timeline, measured: Measured) -> list[Measured]:
    """What it measured, apart where the rate changes; else its last fifth."""
    rates = curves.measured(line, line.values[RATE])
    is_level = is_steered(line.point.counted)
    cuts = [] if is_level else changes([value for _, value in rates])
    if cuts:
        ends = (-inf, *(rates[cut][0] for cut in cuts), inf)
        parts = [[m for m in measured if a <= m[0] < b] for a, b in pairwise(ends)]
        return [part for part in parts if part]
    if len(measured) < LEAST_FOR_SPREAD:
        return []
    return [measured[-(len(measured) // WINDOW) :]]


def _window(part: Measured) -> tuple[Value, ...]:
    """Begin and end of a part, its mean, and the mean -+ the deviation."""
    values = [value for _, value in part]
    mean, spread = fmean(values), pstdev(values)
    return (part[0][0], part[-1][0], mean, max(0.0, mean - spread), mean + spread)


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
    lines = list(timelines(cells, request.reader, metrics))
    curves = _Curves(ELAPSED, _most(len(lines)))
    for line in lines:
        if not is_of(metrics[0].step, line.point):
            continue
        dimensions = line.point.dimensions
        mask = [value is not None for value in line.values[metrics[0]]]
        line.t_s = list(compress(line.t_s, mask))
        columns = [
            curves.thinned(curves.measured(line, compress(line.values[m], mask)), m)
            for m in metrics
        ]
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
        colored=False,
        y="y0",
        y_scale=latency_scale(v for d in curves.data for v in d.values[1:]),
        notes=_notes(request, curves, False),
    )
    return annotated(picture, cells)
