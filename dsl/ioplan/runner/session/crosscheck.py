"""Do two backends measure the same? Their runs of each cell, interleaved.

The order turns round every time (A B, B A, …), so that a drift of the target
falls on both alike. Each pair of runs gives a ratio; the intervals are Student's, on
the logarithms of the ratios, with variances that the cells share. All of them hold
together with a confidence of 95 % (Bonferroni): two backends that measure the same are
said to differ, anywhere in a table, in at most one of twenty tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import exp, isclose, log, prod, sqrt
from statistics import fmean, median, variance
from typing import NamedTuple

from msgspec import Struct, field

from ioplan.core.statistics.shared_variance import Variance, moderated
from ioplan.core.statistics.student_t import quantile
from ioplan.language.metric import Metric
from ioplan.records.record import RunDetail, RunRecord
from ioplan.results.measure.metrics import Sample, figure

IOPS, BANDWIDTH = Metric(name="iops"), Metric(name="bandwidth")
METRICS = (IOPS, BANDWIDTH, Metric(name="mean"), Metric(name="p99"))
AGREEMENT_PERCENT = 5.0
"""Backends agree where the whole interval is within this."""
CONFIDENCE = 0.95
MOST_REMARKS = 8
LEAST_DEVIATION = 1e-3
"""The least deviation of a ratio: buckets repeat a percentile to the last digit."""
STEAL_PERCENT = 2.0
"""Steal in % of one CPU; where one side has so much more, intervals are wider."""
CPU_PERCENT = 25.0
"""So much longer may an I/O take on another CPU: see `placement.chosen_cpus`."""


class RatioInterval(Struct, frozen=True):
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
        return "inconclusive" if self.low <= 1 <= self.high else "differ"


class MetricRatio(Struct, frozen=True):
    """One metric of one cell: medians of both, and their ratio.

    `widened` says why the interval is wider than the runs scatter, where it is.
    """

    test: str
    cell: dict[str, str]
    metric: Metric
    first: float
    second: float
    interval: RatioInterval
    widened: str = ""

    @property
    def verdict(self) -> str:
        """What is to be said of it."""
        return self.interval.verdict


class Shift(NamedTuple):
    """What was not alike for both, and by how much a ratio may be off for that."""

    text: str
    percent: float


class SideRuns(Struct):
    """The runs of a cell on one backend, in the order of the rounds."""

    values: dict[str, list[float]] = field(
        default_factory=lambda: {metric.name: [] for metric in METRICS}
    )
    placements: set[frozenset[int]] = set()
    steal_percents: list[float] = []
    remarks: dict[str, None] = {}

    def add(self, record: RunRecord, detail: RunDetail) -> None:
        """Take a run."""
        for metric in METRICS:
            value = figure(metric, [Sample(record, detail)]).value
            if value:
                self.values[metric.name].append(value)
        if cpus := record.backend.facts.get("cpus"):
            self.placements.add(frozenset(cpus))
        if (steal_percent := _steal_percent(record)) is not None:
            self.steal_percents.append(steal_percent)
        self.remarks.update(
            dict.fromkeys((*record.warnings, *record.substitutions)),
        )


class Pairs(Struct):
    """A cell and the runs of both backends on it."""

    test: str
    cell: dict[str, str]
    sides: tuple[SideRuns, SideRuns] = field(
        default_factory=lambda: (SideRuns(), SideRuns())
    )
    repeated: int = 0
    """Pairs of runs that were left out and measured again: see `run_interleaved`."""

    def add(self, side: int, record: RunRecord, detail: RunDetail) -> None:
        """Take a run of one of both."""
        self.sides[side].add(record, detail)

    def log_ratios(self, metric: Metric) -> list[float]:
        """A metric's log ratios, second to first; empty unless both have as many."""
        first, second = (side.values[metric.name] for side in self.sides)
        if len(first) != len(second) or len(first) < 2:
            return []
        return [log(b / a) for a, b in zip(first, second, strict=True)]

    @property
    def metrics(self) -> list[Metric]:
        """The metrics that both have; bandwidth only if it says more than IOPS does."""
        same = zip(self.log_ratios(IOPS), self.log_ratios(BANDWIDTH), strict=False)
        redundant = all(isclose(a, b, abs_tol=1e-9) for a, b in same)
        found = [one for one in METRICS if self.log_ratios(one)]
        return [one for one in found if not (one == BANDWIDTH and redundant)]

    @property
    def shifts(self) -> list[Shift]:
        """What else may have made a difference."""
        return [one for one in (self._moved(), self._stolen()) if one]

    def _moved(self) -> Shift | None:
        places = [side.placements for side in self.sides]
        if not all(places) or places[0] == places[1]:
            return None
        cpus = " and ".join(map(_cpus, places))
        return Shift(f"they ran on different CPUs: {cpus}", CPU_PERCENT)

    def _stolen(self) -> Shift | None:
        if not all(side.steal_percents for side in self.sides):
            return None
        first, second = (median(side.steal_percents) for side in self.sides)
        if abs(first - second) <= STEAL_PERCENT:
            return None
        text = (
            f"the hypervisor took {first:.0f} % of a CPU from one, and {second:.0f} % "
            f"from the other"
        )
        return Shift(text, abs(first - second))


