"""What one cell does over time: what it sustains, its spread, its worst interval."""

from __future__ import annotations

from functools import cached_property
from math import sqrt
from statistics import fmean, median, pstdev

from msgspec import Struct

from ioplan.core.units import digits, time_text
from ioplan.language.metric import Metric
from ioplan.planner.seek.batch_means import MIN_BATCHES, variance_of_sum
from ioplan.records.record import Steady
from ioplan.results.measure.levels import levels
from ioplan.results.report.charts.over_time import LEAST_FOR_SPREAD
from ioplan.results.report.charts.timeline import is_cut_short, is_steered, metric_at
from ioplan.results.report.headlines.headline import Burst
from ioplan.results.report.points import Point
from ioplan.results.report.reader import Reader

LEAST = 5
"""With fewer intervals none is the worst."""


class OverTime(Struct, frozen=True, dict=True):
    """The values of a metric in the intervals of a cell, each as long as the others.

    `is_steered` where the plan itself changes the load, so that a change is no finding.
    """

    values: list[float]
    length_s: float
    is_steered: bool = False

    @property
    def worst(self) -> float | None:
        """The lowest rate; None of a handful of intervals."""
        return min(self.values) if len(self.values) >= LEAST else None

    @property
    def interval(self) -> str:
        """`second`, `100 ms`."""
        if abs(self.length_s - 1) < 0.05:
            return "second"
        short = f"{digits(1000 * self.length_s)} ms"
        return short if self.length_s < 1 else time_text(self.length_s)

    @cached_property
    def levels(self) -> list[list[float]]:
        """The values, apart where their mean changes for good."""
        return levels(self.values) if not self.is_steered else [self.values]

    @property
    def sustained(self) -> list[float]:
        """What it does at last."""
        return self.levels[-1]

    @property
    def burst(self) -> Burst | None:
        """What it did at first, where that is something else."""
        if len(self.levels) < 2:
            return None
        first = self.levels[0]
        return Burst(fmean(first), len(first) * self.length_s)

    @property
    def spread_percent(self) -> float | None:
        """The standard deviation of the population, of its mean."""
        values = self.sustained
        mean = fmean(values) if values else 0.0
        if len(values) < LEAST_FOR_SPREAD or not mean:
            return None
        return 100 * pstdev(values) / mean

    @property
    def error_percent(self) -> float | None:
        """Twice the standard error of the mean, by batch means."""
        values = self.sustained
        if len(values) < MIN_BATCHES or not sum(values):
            return None
        return 200 * sqrt(variance_of_sum(values)[0]) / sum(values)


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
    length_s = median(lengths_s) if lengths_s else 0.0
    return OverTime(values, length_s, is_steered(point))


def steady_of(metric: Metric, point: Point) -> Steady | None:
    """The window of a cell that was tracked by the metric until it was steady."""
    steady = point.counted[-1].steady
    tracked = steady and steady.reached and steady.metric == str(metric)
    return steady if tracked else None
