"""What a cell does over time: what it sustains, its spread, its worst interval.

A run whose rate changes within it is told by what it does at last: a headline, a figure
that is asked for by name, and an expectation all take `stated`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from math import inf, sqrt
from statistics import fmean, median, pstdev

from msgspec import Struct

from ioplan.core.units import digits, time_text
from ioplan.job import SECOND_NS
from ioplan.language.metric import RATES, Metric
from ioplan.planner.seek.batch_means import MIN_BATCHES, variance_of_sum
from ioplan.records.record import Interval, RunRecord, Steady
from ioplan.results.measure.interval_counts import IntervalCounts
from ioplan.results.measure.metrics import Figure, Sample, Stretch, figure, stretch
from ioplan.results.measure.series import LEAST_LEVEL, in_series, levels, value_at
from ioplan.results.measure.tally import clamp
from ioplan.workload import SYNCS, Stream

LEAST_FOR_WORST = 5
LEAST_FOR_SPREAD = 20
SHORT = 0.25
"""A last interval of less than this share of the usual one says little."""
LATENCIES = ("mean", "min", "max", "stddev")
FALL = 0.75
"""What ends at less than this share of all that was before has fallen."""
PARTS, DECLINE = 6, 0.9
"""A run each sixth of which is slower than that before it, as one of noise is by a
chance of 1 in 720, declines if the last has less than this share of the mean."""


class Burst(Struct, frozen=True):
    """What a run did before it became what it can sustain, and for how long.

    Caches and erased blocks are used up by `written_bytes`, not by time. Where a pause
    of `idle_s` gave back what the run before had used up,
    `may_be_all` says that there was perhaps no more to give back.
    """

    value: float
    length_s: float
    written_bytes: float = 0.0
    idle_s: float = 0.0
    may_be_all: bool = False

    @property
    def regained_per_s(self) -> float:
        """Bytes that each second of the pause gave back, or more."""
        return self.written_bytes / self.idle_s if self.idle_s else 0.0


class OverTime(Struct, frozen=True, dict=True):
    """The values of a rate in the intervals of a cell, each as long as the others.

    `is_steered` where the plan itself changes the load, so that a change is no finding.
    """

    values: list[float]
    length_s: float
    is_steered: bool = False
    written_bytes: list[int] = []

    @property
    def worst(self) -> float | None:
        """The lowest rate; None of a handful of intervals."""
        return min(self.values) if len(self.values) >= LEAST_FOR_WORST else None

    @property
    def interval(self) -> str:
        """`second`, `100 ms`."""
        if abs(self.length_s - 1) < 0.05:
            return "second"
        if self.length_s < 1:
            return f"{digits(1000 * self.length_s)} ms"
        return time_text(self.length_s)

    @cached_property
    def levels(self) -> list[list[float]]:
        """The values, apart where their mean changes for good."""
        return [self.values] if self.is_steered else levels(self.values)

    @property
    def sustained(self) -> list[float]:
        """What it does at last, without the interval in which it became that."""
        return self.levels[-1][len(self.levels) > 1 :]

    @property
    def burst(self) -> Burst | None:
        """What it did at first, where that is something else."""
        return self._until(1)

    @property
    def unsustained(self) -> Burst | None:
        """What it did until its last level began."""
        return self._until(len(self.levels) - 1)

    def _until(self, count: int) -> Burst | None:
        """What it did in so many levels; their last interval may have another, too."""
        if len(self.levels) < 2:
            return None
        values = [value for level in self.levels[:count] for value in level]
        written = self._written(len(values), median(values), median(self.levels[count]))
        return Burst(fmean(values[:-1]), len(values) * self.length_s, written)

    def _written(self, cut: int, before: float, after: float) -> float:
        """What was written until a change, which falls into an interval beside it."""
        edge = self.values[cut - 1 : cut + 1] if before != after else []
        share = sum(clamp((v - after) / (before - after), 0.0, 1.0) for v in edge)
        written = self.written_bytes[: cut - 1] or [0]
        return sum(written) + share * fmean(written)

    @cached_property
    def last_fall(self) -> list[float]:
        """The end of it, where the rate fell too late to tell what it sustains."""
        values = self.values
        if self.is_steered or self.burst:
            return []
        least = 1 if len(values) < MIN_BATCHES + LEAST_LEVEL else LEAST_LEVEL
        lowest = [*accumulate(values, min)]
        highest = [*accumulate(reversed(values), max)]  # of the last one, two, …
        for count in range(least, len(values)):
            if highest[count - 1] < FALL * lowest[-count - 1]:
                return values[-count:]
        return self._end_of_decline()

    def _end_of_decline(self) -> list[float]:
        """The last part of a rate that falls slowly all the time."""
        values = self.values
        edges = [len(values) * part // PARTS for part in range(PARTS + 1)]
        if len(values) < 2 * PARTS:
            return []
        means = [fmean(values[a:b]) for a, b in pairwise(edges)]
        falls = all(after < before for before, after in pairwise(means))
        declines = falls and means[-1] < DECLINE * fmean(values)
        return values[edges[-2] :] if declines else []

    @cached_property
    def is_changed(self) -> bool:
        """Whether the rate became another one within the runs."""
        return bool(self.burst or self.last_fall)

    @property
    def falls(self) -> bool:
        """Whether it ends with less than it began with."""
        begins = self.burst.value if self.burst else 0.0
        return bool(self.last_fall) or begins > fmean(self.sustained or [0.0])

    @property
    def spread_percent(self) -> float | None:
        """The standard deviation of the population, of its mean."""
        values = self.sustained
        if len(values) < LEAST_FOR_SPREAD or not (mean := fmean(values)):
            return None
        return 100 * pstdev(values) / mean

    @property
    def error_percent(self) -> float | None:
        """Twice the standard error of the mean, by batch means."""
        values = self.sustained
        if len(values) < MIN_BATCHES or not sum(values):
            return None
        return 200 * sqrt(variance_of_sum(values)[0]) / sum(values)


def over_time(metric: Metric, samples: Sequence[Sample]) -> OverTime:
    """The intervals of the runs; not what the end of a run has cut short."""
    intervals = [
        (value, interval)
        for _, detail in (samples if in_series(metric) else ())
        for interval in detail.series[: -1 if is_cut_short(detail.series) else None]
        if (value := value_at(metric, interval)) is not None
    ]
    return OverTime(
        [value for value, _ in intervals],
        median([interval.length_s for _, interval in intervals] or [0.0]),
        is_steered([r for r, _ in samples if isinstance(r, RunRecord)]),
        [interval.bytes.get("write", 0) for _, interval in intervals],
    )


def is_cut_short(series: Sequence[Interval]) -> bool:
    lengths_s = [interval.length_s for interval in series]
    return len(series) > 1 and lengths_s[-1] < SHORT * median(lengths_s)


def is_steered(records: Sequence[RunRecord]) -> bool:
    """Whether the plan changes the load within the series, or it is of several runs.

    A trace has its own rate, and an event of the lab does what the plan asks for.
    """
    if len(records) != 1:
        return True
    (record,) = records
    return bool(record.events) or any(map(is_led, record.asked.workload.streams))


def is_led(stream: Stream) -> bool:
    """Whether the plan changes a stream's load within a run, or a trace does."""
    changes = stream.rate and stream.rate.changes
    follows = stream.replay and stream.pace != "fast"
    return bool(changes or follows or stream.starts_ns or stream.ends_ns)


