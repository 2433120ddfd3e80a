"""What streams have counted in a run or in a stretch of it, as results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from ioplan.job import SECOND_NS
from ioplan.records.record import (
    DirectionResult,
    PhaseResult,
    StoredHistogram,
    StreamResult,
)
from ioplan.records.telemetry import Telemetry
from ioplan.results.measure.histogram import Histogram
from ioplan.results.measure.tally import READ_WRITE, CountsBuilder, StreamCountsBuilder
from ioplan.workload import COUNTED, Direction, Phase


class Totals:
    """The figures of streams over a measured time, made when they are asked for."""

    cpu_percent: float | None = None
    telemetry: Telemetry | None = None

    def __init__(self, counts: Mapping[str, StreamCountsBuilder], run_ns: int) -> None:
        self.counts, self.run_ns = counts, run_ns

    @property
    def run_s(self) -> float:
        """The measured time."""
        return self.run_ns / SECOND_NS

    @cached_property
    def streams(self) -> tuple[StreamResult, ...]:
        """The results by stream."""
        return tuple(one.result(self.run_ns) for one in self.counts.values())

    @cached_property
    def directions(self) -> dict[Direction, DirectionResult]:
        """The results by direction, over all streams."""
        return {
            direction: CountsBuilder.merged(parts).result(self.run_ns)
            for direction in COUNTED
            if (parts := self._parts(direction))
        }

    @cached_property
    def total(self) -> DirectionResult:
        """Reads and writes of all streams."""
        parts = [part for d in READ_WRITE for part in self._parts(d)]
        return CountsBuilder.merged(parts).result(self.run_ns)

    def in_phase(self, phase: Phase) -> PhaseResult:
        """As the results of a phase."""
        return PhaseResult(
            run_s=self.run_s,
            streams=self.streams,
            directions=self.directions,
            total=self.total,
            when=phase,
        )

    def _parts(self, direction: Direction) -> list[CountsBuilder]:
        streams = self.counts.values()
        return [s.directions[direction] for s in streams if direction in s.directions]

    def histograms(self) -> Iterable[tuple[str, Direction, Histogram]]:
        """The histogram of each stream and direction."""
        return (
            (stream.name, direction, part.histogram())
            for stream in self.counts.values()
            for direction, part in stream.directions.items()
        )

    def stored(self, phase: str = "") -> tuple[StoredHistogram, ...]:
        """The histograms as they are stored."""
        return tuple(
            StoredHistogram.model_construct(
                stream=stream,
                direction=direction,
                bits=one.bits,
                bins=one.flat(),
                phase=phase,
            )
            for stream, direction, one in self.histograms()
        )
