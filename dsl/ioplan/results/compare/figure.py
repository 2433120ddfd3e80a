"""One metric of a pair of cells, as logarithms: a value for each session of a side.

A difference of logarithms is a ratio, and noise that is a share of the figure is
alike everywhere.
"""

from __future__ import annotations

from functools import cached_property
from math import exp
from statistics import fmean

from msgspec import Struct

from ioplan.language.metric import Metric
from ioplan.results.compare.earlier import RunFigures, key_of
from ioplan.results.compare.noise import Key, MetricNoise
from ioplan.results.compare.side import CellRuns


class MetricSide(Struct, frozen=True, dict=True):
    """One side of one metric of one cell: the runs' logarithms, by session.

    `units` is how many of the sessions count, see `order`.
    """

    key: Key
    sessions: tuple[tuple[float, ...], ...]
    units: int = 1
    why: str = ""

    @cached_property
    def figures(self) -> tuple[float, ...]:
        """The mean of the runs of each session."""
        return tuple(map(fmean, self.sessions))

    @property
    def mean(self) -> float:
        """The mean of the sessions' figures."""
        return fmean(self.figures)

    @property
    def value(self) -> float | None:
        """The geometric mean of the sessions."""
        return exp(self.mean) if self.sessions else None


class MetricPair(Struct, frozen=True):
    """A metric of a pair of cells on both sides."""

    base: MetricSide
    new: MetricSide

    @property
    def known(self) -> bool:
        """Whether there is a difference at all."""
        return bool(self.base.sessions and self.new.sessions)

    @property
    def difference(self) -> float:
        """The logarithm of new / base."""
        return self.new.mean - self.base.mean

    @property
    def identical(self) -> bool:
        """Whether not even noise is between them."""
        return self.known and sorted(self.base.figures) == sorted(self.new.figures)


class MetricTable(Struct, frozen=True):
    """A metric of all pairs of cells, and what it differs by of itself."""

    metric: Metric
    pairs: tuple[MetricPair, ...]
    noise: MetricNoise


def metric_side(figures: RunFigures, cell: CellRuns, units: int) -> MetricSide:
    """Read the figures of a cell. Raises StoreError."""
    if cell.failed:  # others of its repeats say nothing of one that failed
        last = cell.failed[-1]
        return MetricSide(key_of(cell), (), why=last.message or last.status)
    found = [figures.logs(runs) for runs in cell.by_session().values()]
    known = tuple(one for one in found if one)
    why = "" if known else _why(figures, cell)
    return MetricSide(key_of(cell), known, max(1, min(units, len(known))), why)


def _why(figures: RunFigures, cell: CellRuns) -> str:
    whys = (figures.of(run).why for run in cell.runs)
    return next(filter(None, whys), f"{figures.metric} is 0")
