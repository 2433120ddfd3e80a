"""Events to results. Pure: it reads no clock."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
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
from ioplan.records.record import Interval, PhaseResult, RunDetail, TargetResult
from ioplan.results.measure.interval_counts import IntervalPacker
from ioplan.results.measure.series import interval
from ioplan.results.measure.tally import StreamCountsBuilder, Totals

Streams = dict[str, StreamCountsBuilder]
FIGURES = ("streams", "directions", "total", "targets", "detail", "_in_phases")
"""Made once for all that ask for them; each event makes them out of date."""
TARGETS = "targets"
"""The fact of a Result with the counts of several targets."""


class Measurement(Totals):
    """The results of one run, as far as its events have come.

    When the backend dies before its Result, the progress so far stands for it: what
    was measured is not lost. Figures are made when they are asked for.
    """

    started: Started | None = None
    result: Result | None = None
    failure: Failure | None = None
    cpu: Cpu | None = None
    wear: Wear | None = None
    """Those of the load generator and of the drive, if they were measured."""
    bad_bins = ""

    def __init__(self) -> None:
        super().__init__({}, 0)
        self.series: list[Interval] = []
        self._packer = IntervalPacker()

    def add(self, event: Event) -> Interval | None:
        """Take an event; returns the point of the series that it makes, if any."""
        for figure in FIGURES:
            vars(self).pop(figure, None)
        match event:
            case Progress(warmup=False):
                return self._add_progress(event)
            case Result():
                self.result, self.run_ns, self.counts = event, event.run_ns, {}
                self.cpu, self.wear = event.cpu, event.wear
                self._add_streams(self.counts, event.streams)
            case Started():
                self.started = event
            case Failure():
                self.failure = event
        return None

    def _add_progress(self, event: Progress) -> Interval:
        tallies = self._add_streams({} if self.result else self.counts, event.streams)
        if self.result is None:
            self.run_ns = event.t_ns
        self.series.append(interval(event, tallies))
        self._packer.add(event, tallies)
        return self.series[-1]

    def _add_streams(
        self, into: Streams, streams: Iterable[StreamCounts]
    ) -> list[StreamCountsBuilder]:
        """Add each stream to its tally; returns what was added."""
        tallies = [self._tally(stream) for stream in streams]
        for tally in tallies:
            into.setdefault(tally.name, StreamCountsBuilder(tally.name)).merge(tally)
        return tallies

    def _tally(self, stream: StreamCounts) -> StreamCountsBuilder:
        """Bins that make no sense are reported, and do not end the run."""
        tally = StreamCountsBuilder(stream.name)
        tally.add_sums(stream)
        for direction, counts in stream.directions.items():
            try:
                tally.direction(direction).merge(counts)
            except (ValueError, OverflowError) as error:
                where = f"{stream.name} {direction}"
                self.bad_bins = self.bad_bins or f"{where}: {error}"
        return tally

    @property
    def complete(self) -> bool:
        return self.result is not None

    @cached_property
    def _in_phases(self) -> dict[str, Streams]:
        phases: dict[str, Streams] = {}
        for name, streams in self.result.phases.items() if self.result else ():
            self._add_streams(phases.setdefault(name, {}), streams)
        return phases

    def phases(self, job: Job) -> dict[str, PhaseResult]:
        """The results by phase of the job, over the time that each has of the run."""
        starts_ns = {stream.name: stream.starts_ns for stream in job.streams}
        results = {}
        for phase in job.phases:
            streams = self._in_phases.get(phase.name)
            for name, counts in (streams or {}).items():
                begin_ns, own_ns = starts_ns[name], self.counts[name].run_ns
                end_ns = self.run_ns if own_ns is None else begin_ns + own_ns
                counts.run_ns = phase.time_ns(begin_ns, end_ns)
            if streams:
                totals = Totals(streams, phase.time_ns(0, self.run_ns))
                results[phase.name] = PhaseResult(
                    run_s=totals.run_s, when=phase, **totals.results()
                )
        return results

    @cached_property
    def detail(self) -> RunDetail:
        """A histogram for each stream and direction, of the run and of its phases, the
        series, and the counts of each interval."""
        histograms = self.stored()
        for name, streams in self._in_phases.items():
            histograms += Totals(streams, 0).stored(name)
        return RunDetail(
            histograms=histograms,
            series=tuple(self.series),
            intervals=self._packer.packed(),
        )

    @property
    def cpu_percent(self) -> float | None:
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
        targets = self.result.facts.get(TARGETS, {}) if self.result else {}
        return {name: self._target(streams) for name, streams in targets.items()}

    def _target(self, streams: list[Any]) -> TargetResult:
        tallies: Streams = {}
        self._add_streams(tallies, map(StreamCounts.model_validate, streams))
        for name, tally in tallies.items():
            tally.run_ns = self.counts[name].run_ns
        return TargetResult(**Totals(tallies, self.run_ns).results())
