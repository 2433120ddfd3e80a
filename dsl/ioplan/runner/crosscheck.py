"""Do two backends measure the same? Their runs of each cell, interleaved.

The order turns round every time (A B, B A, …), so that a drift of the target
falls on both alike. Each pair of runs gives a ratio; the interval is Student's,
on the logarithms of the ratios, with a confidence of 95 %.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import exp, log, sqrt
from statistics import fmean, median, stdev

from ioplan.core.student_t import quantile
from ioplan.language.metric import Metric
from ioplan.measure.metrics import Sample, figure
from ioplan.records.record import RunDetail, RunRecord

METRICS = (Metric(name="iops"), Metric(name="mean"))
AGREEMENT_PERCENT = 5.0
"""Backends agree where the whole interval is within this."""


@dataclass(frozen=True)
class RatioInterval:
    """A ratio with its confidence interval."""

    ratio: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Whether the interval is within, outside or across the limits."""
        near = AGREEMENT_PERCENT / 100
        if 1 - near <= self.low and self.high <= 1 + near:
            return "agree"
        return "undecided" if self.low <= 1 <= self.high else "differ"


def ratio_interval(firsts: Sequence[float], seconds: Sequence[float]) -> RatioInterval:
    """The ratio second / first over pairs; needs two pairs at least."""
    logs = [log(b / a) for a, b in zip(firsts, seconds, strict=True)]
    middle = fmean(logs)
    half = quantile(0.975, len(logs) - 1) * stdev(logs) / sqrt(len(logs))
    return RatioInterval(exp(middle), exp(middle - half), exp(middle + half))


@dataclass(frozen=True)
class MetricRatio:
    """One metric of one cell: medians of both, and their ratio."""

    test: str
    cell: dict[str, str]
    metric: Metric
    first: float
    second: float
    interval: RatioInterval


@dataclass
class Pairs:
    """The values of a cell by metric and backend, in the order of the rounds."""

    test: str
    cell: dict[str, str]
    values: dict[tuple[str, int], list[float]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, side: int, record: RunRecord, detail: RunDetail) -> None:
        """Take a run of one of both."""
        for metric in METRICS:
            value = figure(metric, [Sample(record, detail)]).value
            if value:
                self.values[metric.name, side].append(value)

    def ratios(self) -> Iterable[MetricRatio]:
        """Each metric that both have as often."""
        for metric in METRICS:
            first = self.values[metric.name, 0]
            second = self.values[metric.name, 1]
            if len(first) == len(second) >= 2:
                yield MetricRatio(
                    self.test,
                    self.cell,
                    metric,
                    median(first),
                    median(second),
                    ratio_interval(first, second),
                )


RunOne = Callable[[int], tuple[RunRecord, RunDetail]]


def run_interleaved(run: RunOne, pairs: Pairs, rounds: int) -> None:
    """Run both backends on a cell, `rounds` times, in turn."""
    for number in range(rounds):
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            record, detail = run(which)
            pairs.add(which, record, detail)
