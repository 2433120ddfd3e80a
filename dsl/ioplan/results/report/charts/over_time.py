"""Charts of runs over time, or over the bytes written: a point an interval."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import inf
from statistics import fmean, pstdev

from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.units import bytes_text, metric_text, spread_text, time_text
from ioplan.language.metric import Metric
from ioplan.results.measure.over_time import LEAST_FOR_SPREAD, is_steered
from ioplan.results.measure.series import changes
from ioplan.results.report.charts.axis import latency_scale
from ioplan.results.report.charts.encoding import (
    MOST_DASHES,
    Datum,
    framed,
    same_dimensions,
    together,
)
from ioplan.results.report.charts.latencies import with_events
from ioplan.results.report.charts.phases import with_phases
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
    MOST_CELLS,
    Instant,
    Timeline,
    joined,
    timelines,
)
from ioplan.results.report.documents import (
    FAILED,
    ChartSpec,
    Column,
    Frame,
    Value,
)
from ioplan.results.report.point import Dimensions, is_of

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
RATE = Metric(name="iops")
"""What is looked at for changes: latencies change where it does."""

Measured = Sequence[tuple[float, float]]


class _Drawn(Struct):
    """What a chart has been given so far; `coarse` intervals became one point.

    `most` is how many points a curve may have.
    """

    most: int = MOST_POINTS
    data: list[Datum] = []
    windows: list[Datum] = []
    coarse: int = 1
    failures: int = 0
    absent: set[str] = set()


def over_time(request: Request) -> Iterator[ChartSpec]:
    """Points over time or bytes, a picture for each unit."""
    lines = list(timelines(request.points, request.reader, request.chart.metrics))
    if request.marks == "scatter":
        lines = list(joined(lines))
    for _, metrics in request.by_unit():
        yield _scatter(request, lines, metrics)


def _scatter(
    request: Request, lines: list[Timeline], metrics: list[Metric]
) -> ChartSpec:
    x = WRITTEN if request.by == "bytes" else ELAPSED
    drawn = _Drawn(_most(len(lines) * len(metrics) * (2 if _replays(lines) else 1)))
    for line in lines:
        drawn.failures += len(line.failures)
        for metric in metrics:
            if is_of(metric.step, line.point) or request.marks == "scatter":
                _add(drawn, line, metric, x)
    dashes = MOST_DASHES if request.marks == "lines" else 0  # points have none
    columns = (x, y_column(metrics))
    frame, channels = framed(drawn.data, columns, request.per, True, dashes)
    overlay = _overlay(drawn.windows, frame, request, dashes)
    over = "bytes written" if x is WRITTEN else "time"
    picture = request.picture(
        "lines" if request.marks == "lines" else "scatter",
        f"{metrics_title(metrics)} over {over}",
        (frame, channels),
        x_scale=request.x_scale("linear"),
        y_scale=request.y_scale(),
        overlay=overlay,
        notes=_notes(request, drawn, overlay),
    )
    return picture if x is WRITTEN else with_phases(with_events(picture, lines), lines)


def _add(drawn: _Drawn, line: Timeline, metric: Metric, x: Column) -> None:
    """The measured intervals, those of a trace, where the line ends early, and its
    level at last."""
    dimensions = {**line.point.dimensions, "metric": str(metric)}
    if metric.step:
        dimensions.pop("step", None)
    measured = _measured(line.instants, metric, x)
    if line.instants and not measured:
        drawn.absent.add(str(metric))
    trace = _measured(line.instants, metric, x, Instant.trace_value)
    own = {**dimensions, "metric": f"{metric} {OF_TRACE}"}
    for values, named in ((trace, own), (measured, dimensions)):  # the last is on top
        kept, step = _thinned(values, metric, drawn.most)
        drawn.coarse = max(drawn.coarse, step)
        drawn.data += [Datum(named, one) for one in kept]
    drawn.data += _failures(line, dimensions, x, 1)
    if not (line.failures or trace):  # what a trace steers has no level of its own
        parts = _levels(line, measured, x)
        drawn.windows += [Datum(dimensions, _window(part)) for part in parts]


def _failures(
    line: Timeline, dimensions: Dimensions, x: Column, values: int
) -> Iterator[Datum]:
    """Where runs failed or were stopped."""
    for one in line.failures:
        at = one.written_bytes if x is WRITTEN else round(one.t_s, 6)
        nothing = (None,) * values
        yield Datum(dimensions, (float(at), *nothing), one.run.status)


def _replays(lines: Sequence[Timeline]) -> bool:
    """Whether the rates of traces are drawn, too."""
    return any(
        one.trace_value(RATE) is not None for line in lines for one in line.instants
    )


def _measured(
    instants: Sequence[Instant],
    metric: Metric,
    x: Column,
    read: Callable[[Instant, Metric], float | None] = Instant.value,
) -> list[tuple[float, float]]:
    """Where an interval lies, and what it measured."""
    found = []
    for instant in instants:
        value = read(instant, metric)
        if value is not None:
            at = instant.written_bytes if x is WRITTEN else round(instant.t_s, 6)
            found.append((float(at), value))
    return found


def _most(curves: int) -> int:
    """How many points each of so many curves may have."""
    return min(MOST_POINTS, MOST_IN_ALL // max(1, curves))


def _thinned(
    values: list[tuple[float, float]], metric: Metric, most: int
) -> tuple[list[tuple[float, float]], int]:
    """Few enough points: several intervals become one, at its end.

    It has their mean, but of percentiles and extremes the outermost, as those do
    not average.
    """
    step = -(-len(values) // most)
    if step <= 1:
        return values, 1
    merge = min if metric.name == "min" else max if _is_peak(metric) else fmean
    parts = [values[i : i + step] for i in range(0, len(values), step)]
    return [(p[-1][0], float(merge(v for _, v in p))) for p in parts], step


def _is_peak(metric: Metric) -> bool:
    return metric.percent is not None or metric.name in ("max", "errors", "temperature")


def _levels(line: Timeline, measured: Measured, x: Column) -> list[Measured]:
    """What it measured, apart where the rate changes; else its last fifth."""
    found = _measured(line.instants, RATE, x)
    steered = is_steered(line.point.counted)
    cuts = [] if steered else changes([value for _, value in found])
    if cuts:
        ends = (*(found[cut][0] for cut in cuts), inf)
        parts = [
            [one for one in measured if a <= one[0] < b]
            for a, b in pairwise((-inf, *ends))
        ]
        return [part for part in parts if part]
    if len(measured) < LEAST_FOR_SPREAD:
        return []
    return [measured[-(len(measured) // WINDOW) :]]


def _window(part: Measured) -> tuple[Value, ...]:
    """Begin and end of a part, its mean, and the mean -+ the deviation."""
    values = [value for _, value in part]
    mean, spread = fmean(values), pstdev(values)
    return (part[0][0], part[-1][0], mean, max(0.0, mean - spread), mean + spread)


def _overlay(
    windows: list[Datum], frame: Frame, request: Request, dashes: int
) -> Frame | None:
    """The windows with the same dimensions as the points."""
    if not windows:
        return None
    columns = (
        Column("x", "from", frame.column("x").unit),
        Column("x2", "to", frame.column("x").unit),
        Column("mean", "mean", frame.column("y").unit),
        Column("low", "mean − deviation", frame.column("y").unit),
        Column("high", "mean + deviation", frame.column("y").unit),
    )
    overlay, _ = framed(windows, columns, request.per, True, dashes)
    return overlay if same_dimensions(frame, overlay) else None


def _notes(
    request: Request, drawn: _Drawn, overlay: Frame | None = None
) -> tuple[str, ...]:
    notes = [f"{FAILED} where a run failed or was stopped"] if drawn.failures else []
    if more := left_out(len(request.points), MOST_CELLS):
        notes.append(more)
    if drawn.absent:
        named = ", ".join(sorted(drawn.absent))
        notes.append(f"not counted in the intervals of some runs: {named}")
    if drawn.coarse > 1:
        notes.append(f"each point stands for {drawn.coarse} intervals")
    if overlay:
        notes.append(f"line and band: mean and standard deviation {_of_what(drawn)}")
    if len(drawn.windows) <= MOST_SPREADS:
        notes += [_spread(window, request) for window in drawn.windows]
    return tuple(notes)


def _of_what(drawn: _Drawn) -> str:
    """What a window's figures are of; a curve whose rate changed has several."""
    curves = {tuple(window.dimensions.items()) for window in drawn.windows}
    if len(curves) == len(drawn.windows):
        return "of the last fifth"
    return "before and after the rate changed, else of the last fifth"


