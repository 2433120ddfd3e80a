"""What one cell does over time: its steady mean, its spread, its worst interval."""

from __future__ import annotations

from statistics import fmean, median, pstdev

from msgspec import Struct

from ioplan.core.units import time_text
from ioplan.language.metric import Metric
from ioplan.records.record import Steady
from ioplan.report.charts.over_time import LEAST_FOR_SPREAD
from ioplan.report.charts.timeline import is_cut_short, metric_at
from ioplan.report.points import Point
from ioplan.report.reader import Reader

LEAST = 5
"""Of fewer intervals none is the worst."""


class OverTime(Struct, frozen=True):
    """The values of a metric in the intervals of a cell, each as long as the others."""

    values: list[float]
    length_s: float

    @property
    def worst(self) -> float | None:
        """The lowest rate; None of a handful of intervals."""
        return min(self.values) if len(self.values) >= LEAST else None

    @property
    def interval(self) -> str:
        """`second`, `100 ms`."""
        if abs(self.length_s - 1) < 0.05:
            return "second"
        short = f"{1000 * self.length_s:.3g} ms"
        return short if self.length_s < 1 else time_text(self.length_s)

    @property
    def spread_percent(self) -> float | None:
        """The standard deviation of the population, of its mean."""
        mean = fmean(self.values) if self.values else 0.0
        if len(self.values) < LEAST_FOR_SPREAD or not mean:
            return None
        return 100 * pstdev(self.values) / mean


def over_time(metric: Metric, point: Point, reader: Reader) -> OverTime:
    """The intervals of the runs that count; not what the end of a run has cut short."""
    values, lengths_s = [], []
    for run in point.counted:
        series = [interval for interval, _ in reader.series(run)]
        for interval in series[:-1] if is_cut_short(series) else series:
            value = metric_at(metric, interval)
            if value is not None:
                values.append(value)
                lengths_s.append(interval.length_s)
    return OverTime(values, median(lengths_s) if lengths_s else 0.0)


def steady_of(metric: Metric, point: Point) -> Steady | None:
    """The window of a cell that was tracked by the metric until it was steady."""
    steady = point.counted[-1].steady
    tracked = steady and steady.reached and steady.metric == str(metric)
    return steady if tracked else None
