"""Figures of stored runs. Histograms are read only where a figure needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ioplan.job import SECOND_NS
from ioplan.language.metric import OF_SERIES, Metric
from ioplan.planner.places import NOT_MEASURED
from ioplan.records.record import (
    BEYOND,
    PERCENTILES,
    Interval,
    Percentile,
    RunRecord,
)
from ioplan.records.telemetry import TelemetryPoint
from ioplan.results.measure.interval_counts import IntervalCounts
from ioplan.results.measure.metrics import (
    MEASURED,
    NO_DETAIL,
    Figure,
    Part,
    Sample,
    bound_of,
    figure,
    figure_of,
)
from ioplan.results.measure.over_time import OverTime, Stated, over_time, stated
from ioplan.results.store.store import Store


class Reader:
    """Reads a store for one report."""

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
        measured = MEASURED[metric.name]

        def found(run: RunRecord) -> Figure:
            part = Part.of_whole(run)
            if part.results[0].ios:
                return measured(metric, part)
            return self.figure(metric, [run])

        return found

    def figures(
        self, metrics: Sequence[Metric], records: Sequence[RunRecord]
    ) -> list[Figure]:
        """Several metrics of one part of the same runs: a row of a table."""
        if not records:
            return [Figure(None, NOT_MEASURED)] * len(metrics)
        measured = [one for one in records if _has_io(one)]
        part = Part(metrics[0], [Sample(r, NO_DETAIL) for r in measured or records])
        return [
            self._figure(metric, measured, part)
            if measured or metric.name == "errors"
            else _unmeasured(records[-1], metric)
            for metric in metrics
        ]

    def _figure(
        self, metric: Metric, measured: Sequence[RunRecord], part: Part
    ) -> Figure:
        percent = metric.percent
        if metric.by_interval:
            return figure(metric, [*map(self._with_intervals, measured)])
        if percent is None and metric.name not in OF_SERIES:
            return figure_of(metric, part)
        known = _recorded(percent, part) if percent and len(measured) == 1 else None
        if known:
            return known
        return figure(metric, self.samples(measured))

    def stated(self, metric: Metric, records: Sequence[RunRecord]) -> Stated:
        """The metric as it is told and judged: of a rate what the runs sustain."""
        bare = [Sample(one, NO_DETAIL) for one in records]
        rates = partial(self.over_time, records=records)
        return stated(metric, bare, self.figure(metric, records), rates)

    def over_time(self, metric: Metric, records: Sequence[RunRecord]) -> OverTime:
        """A rate in the intervals of the runs of a cell, read once for all figures."""
        key = metric, tuple((one.session, one.seq) for one in records)
        if key not in self.rates:
            self.rates[key] = over_time(metric, self._with_series(records))
        return self.rates[key]

    def _with_series(self, records: Sequence[RunRecord]) -> list[Sample]:
        """The samples of runs; a single interval tells no change, and is not read."""
        if len(records) == 1 and _is_one_interval(records[0]):
            return [Sample(records[0], NO_DETAIL)]
        return self.samples(records)

    def samples(self, records: Sequence[RunRecord]) -> list[Sample]:
        """Runs with their histograms."""
        return [Sample(r, self.store.detail(r.session, r.seq)) for r in records]

    def _with_intervals(self, record: RunRecord) -> Sample:
        return Sample(record, self.store.whole_detail(record.session, record.seq))

    def series(
        self, record: RunRecord
    ) -> Iterator[tuple[Interval, TelemetryPoint | None]]:
        """The intervals of a run, with the telemetry of each that has any."""
        detail = self.store.detail(record.session, record.seq)
        readings = {point.t_s: point for point in detail.telemetry}
        return ((one, readings.get(one.t_s)) for one in detail.series)

    def intervals(self, record: RunRecord) -> IntervalCounts:
        """What each stream counted in each of them; none of a run that has no counts.

        Raises IntervalsDamaged.
        """
        return IntervalCounts(self.store.intervals(record.session, record.seq))


Runs = tuple[tuple[str, int], ...]
"""Runs by session and number."""


def _is_one_interval(record: RunRecord) -> bool:
    return record.run_s * SECOND_NS <= record.asked.job.interval_ns


def is_plain(metric: Metric) -> bool:
    """Whether a run's results tell it, without histograms, streams or parts of it."""
    is_whole = metric == Metric(name=metric.name)
    return is_whole and metric.name in MEASURED and metric.name not in OF_SERIES


def _has_io(record: RunRecord) -> bool:
    """Whether it did anything: reads, writes or trims."""
    return bool(record.total.ios) or any(d.ios for d in record.directions.values())


def _unmeasured(record: RunRecord, metric: Metric) -> Figure:
    """Why a run has no figure."""
    nothing = record.found.nothing if record.found else ""
    return Figure(None, record.message or nothing or "no I/O completed")


def _recorded(percent: float, part: Part) -> Figure | None:
    """A percentile that the record itself keeps, so that no histogram is read."""
    if percent not in PERCENTILES or len(part.results) != 1:
        return None
    (result,) = part.results
    for kept in result.latency.percentiles if result.latency else ():
        if kept.percent == percent:
            return _believed(kept, result.ios)
    return None


def _believed(kept: Percentile, ios: int) -> Figure:
    if kept.supported:
        return bound_of(kept) if kept.is_bound else Figure(kept.latency_ns)
    needed = round(BEYOND / (1 - kept.percent / 100))
    return Figure(None, f"needs {needed:_} I/Os, had {ios:_}")
