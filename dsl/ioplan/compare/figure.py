"""One metric of a pair of cells, as logarithms: a value for each unit of a side.

A unit is a run, or, where a side has several sessions, a session. A difference of
logarithms is a ratio, and noise that is a share of the figure is alike everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, log
from statistics import fmean, variance

from ioplan.compare.series import WithinRun, within_run
from ioplan.compare.side import CellRuns
from ioplan.language.metric import Metric
from ioplan.measure.histogram import BITS
from ioplan.measure.metrics import Figure
from ioplan.records.record import Interval, RunRecord
from ioplan.report.reader import Reader

CACHED_SERIES = 8
"""So many series are kept in memory: those of one pair of cells."""
MIN_OWN_UNITS = 3
"""From so many units on, their variance is estimated by themselves."""
BUCKET = 2.0**-BITS
"""A percentile is known to a bucket of the histogram, and not better."""


@dataclass(frozen=True)
class MetricSide:
    """One side of one metric of one cell."""

    logs: tuple[float, ...]
    why: str = ""
    floor: float = 0.0
    within: WithinRun | None = None

    @property
    def mean(self) -> float:
        """Of the logarithms."""
        return fmean(self.logs)

    @property
    def value(self) -> float | None:
        """The geometric mean of the units."""
        return exp(self.mean) if self.logs else None

    @property
    def variance(self) -> float:
        """From one unit to the next; of two units at least."""
        return max(variance(self.logs), self.floor)


@dataclass(frozen=True)
class MetricPair:
    """A metric of a pair of cells on both sides."""

    metric: Metric
    base: MetricSide
    new: MetricSide

    @property
    def known(self) -> bool:
        """Whether there is a difference at all."""
        return bool(self.base.logs and self.new.logs)

    @property
    def difference(self) -> float:
        """The logarithm of new / base."""
        return self.new.mean - self.base.mean


class MetricReader:
    """Reads the figures of cells; `by_session` makes sessions the units."""

    def __init__(self, reader: Reader, by_session: bool) -> None:
        self.reader, self.by_session = reader, by_session
        self._series = lru_cache(CACHED_SERIES)(self._read_series)

    def pair(self, metric: Metric, base: CellRuns, new: CellRuns) -> MetricPair:
        """Both sides of a metric. Raises StoreError."""
        return MetricPair(metric, self._side(metric, base), self._side(metric, new))

    def _side(self, metric: Metric, cell: CellRuns) -> MetricSide:
        if not cell.runs:
            return MetricSide((), cell.failed[-1].message or cell.failed[-1].status)
        figures = [self.reader.figure(metric, [run]) for run in cell.runs]
        groups = self._groups(cell, figures)
        logs = tuple(fmean(found) for found in map(_logs, groups) if found)
        why = next((one.why for one in figures if one.why), f"{metric} is 0")
        lone = 0 < len(logs) < MIN_OWN_UNITS and not self.by_session
        return MetricSide(
            logs=logs,
            why="" if logs else why,
            floor=max(_step(metric, run) ** 2 for run in cell.runs) / 12,
            within=self._within(metric, cell.runs) if lone else None,
        )

    def _groups(self, cell: CellRuns, figures: list[Figure]) -> list[list[Figure]]:
        if not self.by_session:
            return [[one] for one in figures]
        ids = dict.fromkeys(run.session for run in cell.runs)
        pairs = list(zip(cell.runs, figures, strict=True))
        return [[f for run, f in pairs if run.session == id] for id in ids]

    def _within(self, metric: Metric, runs: Sequence[RunRecord]) -> WithinRun | None:
        """Of the run whose own error is the largest."""
        found = [within_run(metric, self._series(r.session, r.seq)) for r in runs]
        known = [one for one in found if one]
        return max(known, key=lambda one: one.error) if known else None

    def _read_series(self, session: str, seq: int) -> tuple[Interval, ...]:
        return self.reader.store.detail(session, seq).series


def _step(metric: Metric, run: RunRecord) -> float:
    """How coarse a figure is known, as a logarithm: evenly between two values."""
    if metric.percent is not None:
        return BUCKET
    found = run.found if metric.sought else None
    if found is None or not found.value or not found.no_at:
        return 0.0
    return abs(log(found.no_at / found.value))


def _logs(figures: Sequence[Figure]) -> list[float]:
    return [log(one.value) for one in figures if one.value and one.value > 0]
