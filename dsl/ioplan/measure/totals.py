"""What streams have counted in a run or in a stretch of it, as results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from ioplan.measure.histogram import Histogram
from ioplan.measure.tally import READ_WRITE, CountsBuilder, StreamCountsBuilder
from ioplan.records.record import DirectionResult, StoredHistogram, StreamResult
from ioplan.workload import COUNTED, Direction


class Totals:
    """The figures of streams over a measured time, made when they are asked for."""

    def __init__(self, counts: Mapping[str, StreamCountsBuilder], run_ns: int) -> None:
        self.counts, self.run_ns = counts, run_ns

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

    def stored(self) -> tuple[StoredHistogram, ...]:
        """The histograms as they are stored."""
        return tuple(
            StoredHistogram.model_construct(
                stream=stream, direction=direction, bits=one.bits, bins=one.flat()
            )
            for stream, direction, one in self.histograms()
        )
