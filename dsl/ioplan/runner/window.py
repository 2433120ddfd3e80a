"""Judges what goes on until it is steady, window by window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ioplan.job import SECOND_NS, Job, Progress
from ioplan.language.plan import SteadyRule
from ioplan.planner.jobs import pass_bytes
from ioplan.results.measure import Measurement
from ioplan.results.record import DirectionResult, Steady, StreamResult
from ioplan.results.telemetry import Telemetry
from ioplan.runner.figures import Figure, Sample, figure
from ioplan.runner.steady import assess
from ioplan.workload import Direction


def judge_of(
    rule: SteadyRule | None,
    every_ns: int | None,
    job: Job,
    told: Callable[[Steady, int], None],
) -> SteadyWatch | None:
    """Who judges a run that goes on until it is steady; nobody judges another."""
    if not rule or not every_ns:
        return None
    return SteadyWatch(rule, every_ns, told, pass_bytes(job))


@dataclass(frozen=True)
class Part:
    """A part of a run, with what a metric needs."""

    run_s: float
    total: DirectionResult
    directions: dict[Direction, DirectionResult]
    streams: tuple[StreamResult, ...]
    cpu_percent: float = 0.0
    telemetry: Telemetry | None = None


class SteadyWatch:
    """Collects intervals into windows of `every_ns`, and their values.

    A window ends with the interval that comes nearest to its length. Those that
    begin before the rule's least passes are over do not count.
    """

    def __init__(
        self,
        rule: SteadyRule,
        every_ns: int,
        told: Callable[[Steady, int], None],
        pass_bytes: int = 1,
    ) -> None:
        self.rule, self.every_ns, self.told = rule, every_ns, told
        self.pass_bytes, self.moved_bytes = pass_bytes, 0
        self.values: list[Figure] = []
        self.last = assess(rule, ())
        self._begin()

    def _begin(self) -> None:
        self.part, self.part_ns = Measurement(), 0

    def add(self, progress: Progress) -> bool:
        """Take an interval; True once the values are steady."""
        if progress.warmup:
            return False
        self.part.add(progress)
        self.part_ns += progress.interval_ns
        if self.part_ns + progress.interval_ns // 2 < self.every_ns:
            return False
        self.last = self._judged()
        self.told(self.last, len(self.values))
        self._begin()
        return self.last.reached

    def _judged(self) -> Steady:
        """What the window that has ended adds to."""
        passes = self.moved_bytes / self.pass_bytes
        self.moved_bytes += sum(one.bytes for one in self.part.directions.values())
        if passes >= self.rule.least_passes:
            self.values.append(self._value())
            return assess(self.rule, self.values)
        why = f"{passes:.2g} of at least {self.rule.least_passes:g} passes so far"
        return assess(self.rule, ()).model_copy(update={"why": why})

    def _value(self) -> Figure:
        part = Part(
            self.part_ns / SECOND_NS,
            self.part.total,
            self.part.directions,
            self.part.streams,
        )
        return figure(self.rule.metric, [Sample(part, self.part.detail)])