def _cpus(placements: Iterable[frozenset[int]]) -> str:
    texts = sorted(",".join(map(str, sorted(cpus))) for cpus in placements)
    return " or ".join(texts)


def judged(cells: Sequence[Pairs]) -> list[MetricRatio]:
    """All metrics of all cells, with intervals that hold together."""
    statements = sum(len(cell.metrics) for cell in cells)
    share = 1 - (1 - CONFIDENCE) / 2 / max(1, statements)
    found = {metric.name: _intervals(cells, metric, share) for metric in METRICS}
    return [
        _ratio(cell, metric, found[metric.name][number])
        for number, cell in enumerate(cells)
        for metric in cell.metrics
    ]


def _intervals(
    cells: Sequence[Pairs], metric: Metric, share: float
) -> dict[int, RatioInterval]:
    """By the number of the cell; `share` is the upper quantile of each."""
    logs = {n: one for n, cell in enumerate(cells) if (one := cell.log_ratios(metric))}
    shared = moderated([_variance(one) for one in logs.values()])
    return {
        number: _interval(logs[number], known, share)
        for number, known in zip(logs, shared, strict=True)
    }


def _variance(logs: Sequence[float]) -> Variance:
    return Variance(max(variance(logs), LEAST_DEVIATION**2), len(logs) - 1)


def _interval(logs: Sequence[float], known: Variance, share: float) -> RatioInterval:
    middle = fmean(logs)
    half = quantile(share, known.degrees) * sqrt(known.value / len(logs))
    return RatioInterval(exp(middle), exp(middle - half), exp(middle + half))


def _ratio(cell: Pairs, metric: Metric, interval: RatioInterval) -> MetricRatio:
    first, second = (median(side.values[metric.name]) for side in cell.sides)
    factor = prod(1 + one.percent / 100 for one in cell.shifts)
    interval = RatioInterval(
        interval.ratio, interval.low / factor, interval.high * factor
    )
    texts = (f"by {one.percent:.0f} %: {one.text}" for one in cell.shifts)
    told = "; ".join(texts)
    return MetricRatio(cell.test, cell.cell, metric, first, second, interval, told)


OneRun = tuple[RunRecord, RunDetail]
RunOne = Callable[[int], OneRun]


def run_interleaved(run: RunOne, pairs: Pairs, rounds: int) -> None:
    """Run both backends on a cell, `rounds` times, in turn.

    A pair is measured again if the hypervisor took more from one of its runs than from
    the other, whatever the runs' figures are; at most as many pairs as rounds.
    """
    for number in range(rounds):
        first = number % 2
        pair = _pair(run, first)
        while _is_disturbed(pair) and pairs.repeated < rounds:
            pairs.repeated += 1
            pair = _pair(run, first)
        for which, found in enumerate(pair):
            pairs.add(which, *found)


def _pair(run: RunOne, first: int) -> tuple[OneRun, OneRun]:
    """A run of each side."""
    before, after = run(first), run(1 - first)
    return (after, before) if first else (before, after)


def _is_disturbed(pair: tuple[OneRun, OneRun]) -> bool:
    first, second = (_steal_percent(record) for record, _ in pair)
    if first is None or second is None:
        return False
    return abs(first - second) > STEAL_PERCENT


def _steal_percent(record: RunRecord) -> float | None:
    return record.telemetry.steal_percent if record.telemetry else None


def remarks(cells: Sequence[Pairs], side: int) -> Iterator[str]:
    """What the runs of a side said, each once, with the number of cells."""
    counts: dict[str, int] = {}
    for cell in cells:
        for text in cell.sides[side].remarks:
            counts[text] = counts.get(text, 0) + 1
    for text, cells_with_it in list(counts.items())[:MOST_REMARKS]:
        more = f" (in {cells_with_it} cells)" * (cells_with_it > 1)
        yield f"{text}{more}"
    if len(counts) > MOST_REMARKS:
        yield f"and {len(counts) - MOST_REMARKS} more, in the session's records"
