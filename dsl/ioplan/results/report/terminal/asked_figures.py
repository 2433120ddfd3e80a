"""Figures that are asked for by name, of each cell, or of a stretch of its runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console

from ioplan.core.text import line
from ioplan.core.units import metric_text
from ioplan.language.metric import Metric, parse_metric
from ioplan.records.record import RunRecord
from ioplan.records.superseded import current_records
from ioplan.results.measure.metrics import Figure
from ioplan.results.report.charts.tables import axes_of
from ioplan.results.report.points import Point, points
from ioplan.results.report.reader import Reader
from ioplan.results.report.terminal.during import During, stretch_of
from ioplan.results.store.store import Store


def show_figures(
    console: Console,
    store: Store,
    records: Sequence[RunRecord],
    asked: Sequence[str],
    during: During | None,
) -> None:
    """Print a line for each figure of each cell.

    Raises MetricError, StoreError and IntervalsDamaged.
    """
    runs = [r for r in current_records(records) if r.asked.kind == "run"]
    for title in dict.fromkeys(run.asked.test for run in runs):
        part = [run for run in runs if run.asked.test == title]
        console.rule(line(title, style="bold"), align="left", characters="─")
        for text in _lines(store, part, asked, during):
            console.print(line(text), soft_wrap=True)


def _lines(
    store: Store,
    runs: Sequence[RunRecord],
    asked: Sequence[str],
    during: During | None,
) -> Iterator[str]:
    streams = {stream.name for run in runs for stream in run.streams}
    steps = {run.asked.name for run in runs if run.asked.name}
    metrics = [parse_metric(text, streams, steps) for text in asked]
    cells = points({"": runs})
    axes = axes_of(cells)
    for point in cells:
        named = (f"{axis} {point.dimensions.get(axis, '')}" for axis in axes)
        cell = ", ".join(named)
        for metric in metrics:
            found = _figure(store, point, metric, during)
            told = found.why or "–"
            if found.value is not None:
                told = metric_text(found.value, metric.unit)
            yield f"{f'{cell}: ' if cell else ''}{metric}: {told}"


def _figure(
    store: Store, point: Point, metric: Metric, during: During | None
) -> Figure:
    """Of a stretch it is that of the last run."""
    if during is None:
        return Reader(store).figure(metric, point.counted)
    found = stretch_of(store, point.counted[-1], during)
    return found.figure(metric) if found else Figure(None, f"no interval in {during}")
