"""Latency distributions: percentiles, cumulative shares, histograms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate
from math import log10
from typing import NamedTuple

from ioplan.language.metric import Metric
from ioplan.records.record import BEYOND, PERCENTILES
from ioplan.results.measure.histogram import (
    Histogram,
    bucket_middles,
    bucket_range,
)
from ioplan.results.measure.metrics import merged
from ioplan.results.report.charts.axis import latency_scale
from ioplan.results.report.charts.over_axis import failed_note
from ioplan.results.report.charts.request import Datum, Request, left_out
from ioplan.results.report.documents import ChartSpec, Column, Scale
from ioplan.results.report.point import Dimensions

MOST_CURVES = 120
STEPS = 20
"""Points of a percentile curve for each nine."""
MOST_POINTS = 240
"""The most points of a cumulative curve."""
COARSE_BITS = 3
"""A drawn histogram has eight bars an octave."""

Row = tuple[float, ...]


class Distribution(NamedTuple):
    """A kind of chart; `rows` are of one histogram, with what they are weighted by."""

    title: str
    columns: tuple[Column, ...]
    rows: Callable[[Histogram], Iterator[tuple[str, Row]]]
    x_scale: Scale = "log"
    note: str = ""


def percents(total: int) -> list[float]:
    """Where a percentile curve has points: as far as ten samples lie beyond."""
    if total <= BEYOND:
        return []
    most = log10(total / BEYOND)
    even = [100 - 100 * 10 ** (-n / STEPS) for n in range(int(most * STEPS) + 1)]
    usual = [p for p in PERCENTILES if -log10(1 - p / 100) <= most + 1e-9]
    return sorted({round(p, 9) for p in (*even, *usual)})


def _percentiles(histogram: Histogram) -> Iterator[tuple[str, Row]]:
    at = percents(histogram.total)
    for percent, latency_ns in zip(at, histogram.percentiles_ns(at), strict=True):
        yield "", (round(-log10(1 - percent / 100), 6), latency_ns, percent)


def _cumulative(histogram: Histogram) -> Iterator[tuple[str, Row]]:
    """The share of the I/Os, and the share of the time that all of them took: every
    n-th point, and the last one."""
    middles = bucket_middles(histogram.bits)[histogram.index].tolist()
    counts = histogram.count.tolist()
    times = [m * c for m, c in zip(middles, counts, strict=True)]
    for weight, amounts in (("of I/Os", counts), ("of time", times)):
        total = sum(amounts)
        shares = [100 * part / total for part in accumulate(amounts)]
        pairs = list(zip(middles, shares, strict=True))
        step = -(-len(pairs) // MOST_POINTS)
        for pair in (*pairs[:-1:step], pairs[-1]):
            yield weight, pair


def _histogram(histogram: Histogram) -> Iterator[tuple[str, Row]]:
    """Wider buckets, and those between them that are empty."""
    wide = histogram.coarser(COARSE_BITS)
    counts = dict(zip(wide.index.tolist(), wide.count.tolist(), strict=True))
    for index in range(min(counts), max(counts) + 1):
        low, high = bucket_range(index, COARSE_BITS)
        count = counts.get(index, 0)
        yield "", (low, 100 * count / histogram.total, high, count)


LATENCY = Column("x", "latency", "ns")
DISTRIBUTIONS = {
    "percentiles": Distribution(
        "Latency percentiles",
        (
            Column("x", "percentile", "nines"),
            Column("y", "latency", "ns"),
            Column("percent", "percentile", "percentile"),
        ),
        _percentiles,
        "nines",
        f"each curve ends where fewer than {BEYOND} I/Os remain",
    ),
    "cumulative": Distribution(
        "Cumulative latency",
        (LATENCY, Column("y", "share", "%")),
        _cumulative,
        note="of time: each I/O counts as long as it took",
    ),
    "histogram": Distribution(
        "Latency histogram",
        (
            LATENCY,
            Column("y", "share of I/Os", "%"),
            Column("x2", "up to", "ns"),
            Column("count", "I/Os", ""),
        ),
        _histogram,
    ),
}


def distribution(kind: str, request: Request) -> Iterator[ChartSpec]:
    title, columns, rows, x_scale, note = DISTRIBUTIONS[kind]
    curves = list(_curves(request))
    failed = sum(point.failed for point in request.points)
    if not curves and not failed:
        return
    data = [
        Datum(dimensions | ({"metric": weight} if weight else {}), row)
        for dimensions, histogram in curves
        for weight, row in rows(histogram)
    ]
    more = left_out(len(request.points), MOST_CURVES)
    figures = (datum.values[1] for datum in data if kind == "percentiles")
    yield request.picture(
        kind,
        title,
        data,
        columns,
        per=(*request.chart.per, *request.chart.by),
        x_scale=x_scale,
        y_scale=request.y_scale(latency_scale(figures)),
        notes=(*failed_note(failed), note, more),
    )


def _curves(request: Request) -> Iterator[tuple[Dimensions, Histogram]]:
    """A histogram for each scope that the metrics name, of the first points."""
    scopes = {(m.stream, m.direction): m for m in request.chart.metrics}
    for point in request.points[:MOST_CURVES]:
        samples = [] if point.failed else request.reader.samples(point.counted)
        for metric in scopes.values():
            histogram = merged(metric, samples)
            if histogram.total:
                yield point.dimensions | {"I/Os": _scope(metric)}, histogram


def _scope(metric: Metric) -> str:
    return " ".join(filter(None, (metric.stream, metric.direction))) or "all"
