"""A stretch of a run: its figures out of the counts of its intervals.

Every figure of less than a whole run is made here, of sums and merged histograms, and
never of the figures of its intervals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from ioplan.language.metric import OF_SERIES, Metric
from ioplan.results.measure.interval_counts import IntervalCounts, Slice, counts_of
from ioplan.results.measure.metrics import (
    Figure,
    Sample,
    figure,
    over_intervals,
    sample_of,
    value_of,
    within,
)
from ioplan.results.measure.tally import Totals
from ioplan.workload import Stream, parts_of


class Stretch(Totals):
    """Some intervals that follow one another, as a run of its own."""

    def __init__(self, slices: Sequence[Slice], streams: Iterable[Stream] = ()) -> None:
        """Merge one or more slices; `streams` are those of the run.

        The figures of a stream are over its own part of that time.
        """
        lengths_ns = [one.end_ns - one.begin_ns for one in slices]
        super().__init__(counts_of(slices), sum(lengths_ns))
        self.slices = slices
        self.begin_ns, self.end_ns = slices[0].begin_ns, slices[-1].end_ns
        self.intervals = len(slices)
        self.parts = parts_of(streams)
        for name in self.parts.keys() & self.counts.keys():
            self.counts[name].run_ns = self.own_ns(name)

    def own_ns(self, stream: str) -> int:
        """How much of the time is in a stream's part of the run."""
        part = self.parts.get(stream)
        return part.time_ns(self.begin_ns, self.end_ns) if part else self.run_ns

    @cached_property
    def sample(self) -> Sample:
        """As metrics look at it."""
        return sample_of(self)

    def figure(self, metric: Metric) -> Figure:
        """A metric of it, as of a run."""
        if metric.name in OF_SERIES:
            return Figure(None, f"{metric.name} is of a whole run")
        if metric.stream and not self.own_ns(metric.stream):
            return Figure(None, f"{metric.stream} does not run then")
        if metric.by_interval:
            part = self.parts.get(metric.stream or "")
            return over_intervals(metric, [within(part, self.slices)])
        return figure(metric, [self.sample])

    def value(self, metric: Metric) -> float | None:
        """The figure for a chart: a percentile also of few I/Os."""
        return value_of(metric, self.sample)


def stretch(
    intervals: IntervalCounts,
    begin_ns: float,
    end_ns: float,
    streams: Iterable[Stream] = (),
) -> Stretch | None:
    """The intervals that begin in [begin, end); none if there are none.

    `streams` are those of the run. Raises IntervalsDamaged.
    """
    found = list(intervals.between(begin_ns, end_ns))
    return Stretch(found, streams) if found else None
