"""Runs over time, or over the bytes written: intervals one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import fmean, median, pstdev

from ioplan.core.units import bytes_text, digits, metric_text, time_text
from ioplan.language.metric import Metric, parse_metric
from ioplan.measure.metrics import RATIO_METRICS
from ioplan.measure.tally import READ_WRITE, moved
from ioplan.records.record import Interval
from ioplan.records.telemetry import TelemetryPoint
from ioplan.report.charts.encoding import MOST_DASHES, Point, framed, together
from ioplan.report.charts.request import (
    Request,
    left_out,
    metric_name,
    metrics_title,
    y_column,
)
from ioplan.report.document import Column, Frame, Picture, Scale, Value
from ioplan.report.points import Spot
from ioplan.report.reader import Reader

READ: dict[str, Callable[[TelemetryPoint], float | None]] = {
    "system_cpu": lambda found: found.system_cpu_percent,
    "stack_cpu": lambda found: found.stack_cpu_percent,
    "cpu": lambda found: found.generator_cpu_percent,
    "watts": lambda found: found.watts,
    "temperature": lambda found: found.temperature_celsius,
}
"""What the telemetry has of an interval."""


def metric_at(
    metric: Metric, point: Interval, readings: TelemetryPoint | None = None
) -> float | None:
    """The metric, or None where the series does not have it.

    As in the record, I/Os and bytes are those of reads and writes; trims count only
    where they are asked for.
    """
    if metric.stream:
        return None  # the series is of all streams together
    if metric.name in READ:
        return READ[metric.name](readings) if readings else None
    if metric.name in RATIO_METRICS:
        return _per(metric, point, readings)
    amounts = {"iops": point.ios, "bandwidth": point.bytes}
    if metric.name in amounts:
        asked = (metric.direction,) if metric.direction else READ_WRITE
        amount = moved(amounts[metric.name], asked)
        return amount / point.length_s if point.length_s else None
    if metric.direction:
        return None  # latencies are of reads and writes together
    kept = {
        "errors": float(point.errors),
        "mean": point.mean_ns,
        "max": float(point.max_ns),
        "p50": point.p50_ns,
        "p99": point.p99_ns,
        "p99.9": point.p99_9_ns,
    }
    return kept.get(metric.name)


def _per(
    metric: Metric, point: Interval, readings: TelemetryPoint | None
) -> float | None:
    """What is done for each percent of one CPU, or for each watt."""
    rate, used = (
        metric_at(Metric(name=n), point, readings) for n in RATIO_METRICS[metric.name]
    )
    return rate / used if used and rate is not None else None


MOST_CURVES = 60
MOST_POINTS = 3000
"""Of one curve; longer ones are drawn in coarser intervals."""
WINDOW = 5
"""The last fifth of a curve is what its mean and spread are of."""
LEAST_FOR_SPREAD = 20
SHORT = 0.25
"""A last interval of less than this share of the usual one says little."""
MOST_TOLD = 6
FAR = 4
"""Latencies that lie this far apart are drawn on a logarithmic axis."""
BANDS = ("p50", "p99", "p99.9", "max")
WRITTEN = Column("x", "written", "B")
ELAPSED = Column("x", "time", "s")


@dataclass(frozen=True)
class Instant:
    """An interval, and where in its curve it lies."""

    t_s: float
    written_bytes: int
    interval: Interval
    readings: TelemetryPoint | None


Curve = tuple[Spot, list[Instant]]


def curves_of(spots: Sequence[Spot], reader: Reader) -> Iterator[Curve]:
    """The intervals of each spot; the steps of one cell share their time.

    A run begins when it began; on a simulated clock, which runs ahead of ours, when
    the one before has ended.
    """
    cells: dict[tuple[tuple[str, str], ...], list[Spot]] = {}
    for spot in spots:
        cell = tuple((n, t) for n, t in spot.place.items() if n != "step")
        cells.setdefault(cell, []).append(spot)
    for found in list(cells.values())[:MOST_CURVES]:
        yield from _steps(found, reader)


def _steps(spots: Sequence[Spot], reader: Reader) -> Iterator[Curve]:
    """The steps of one cell, in the order of their runs."""
    runs = [(record, at) for at, spot in enumerate(spots) for record in spot.records]
    runs.sort(key=lambda run: run[0].seq)
    curves: list[list[Instant]] = [[] for _ in spots]
    begun, end_s, written = _moment(runs[0][0].started_at), 0.0, 0
    for record, at in runs:
        start_s = max(end_s, (_moment(record.started_at) - begun).total_seconds())
        series = list(reader.series(record))
        for interval, readings in series:
            written += interval.bytes.get("write", 0)
            t_s = start_s + interval.t_s
            curves[at].append(Instant(t_s, written, interval, readings))
        if _is_cut_short([interval for interval, _ in series]):
            curves[at].pop()
        end_s = start_s + record.run_s
    yield from zip(spots, curves, strict=True)


def _is_cut_short(series: Sequence[Interval]) -> bool:
    """Whether the end of the run has left too little of the last interval."""
    lengths_s = [interval.length_s for interval in series]
    return len(series) > 1 and lengths_s[-1] < SHORT * median(lengths_s)


def _joined(curves: Sequence[Curve]) -> Iterator[Curve]:
    """The steps of a cell as one curve, the last fifth of which is that of them all."""
    cells: dict[tuple[tuple[str, str], ...], list[Curve]] = {}
    for spot, curve in curves:
        cell = tuple((n, t) for n, t in spot.place.items() if n != "step")
        cells.setdefault(cell, []).append((spot, curve))
    for cell, found in cells.items():
        instants = [instant for _, curve in found for instant in curve]
        instants.sort(key=lambda instant: instant.t_s)
        yield replace(found[0][0], place=dict(cell)), instants


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def over_time(request: Request) -> Iterator[Picture]:
    """Points over time or bytes, a picture for each unit."""
    curves = list(curves_of(request.spots, request.reader))
    if request.chart.kind == "scatter":
        curves = list(_joined(curves))
    for _, metrics in request.by_unit():
        yield _scatter(request, curves, metrics)


def _scatter(
    request: Request,
    curves: list[Curve],
    metrics: list[Metric],
) -> Picture:
    x = WRITTEN if request.chart.by[0] == "bytes" else ELAPSED
    points, windows, coarse = [], [], 1
    for spot, curve in curves:
        for metric in metrics:
            place = {**spot.place, "metric": str(metric)}
            measured = _valued(curve, metric, x)
            drawn, step = _thinned(measured, metric)
            coarse = max(coarse, step)
            points += [Point(place, values) for values in drawn]
            windows += [Point(place, w) for w in _window(measured)]
    dashes = MOST_DASHES if request.chart.kind == "lines" else 0  # points have none
    frame, channels = framed(points, (x, y_column(metrics)), request.per, True, dashes)
    overlay = _overlay(windows, frame, request, dashes)
    over = "bytes written" if x is WRITTEN else "time"
    return Picture(
        kind="lines" if request.chart.kind == "lines" else "scatter",
        title=f"{metrics_title(metrics)} over {over}{request.when}",
        line=request.line,
        frame=frame,
        x="x",
        y="y",
        channels=channels,
        x_scale=request.x_scale("linear"),
        y_scale=request.y_scale(),
        overlay=overlay,
        notes=_notes(request, coarse, windows),
    )


def _valued(
    curve: Sequence[Instant], metric: Metric, x: Column
) -> list[tuple[float, float]]:
    """Where an interval lies, and what it measured."""
    found = []
    for instant in curve:
        value = metric_at(metric, instant.interval, instant.readings)
        if value is not None:
            at = instant.written_bytes if x is WRITTEN else round(instant.t_s, 6)
            found.append((float(at), value))
    return found


def _thinned(
    values: list[tuple[float, float]], metric: Metric
) -> tuple[list[tuple[float, float]], int]:
    """Few enough points: several intervals become one, at its end.

    It has their mean, but of percentiles and extremes the outermost, as those do
    not average.
    """
    step = -(-len(values) // MOST_POINTS)
    if step <= 1:
        return values, 1
    merge = min if metric.name == "min" else max if _is_peak(metric) else fmean
    parts = [values[i : i + step] for i in range(0, len(values), step)]
    return [(p[-1][0], float(merge(v for _, v in p))) for p in parts], step


def _is_peak(metric: Metric) -> bool:
    return metric.percent is not None or metric.name in ("max", "errors", "temperature")


def _window(measured: list[tuple[float, float]]) -> Iterator[tuple[Value, ...]]:
    """Begin and end of the last fifth, its mean, and the mean -+ the deviation."""
    last = measured[-(len(measured) // WINDOW) :]
    if len(measured) < LEAST_FOR_SPREAD:
        return
    values = [value for _, value in last]
    mean, spread = fmean(values), pstdev(values)
    yield (last[0][0], last[-1][0], mean, max(0.0, mean - spread), mean + spread)


def _overlay(
    windows: list[Point], frame: Frame, request: Request, dashes: int
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
    same = [c.key for c in frame.columns[:-2]] == [c.key for c in overlay.columns[:-5]]
    return overlay if same else None


def _notes(request: Request, coarse: int, windows: list[Point]) -> tuple[str, ...]:
    notes = []
    if more := left_out(len(request.spots), MOST_CURVES):
        notes.append(more)
    if coarse > 1:
        notes.append(f"each point stands for {coarse} intervals")
    if windows:
        notes.append("line and band: mean and standard deviation of the last fifth")
    if len(windows) <= MOST_TOLD:
        notes += [_spread(window, request) for window in windows]
    return tuple(notes)


def _spread(window: Point, request: Request) -> str:
    """Mean and deviation in words."""
    start, end, mean, _, high = (float(value or 0) for value in window.values)
    metric = parse_metric(window.place["metric"])
    share = 100 * (high - mean) / mean if mean else 0.0
    from_to = (
        f"{bytes_text(start)} to {bytes_text(end)}"
        if request.chart.by[0] == "bytes"
        else f"{time_text(start)} to {time_text(end)}"
    )
    names = ("session", "metric")
    rest = together({n: t for n, t in window.place.items() if n not in names})
    where = f"{window.place['session']}, {rest}" if rest else window.place["session"]
    return (
        f"{where}, {from_to}: {metric_name(metric)} "
        f"{metric_text(mean, metric.unit)}, deviation {digits(share)} %"
    )


def bands_over_time(request: Request) -> Iterator[Picture]:
    """Percentiles of each interval, one above the other."""
    metrics = [Metric(name=name) for name in BANDS]
    points, coarse = [], 1
    for spot, curve in curves_of(request.spots, request.reader):
        columns = []
        for metric in metrics:
            drawn, step = _thinned(_valued(curve, metric, ELAPSED), metric)
            columns.append(drawn)
            coarse = max(coarse, step)
        points += [
            Point(spot.place, (rows[0][0], *(value for _, value in rows)))
            for rows in zip(*columns, strict=False)
        ]
    named = [Column(f"y{n}", m.name, "ns") for n, m in enumerate(metrics)]
    frame, channels = framed(points, (ELAPSED, *named), colored=False)
    yield Picture(
        kind="bands",
        title=f"Latency percentiles over time{request.when}",
        line=request.line,
        frame=frame,
        x="x",
        y="y0",
        channels=channels,
        y_scale=_spread_scale(points),
        notes=_notes(request, coarse, []),
    )


def _spread_scale(points: Sequence[Point]) -> Scale:
    """Logarithmic where the figures lie far apart; else it shows noise as a cliff."""
    found = [v for p in points for v in p.values[1:] if isinstance(v, (int, float))]
    return "log" if found and max(found) > FAR * min(found) else "linear"