def _spread(window: Datum, request: Request) -> str:
    """Mean and deviation in words."""
    start, end, mean, _, high = (float(value or 0) for value in window.values)
    where = window.dimensions
    metric = next(m for m in request.chart.metrics if str(m) == where["metric"])
    share = 100 * (high - mean) / mean if mean else 0.0
    from_to = (
        f"{bytes_text(start)} to {bytes_text(end)}"
        if request.by == "bytes"
        else f"{time_text(start)} to {time_text(end)}"
    )
    names = ("session", "metric")
    rest = together({n: t for n, t in where.items() if n not in names})
    place = f"{where['session']}, {rest}" if rest else where["session"]
    return (
        f"{place}, {from_to}: {metric_name(metric)} "
        f"{metric_text(mean, metric.unit)}{spread_text(share)}"
    )


def bands_over_time(request: Request) -> Iterator[ChartSpec]:
    """Percentiles of each interval, one above the other, for what is asked for."""
    asked = request.chart.metrics or (RATE,)
    scopes = dict.fromkeys(replace(one, name="", sought=None) for one in asked)
    for scope in scopes:
        yield _bands(request, [replace(scope, name=name) for name in BANDS])


def _bands(request: Request, metrics: Sequence[Metric]) -> ChartSpec:
    lines = list(timelines(request.points, request.reader, metrics))
    drawn = _Drawn(_most(len(lines)))
    for line in lines:
        if not is_of(metrics[0].step, line.point):
            continue
        some = [one for one in line.instants if one.value(metrics[0]) is not None]
        columns = []
        for metric in metrics:
            kept, step = _thinned(_measured(some, metric, ELAPSED), metric, drawn.most)
            columns.append(kept)
            drawn.coarse = max(drawn.coarse, step)
        drawn.data += [
            Datum(line.point.dimensions, (rows[0][0], *(value for _, value in rows)))
            for rows in zip(*columns, strict=True)
        ]
        drawn.failures += len(line.failures)
        drawn.data += _failures(line, line.point.dimensions, ELAPSED, len(metrics))
    named = [Column(f"y{n}", m.name, "ns") for n, m in enumerate(metrics)]
    picture = request.picture(
        "bands",
        f"{capital(scoped_name(metrics[0], 'latency percentiles'))} over time",
        framed(drawn.data, (ELAPSED, *named), colored=False),
        y="y0",
        y_scale=latency_scale(v for d in drawn.data for v in d.values[1:]),
        notes=_notes(request, drawn),
    )
    return with_phases(with_events(picture, lines), lines)
