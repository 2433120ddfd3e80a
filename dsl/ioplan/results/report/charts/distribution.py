"""Latency distributions: percentiles, cumulative shares, histograms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate
from math import log10

from ioplan.language.metric import Metric
from ioplan.records.record import BEYOND, PERCENTILES
from ioplan.results.measure.histogram import (
    Histogram,
    bucket_index,
    bucket_middles,
    bucket_range,
)
from ioplan.results.measure.metrics import merged
from ioplan.results.report.charts.axis import latency_scale
from ioplan.results.report.charts.encoding import MOST_DASHES, Datum, framed
from ioplan.results.report.charts.over_axis import failed_note
from ioplan.results.report.charts.request import Request, left_out
from ioplan.results.report.documents import ChartSpec, Column, Scale
from ioplan.results.report.point import Dimensions

Curve = tuple[Dimensions, Histogram]
Draw = Callable[[Request, list[Curve]], ChartSpec]

MOST_CURVES = 120
STEPS = 20
"""Points of a percentile curve for each nine."""
MOST_POINTS = 240
"""The most points of a cumulative curve."""
COARSE_BITS = 3
"""A drawn histogram has eight bars an octave."""
SHARE = Column("y", "share of I/Os", "%")
OF_IOS, OF_TIME = "of I/Os", "of time"


def percentiles(request: Request) -> Iterator[ChartSpec]:
    """Latency over the percentile."""
    return _drawn_of(request, _percentiles)


def cumulative(request: Request) -> Iterator[ChartSpec]:
    """The share of the I/Os up to each latency."""
    return _drawn_of(request, _cumulative)


def histogram(request: Request) -> Iterator[ChartSpec]:
    """How many I/Os took how long."""
    return _drawn_of(request, _histogram)


def _drawn_of(request: Request, draw: Draw) -> Iterator[ChartSpec]:
    curves = list(_histograms(request))
    if curves or any(point.failed for point in request.points):
        yield draw(request, curves)


def _histograms(request: Request) -> Iterator[Curve]:
    """A histogram for each scope that the metrics name, of the first points."""
    scopes = {(m.stream, m.direction): m for m in request.chart.metrics}
    for point in request.points[:MOST_CURVES]:
        samples = [] if point.failed else request.reader.samples(point.counted)
        for metric in scopes.values():
            found = merged(metric, samples)
            if found.total:
                yield {**point.dimensions, "I/Os": _scope(metric)}, found


def _scope(metric: Metric) -> str:
    return " ".join(part for part in (metric.stream, metric.direction) if part) or "all"


def percents(total: int) -> list[float]:
    """Where a percentile curve has points: as far as ten samples lie beyond."""
    if total <= BEYOND:
        return []
    most = log10(total / BEYOND)
    even = [100 - 100 * 10 ** (-n / STEPS) for n in range(int(most * STEPS) + 1)]
    known = [p for p in PERCENTILES if -log10(1 - p / 100) <= most + 1e-9]
    return sorted({round(p, 9) for p in (*even, *known)})


def _percentiles(request: Request, curves: list[Curve]) -> ChartSpec:
    data = []
    for dimensions, histogram in curves:
        asked = percents(histogram.total)
        for percent, latency_ns in zip(
            asked, histogram.percentiles_ns(asked), strict=True
        ):
            nines = -log10(1 - percent / 100)
            data.append(Datum(dimensions, (round(nines, 6), latency_ns, percent)))
    columns = (
        Column("x", "percentile", "nines"),
        Column("y", "latency", "ns"),
        Column("percent", "percentile", "percentile"),
    )
    note = f"each curve ends where fewer than {BEYOND} I/Os remain"
    title = "Latency percentiles"
    return _drawn(request, "percentiles", title, data, columns, "nines", note)


def _cumulative(request: Request, curves: list[Curve]) -> ChartSpec:
    """The share of the I/Os, and the share of the time that all of them took."""
    data = []
    for dimensions, histogram in curves:
        middles = bucket_middles(histogram.bits)[histogram.index].tolist()
        counts = histogram.count.tolist()
        times = [m * c for m, c in zip(middles, counts, strict=True)]
        for weight, amounts in ((OF_IOS, counts), (OF_TIME, times)):
            whole = sum(amounts)
            shares = [100 * part / whole for part in accumulate(amounts)]
            drawn = _thin(list(zip(middles, shares, strict=True)))
            data += [Datum({**dimensions, "metric": weight}, pair) for pair in drawn]
    columns = (Column("x", "latency", "ns"), Column("y", "share", "%"))
    note = "of time: each I/O counts as long as it took"
    title = "Cumulative latency"
    return _drawn(request, "cumulative", title, data, columns, "log", note)


def _thin(pairs: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Every n-th point, and the last one."""
    step = -(-len(pairs) // MOST_POINTS)
    return pairs if step <= 1 else [*pairs[:-1:step], pairs[-1]]


def _histogram(request: Request, curves: list[Curve]) -> ChartSpec:
    data = []
    for dimensions, histogram in curves:
        coarse = _coarse(histogram)
        for wide in range(min(coarse), max(coarse) + 1):
            low, high = bucket_range(wide, COARSE_BITS)
            count = coarse.get(wide, 0)
            share = 100 * count / histogram.total
            data.append(Datum(dimensions, (low, share, high, count)))
    columns = (
        Column("x", "latency", "ns"),
        SHARE,
        Column("x2", "up to", "ns"),
        Column("count", "I/Os", ""),
    )
    title = "Latency histogram"
    return _drawn(request, "histogram", title, data, columns, "log", "")


def _coarse(histogram: Histogram) -> dict[int, int]:
    """Wider buckets, each with what the middles in it count."""
    coarse: dict[int, int] = {}
    pairs = zip(histogram.index.tolist(), histogram.count.tolist(), strict=True)
    for index, count in pairs:
        middle = int(bucket_middles(histogram.bits)[index])
        wide = bucket_index(middle, COARSE_BITS)
        coarse[wide] = coarse.get(wide, 0) + count
    return coarse


def _drawn(
    request: Request,
    kind: str,
    title: str,
    data: list[Datum],
    columns: tuple[Column, ...],
    x_scale: Scale,
    note: str,
) -> ChartSpec:
    dashes = 0 if kind == "histogram" else MOST_DASHES  # areas have none
    per = (*request.per, *request.chart.by)
    failed = failed_note(sum(point.failed for point in request.points))
    more = left_out(len(request.points), MOST_CURVES)
    is_curve = kind == "percentiles"
    scale = latency_scale(one.values[1] for one in data if is_curve)
    return request.picture(
        kind,
        title,
        framed(data, columns, per, dashes=dashes),
        x_scale=x_scale,
        y_scale=request.y_scale(scale),
        notes=tuple(text for text in (*failed, note, more) if text),
    )