# What is stated of a cell.


class Stated(Struct, frozen=True):
    """A figure as it is told everywhere, and what it is of where that is a part.

    `over` is what the rate did in the runs, where the figure is of all of their time.
    """

    figure: Figure
    over: OverTime | None = None
    definition: str = ""
    steady: Steady | None = None

    @property
    def changed(self) -> bool:
        """Whether the rate changed within the run, and the figure is of all of it."""
        return bool(self.over and self.over.is_changed) and not self.definition

    def at_the_end(self, metric: Metric, samples: Sequence[Sample]) -> Figure | None:
        """The figure after the rate has fallen; none where it has not, or where that
        is what is stated."""
        over = self.over
        if over is None or self.definition or not over.falls:
            return None
        count = len(over.last_fall or over.sustained)
        record, detail = samples[-1]
        slices = [*IntervalCounts(detail.intervals)]
        if is_cut_short(detail.series):
            del slices[len(detail.series) - 1 :]
        if len(slices) < count:
            return Figure(None, "no interval measured it")
        asked = getattr(record, "asked", None)
        end = Stretch(slices[-count:], asked.job.streams if asked else ())
        return end.figure(metric)


def stated(
    metric: Metric,
    samples: Sequence[Sample],
    known: Figure | None = None,
    rates: Callable[[Metric], OverTime] | None = None,
) -> Stated:
    """The metric over the runs of one cell: the steady window's, or of a rate what it
    sustains. `known` is that over all of their time, where it is known; `rates` gives
    what a rate did in their intervals, where that has been read already."""
    value = known or figure(metric, samples)
    rates = rates or (lambda rate: over_time(rate, samples))
    if value.value is None or not _is_of_all_time(metric, samples):
        return Stated(value)
    if in_window := _in_steady_window(metric, samples):
        return in_window
    if metric.name not in RATES or not in_series(metric):
        direction = None if metric.direction in SYNCS else metric.direction
        return Stated(value, rates(Metric(name="iops", direction=direction)))
    over, steady = rates(metric), getattr(samples[-1].record, "steady", None)
    if steady and steady.reached and steady.metric == str(metric):
        text = f"the mean of the {steady.window} values of the {steady.word} window"
        text += f": {steady.evidence}" * bool(steady.evidence)
        return Stated(Figure(steady.mean), over, text, steady)
    if not over.burst:
        return Stated(value, over)
    count = len(over.sustained)
    text = f"the mean of the last {count} intervals, after the rate has changed"
    return Stated(Figure(fmean(over.sustained)), over, text)


def _is_of_all_time(metric: Metric, samples: Sequence[Sample]) -> bool:
    is_part = metric.sought or metric.phase or metric.by_interval
    is_flow = metric.name in (*RATES, *LATENCIES) or metric.percent
    sought = samples and getattr(samples[-1].record, "found", None)
    return bool(samples and is_flow and not is_part and not sought)


def ends_steady(record: RunRecord) -> bool:
    """Whether a run went on until it was steady: before that the drive was another."""
    steady = record.steady
    return bool(steady and steady.reached and steady.begin_s is not None)


def _in_steady_window(metric: Metric, samples: Sequence[Sample]) -> Stated | None:
    """What is not tracked itself, in the window of a run that ends steady."""
    record, detail = samples[-1]
    if not isinstance(record, RunRecord) or not ends_steady(record):
        return None
    steady = record.steady
    if not steady or steady.begin_s is None or steady.metric == str(metric):
        return None
    begin_ns = round(steady.begin_s * SECOND_NS)
    intervals = IntervalCounts(detail.intervals)
    window = stretch(intervals, begin_ns, inf, record.asked.job.streams)
    text = f"the figure of the {steady.word} window"
    return Stated(window.figure(metric), definition=text) if window else None
