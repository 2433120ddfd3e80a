"""From the events of one run to its results. Pure: it reads no clock."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import Any

from ioplan.job import (
    Cpu,
    Event,
    Failure,
    Job,
    Progress,
    Result,
    Started,
    StreamCounts,
    Wear,
)
from ioplan.records.record import (
    DirectionResult,
    Interval,
    PhaseResult,
    RunDetail,
    StreamResult,
    TargetResult,
)
from ioplan.results.measure.histogram import Histogram
from ioplan.results.measure.interval import interval
from ioplan.results.measure.interval_counts import IntervalPacker
from ioplan.results.measure.tally import StreamCountsBuilder
from ioplan.results.measure.totals import Totals
from ioplan.workload import Direction

Streams = dict[str, StreamCountsBuilder]
FIGURES = ("figures", "targets", "detail", "_in_phases")
"""Made once for all that ask for them; each event makes them out of date."""
TARGETS = "targets"
"""The fact of a Result with the counts of several targets."""


class Measurement:
    """The results of one run, as far as its events have come.

    When the backend dies before its Result, the progress seen so far stands for
    it: what was measured is kept. Figures are made when they are asked for.
    """

    def __init__(self) -> None:
        self.started: Started | None = None
        self.result: Result | None = None
        self.failure: Failure | None = None
        self._series: list[Interval] = []
        self._intervals = IntervalPacker()
        self._last_t_ns = 0
        self._seen: Streams = {}
        self._final: Streams = {}
        self.bad_bins = ""

    def add(self, event: Event) -> Interval | None:
        """Take an event; returns the point of the series that it makes, if any."""
        for figure in FIGURES:
            vars(self).pop(figure, None)
        match event:
            case Progress(warmup=False):
                return self._add_progress(event)
            case Result():
                self.result = event
                self._final = {}
                self._add_streams(self._final, event.streams)
            case Started():
                self.started = event
            case Failure():
                self.failure = event
        return None

    def _add_progress(self, event: Progress) -> Interval:
        bins = self._add_streams(self._seen, event.streams)
        point = interval(event, bins)
        self._series.append(point)
        self._intervals.add(event, bins)
        self._last_t_ns = event.t_ns
        return point

    def _add_streams(
        self, into: Streams, streams: tuple[StreamCounts, ...]
    ) -> list[dict[Direction, Histogram]]:
        """Add each stream to its tally; returns the histograms, by stream."""
        all_bins = [self._histograms(stream) for stream in streams]
        for stream, bins in zip(streams, all_bins, strict=True):
            into.setdefault(stream.name, StreamCountsBuilder(stream.name)).add(
                stream, bins
            )
        return all_bins

    def _histograms(self, stream: StreamCounts) -> dict[Direction, Histogram]:
        return {
            direction: self._histogram(f"{stream.name} {direction}", part.bins)
            for direction, part in stream.directions.items()
        }

    def _histogram(self, where: str, bins: Sequence[int]) -> Histogram:
        """Bins that make no sense are reported, and do not end the run."""
        try:
            return Histogram.of(bins)
        except (ValueError, OverflowError) as error:
            self.bad_bins = self.bad_bins or f"{where}: {error}"
            return Histogram.of(())

    @property
    def _totals(self) -> Streams:
        return self._seen if self.result is None else self._final

    @property
    def complete(self) -> bool:
        """Whether the backend gave its Result."""
        return self.result is not None

    @property
    def run_ns(self) -> int:
        """Measured time; without a Result, up to the last progress."""
        if self.result is not None:
            return self.result.run_ns
        return self._last_t_ns

    @property
    def series(self) -> tuple[Interval, ...]:
        """The points so far."""
        return tuple(self._series)

    @cached_property
    def figures(self) -> Totals:
        """The results."""
        return Totals(self._totals, self.run_ns)

    @property
    def streams(self) -> tuple[StreamResult, ...]:
        """The results by stream."""
        return self.figures.streams

    @property
    def directions(self) -> dict[Direction, DirectionResult]:
        """The results by direction, over all streams."""
        return self.figures.directions

    @property
    def total(self) -> DirectionResult:
        """Reads and writes of all streams."""
        return self.figures.total

    @cached_property
    def _in_phases(self) -> dict[str, Streams]:
        """What each stream counted in each phase."""
        found: dict[str, Streams] = {}
        for name, streams in self.result.phases.items() if self.result else ():
            self._add_streams(found.setdefault(name, {}), streams)
        return found

    def phases(self, job: Job) -> dict[str, PhaseResult]:
        """The results by phase of the job, over the time that each has of the run."""
        by_name = {stream.name: stream for stream in job.streams}
        found = {}
        for phase in job.phases:
            streams = self._in_phases.get(phase.name, {})
            for name, counts in streams.items():
                begin_ns = by_name[name].starts_ns
                own_ns = self._final[name].run_ns
                end_ns = self.run_ns if own_ns is None else begin_ns + own_ns
                counts.run_ns = phase.time_ns(begin_ns, end_ns)
            if streams:
                figures = Totals(streams, phase.time_ns(0, self.run_ns))
                found[phase.name] = figures.in_phase(phase)
        return found

    @cached_property
    def detail(self) -> RunDetail:
        """A histogram for each stream and direction, of the run and of its phases, the
        series, and the counts of each interval."""
        phases = self._in_phases.items()
        parts = (Totals(streams, 0).stored(name) for name, streams in phases)
        return RunDetail(
            histograms=(*self.figures.stored(), *chain.from_iterable(parts)),
            series=self.series,
            intervals=self._intervals.packed(),
        )

    @property
    def cpu(self) -> Cpu | None:
        """CPU time of the load generator; none if the backend did not measure it."""
        return self.result.cpu if self.result else None

    @property
    def wear(self) -> Wear | None:
        """What the drive wrote, where the backend is the drive."""
        return self.result.wear if self.result else None

    @property
    def cpu_percent(self) -> float | None:
        """CPU use in percent of one core."""
        if self.cpu is None or self.run_ns <= 0:
            return None
        return 100 * (self.cpu.user_ns + self.cpu.system_ns) / self.run_ns

    @property
    def facts(self) -> dict[str, Any]:
        """The backend's own facts; later ones replace earlier ones.

        The counts of targets are none: `targets` has what comes of them.
        """
        before = self.started.facts if self.started else {}
        facts = before | (self.result.facts if self.result else {})
        return {name: fact for name, fact in facts.items() if name != TARGETS}

    @cached_property
    def targets(self) -> dict[str, TargetResult]:
        """The results by target, where the run has several; they add up to the run's.

        Each stream's are over its measured time in the run.
        """
        told = self.result.facts.get(TARGETS, {}) if self.result else {}
        return {name: self._target(streams) for name, streams in told.items()}

    def _target(self, told: list[Any]) -> TargetResult:
        counts = tuple(StreamCounts.model_validate(one) for one in told)
        found: Streams = {}
        self._add_streams(found, counts)
        for name, tally in found.items():
            tally.run_ns = self._final[name].run_ns
        figures = Totals(found, self.run_ns)
        return TargetResult(
            streams=figures.streams,
            directions=figures.directions,
            total=figures.total,
        )
