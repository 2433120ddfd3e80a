"""Figures of stored runs. Histograms are read only where a figure needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ioplan.job import SECOND_NS
from ioplan.language.metric import OF_SERIES, Metric
from ioplan.planner.places import NOT_MEASURED
from ioplan.records.record import Interval, RunRecord
from ioplan.records.telemetry import TelemetryPoint
from ioplan.results.measure.interval_counts import IntervalCounts
from ioplan.results.measure.metrics import (
    COMPUTED,
    NO_DETAIL,
    UNREAD,
    Figure,
    Sample,
    Scope,
    figure,
    figure_in,
    of_result,
    scope_of,
)
from ioplan.results.measure.over_time import (
    OverTime,
    Stated,
    ends_steady,
    over_time,
    stated,
)
from ioplan.results.measure.series import IOPS
from ioplan.results.store.store import Store


class Reader:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.rates: dict[tuple[Metric, Runs], OverTime] = {}

    def figure(self, metric: Metric, records: Sequence[RunRecord]) -> Figure:
        """The metric over runs of one cell, as expectations are judged."""
        return self.figures((metric,), records)[0]

    def of_single(self, metric: Metric) -> Callable[[RunRecord], Figure]:
        """`figure` of one run, for many of them: what the metric alone decides is
        decided once, which takes longer than the rest."""
        if not is_plain(metric):
            return lambda run: self.figure(metric, [run])

        def of(run: RunRecord) -> Figure:
            if ends_steady(run):
                return self.figure(metric, [run])
            value = of_result(metric, run, run.total) if run.total.ios else UNREAD
            return self.figure(metric, [run]) if value is UNREAD else value

        return of

    def figures(
        self, metrics: Sequence[Metric], records: Sequence[RunRecord]
    ) -> list[Figure]:
        """Several metrics of one part of the same runs: a row of a table."""
        if not records:
            return [Figure(None, NOT_MEASURED)] * len(metrics)
        if any(map(ends_steady, records)):
            samples = self.samples(records, whole=True)
            return [stated(metric, samples).figure for metric in metrics]
        measured = [run for run in records if _has_io(run)]
        bare = [Sample(run, NO_DETAIL) for run in measured or records]
        scope, last = scope_of(metrics[0], bare), records[-1]
        nothing = last.message or (last.found and last.found.nothing)
        return [
            self._figure(metric, measured, scope)
            if measured or metric.name == "errors"
            else Figure(None, nothing or "no I/O completed")
            for metric in metrics
        ]

    def _figure(
        self, metric: Metric, measured: Sequence[RunRecord], scope: Scope
    ) -> Figure:
        """The figure of the records, or if these do not tell it, of the details."""
        of_series = metric.by_interval or metric.name in OF_SERIES
        if not of_series and (metric.percent is None or len(measured) == 1):
            value = figure_in(scope, metric)
            if value is not UNREAD:
                return value
        return figure(metric, self.samples(measured, metric.by_interval))

    def stated(self, metric: Metric, records: Sequence[RunRecord]) -> Stated:
        """The metric as it is told and judged: of a rate what the runs sustain."""
        rates = partial(self.over_time, records=records)
        if any(map(ends_steady, records)):
            return stated(metric, self.samples(records, whole=True), rates=rates)
        bare = [Sample(run, NO_DETAIL) for run in records]
        return stated(metric, bare, self.figure(metric, records), rates)

    def is_mixed(self, records: Sequence[RunRecord]) -> bool:
        """Whether the rate changed within these runs, whose plain figures are of all of
        their time."""
        is_changed = self.over_time(IOPS, records).is_changed
        return is_changed and not any(map(ends_steady, records))

    def over_time(self, metric: Metric, records: Sequence[RunRecord]) -> OverTime:
        """A rate in the intervals of the runs of a cell, read once for all figures."""
        key = metric, tuple((run.session, run.seq) for run in records)
        if key not in self.rates:
            run, bare = records[0], [Sample(run, NO_DETAIL) for run in records]
            # a single interval tells no change, and is not read
            is_short = run.run_s * SECOND_NS <= run.asked.job.interval_ns
            is_single = len(records) == 1 and is_short
            samples = bare if is_single else self.samples(records, only_series=True)
            self.rates[key] = over_time(metric, samples)
        return self.rates[key]

    def samples(
        self,
        records: Sequence[RunRecord],
        whole: bool = False,
        only_series: bool = False,
    ) -> list[Sample]:
        """Runs with their series, and with their histograms unless `only_series` is
        asked for; `whole` also with the counts of intervals."""
        if whole:
            details = (self.store.whole_detail(r.session, r.seq) for r in records)
        else:
            with_all = not only_series
            details = (self.store.detail(r.session, r.seq, with_all) for r in records)
        return [Sample(*pair) for pair in zip(records, details, strict=True)]

    def series(
        self, record: RunRecord
    ) -> Iterator[tuple[Interval, TelemetryPoint | None]]:
        """The intervals of a run, with the telemetry of each that has any."""
        detail = self.store.detail(record.session, record.seq, with_histograms=False)
        readings = {point.t_s: point for point in detail.telemetry}
        return ((interval, readings.get(interval.t_s)) for interval in detail.series)

    def intervals(self, record: RunRecord) -> IntervalCounts:
        """What each stream counted in each of them; none of a run that has no counts.

        Raises IntervalsDamaged.
        """
        return IntervalCounts(self.store.intervals(record.session, record.seq))


Runs = tuple[tuple[str, int], ...]
"""Runs by session and number."""


def is_plain(metric: Metric) -> bool:
    """Whether a run's results tell it, without histograms, streams or parts of it."""
    is_scoped = metric != Metric(name=metric.name)
    is_known = metric.name in COMPUTED or metric.percent is not None
    return is_known and not (is_scoped or metric.name in OF_SERIES)


def _has_io(record: RunRecord) -> bool:
    """Whether it did anything: reads, writes or trims."""
    return bool(record.total.ios) or any(d.ios for d in record.directions.values())
