"""Checks of a run's figures against each other.

A backend that miscounts must not pass unseen: an error means that figures of
the run contradict each other, a warning that something is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from ioplan.core.error_kinds import FigureFault
from ioplan.records.record import Interval
from ioplan.results.measure.histogram import Histogram, bucket_range
from ioplan.results.measure.tally import CountsBuilder, StreamCountsBuilder
from ioplan.workload import DIRECTIONS, Direction

MEAN_PERCENT = 1.0
"""A bucket's middle is within 0.4 % of its values, so 1 % is no rounding."""
ROUNDING = 1e-6
"""What adding up squares as floats may lose, as a share of the sum."""


WARNINGS = (FigureFault.HISTOGRAM_MISSING, FigureFault.SERIES_SUM)
"""Something is missing, but nothing is contradicted."""

Fault = tuple[FigureFault, str]
"""What is wrong, and the text for it."""


class Inconsistency(Struct, frozen=True):
    """A contradiction, and the stream and direction that it is in."""

    kind: FigureFault
    where: str
    text: str

    @property
    def is_error(self) -> bool:
        """Whether figures contradict each other, and none is only missing."""
        return self.kind not in WARNINGS

    def __str__(self) -> str:
        return f"{self.where}: {self.text}" if self.where else self.text


def tally_faults(
    stream: str, direction: Direction, tally: CountsBuilder
) -> list[Inconsistency]:
    """What is wrong within one direction of one stream."""
    checks = [*_number_faults(tally), *_histogram_faults(tally, tally.histogram())]
    if direction in DIRECTIONS and tally.ios and not tally.bytes:
        text = f"{tally.ios} I/Os moved no byte"
        checks.append((FigureFault.IO_WITHOUT_BYTES, text))
    where = f"{stream} {direction}"
    return [Inconsistency(kind, where, text) for kind, text in checks]


def _number_faults(tally: CountsBuilder) -> Iterator[Fault]:
    if min(tally.ios, tally.bytes, tally.errors, tally.min_ns, tally.sum_ns) < 0:
        yield FigureFault.NEGATIVE_COUNT, "a count is negative"
    if tally.min_ns > tally.max_ns:
        yield (
            FigureFault.EXTREMES_SWAPPED,
            f"the smallest latency, {tally.min_ns} ns, exceeds "
            f"the largest, {tally.max_ns} ns",
        )
    elif not tally.ios * tally.min_ns <= tally.sum_ns <= tally.ios * tally.max_ns:
        text = "the mean latency lies outside the smallest and the largest"
        yield FigureFault.MEAN_OUTSIDE, text
    if not tally.ios and (tally.bytes or tally.sum_ns):
        text = "bytes or latencies were counted, but no I/O"
        yield FigureFault.COUNTS_WITHOUT_IO, text
    if tally.ios * tally.sum_sq_ns2 < tally.sum_ns**2 * (1 - ROUNDING):
        text = "the sum of squared latencies is smaller than the mean allows"
        yield FigureFault.SQUARES_TOO_SMALL, text


def _histogram_faults(tally: CountsBuilder, histogram: Histogram) -> Iterator[Fault]:
    total = histogram.total
    if not total:
        if tally.ios:
            text = "the backend gave no latency histogram, so there are no percentiles"
            yield FigureFault.HISTOGRAM_MISSING, text
        return
    if total != tally.ios:
        text = f"the histogram counts {total} latencies, but {tally.ios} I/Os completed"
        yield FigureFault.HISTOGRAM_COUNT, text
        return
    yield from _mean_faults(tally.sum_ns / tally.ios, histogram.mean_ns())
    lowest, _ = bucket_range(int(histogram.index[-1]), histogram.bits)
    _, highest = bucket_range(int(histogram.index[0]), histogram.bits)
    if lowest > tally.max_ns or highest <= tally.min_ns:
        text = "the histogram reaches beyond the smallest or the largest latency"
        yield FigureFault.HISTOGRAM_EXTREMES, text


def _mean_faults(exact_ns: float, binned_ns: float) -> Iterator[Fault]:
    if abs(binned_ns - exact_ns) > exact_ns * MEAN_PERCENT / 100:
        yield (
            FigureFault.HISTOGRAM_MEAN,
            f"the histogram's mean, {binned_ns:.0f} ns, is more than "
            f"{MEAN_PERCENT:g} % from the exact mean, {exact_ns:.0f} ns",
        )


def time_faults(series: Sequence[Interval], run_ns: int) -> list[Inconsistency]:
    """What is wrong with the times of the series."""
    faults: list[Fault] = []
    if any(after.t_s <= before.t_s for before, after in pairwise(series)):
        text = "the intervals are not in order"
        faults.append((FigureFault.INTERVAL_ORDER, text))
    if run_ns <= 0 and any(sum(point.ios.values()) for point in series):
        faults.append((FigureFault.NO_TIME, "I/Os completed in zero time"))
    return [Inconsistency(kind, "", text) for kind, text in faults]


def missing_in_series(
    seen: dict[str, StreamCountsBuilder], final: dict[str, StreamCountsBuilder]
) -> list[Inconsistency]:
    """Where the intervals do not add up to the result."""
    return [
        Inconsistency(
            FigureFault.SERIES_SUM, where, f"the series has {a} {noun}, the result {b}"
        )
        for where, ours, theirs in _pairs(seen, final)
        for noun, a, b in (
            ("I/Os", ours.ios, theirs.ios),
            ("bytes", ours.bytes, theirs.bytes),
            ("errors", ours.errors, theirs.errors),
        )
        if a != b
    ]


def _pairs(
    seen: dict[str, StreamCountsBuilder], final: dict[str, StreamCountsBuilder]
) -> Iterable[tuple[str, CountsBuilder, CountsBuilder]]:
    """Each direction of each stream on either side; nothing counts as zeros."""
    none = CountsBuilder()
    for name in dict.fromkeys((*final, *seen)):
        ours, theirs = (
            side.get(name, StreamCountsBuilder(name)) for side in (seen, final)
        )
        for direction in dict.fromkeys((*theirs.directions, *ours.directions)):
            yield (
                f"{name} {direction}",
                ours.directions.get(direction, none),
                theirs.directions.get(direction, none),
            )
