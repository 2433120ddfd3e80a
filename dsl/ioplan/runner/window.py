"""Judges what goes on until it is steady, window by window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ioplan.job import SECOND_NS, Progress
from ioplan.language.plan import SteadyRule
from ioplan.results.measure import Measurement
from ioplan.results.record import DirectionResult, Steady, StreamResult
from ioplan.results.telemetry import Telemetry
from ioplan.runner.figures import Figure, Sample, figure
from ioplan.runner.steady import assess
from ioplan.workload import Direction


def judge_of(
    rule: SteadyRule | None,
    every_ns: int | None,
    told: Callable[[Steady, int], None],
) -> SteadyWatch | None:
    """Who judges a run that goes on until it is steady; nobody judges another."""
    return SteadyWatch(rule, every_ns, told) if rule and every_ns else None


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

    A window ends with the interval that comes nearest to its length.
    """

    def __init__(
        self, rule: SteadyRule, every_ns: int, told: Callable[[Steady, int], None]
    ) -> None:
        self.rule, self.every_ns, self.told = rule, every_ns, told
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
        self.values.append(self._value())
        self._begin()
        self.last = assess(self.rule, self.values)
        self.told(self.last, len(self.values))
        return self.last.reached

    def _value(self) -> Figure:
        part = Part(
            self.part_ns / SECOND_NS,
            self.part.total,
            self.part.directions,
            self.part.streams,
        )
        return figure(self.rule.metric, [Sample(part, self.part.detail)])
