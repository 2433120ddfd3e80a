"""What a job did, in fio's terms: units, buckets of latencies, and percentiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from ioplan.job import SECOND_NS
from ioplan.records import DirectionResult, RunDetail, RunRecord
from ioplan.results.measure import (
    CountsBuilder,
    Histogram,
    IntervalCounts,
    bucket_range,
)
from ioplan.workload import Direction
from ioplan_importer.fio_command.job_plan import PERCENTILES, JobPlace, asked_percents

DIRECTIONS: tuple[Direction, ...] = ("read", "write", "trim")
FLUSH: Direction = "flush"
FIO_BITS = 6
"""fio's buckets: 64 an octave (stat.h), two of ours in each."""
EDGES = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)
"""Upper edges of fio's table of latencies, in ns, us and ms."""


class Span(Struct, frozen=True):
    """An interval of a run: when it ended, and what one job did in it."""

    end_ns: int
    length_ns: int
    counts: Mapping[Direction, CountsBuilder]


class Rates(Struct, frozen=True):
    """The rates in the intervals of a run: fio's samples."""

    values: tuple[float, ...] = ()

    @property
    def least(self) -> float:
        """0 without any."""
        return min(self.values, default=0.0)

    @property
    def most(self) -> float:
        """0 without any."""
        return max(self.values, default=0.0)

    @property
    def mean(self) -> float:
        """0 without any."""
        return float(np.mean(self.values)) if self.values else 0.0

    @property
    def deviation(self) -> float:
        """The deviation of a sample, as fio has it; 0 for fewer than two."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else 0.0


class DirectionFigures(Struct, frozen=True):
    """One direction of a job; latencies in ns, `buckets` by their middles."""

    result: DirectionResult | None
    run_s: float
    buckets: Mapping[int, int]
    bandwidth: Rates
    iops: Rates
    asked_percents: tuple[float, ...] = PERCENTILES

    @property
    def ios(self) -> int:
        """Completed ones."""
        return self.result.ios if self.result else 0

    @property
    def bytes(self) -> int:
        """Moved by them."""
        return self.result.bytes if self.result else 0

    @property
    def moments(self) -> tuple[int, int, float, float]:
        """Least, most, mean and deviation of the latency in ns; 0 without any."""
        known = self.result.latency if self.result else None
        if known is None:
            return 0, 0, 0.0, 0.0
        return known.min_ns, known.max_ns, known.mean_ns, known.stddev_ns

    @property
    def percentiles(self) -> dict[float, int]:
        """The middle of the bucket that each falls into, as fio tells it."""
        middles, counts = [*self.buckets], np.cumsum([*self.buckets.values()])
        asked = self.asked_percents
        if not middles:
            return dict.fromkeys(asked, 0)
        ranks = [max(1, np.ceil(one / 100 * counts[-1])) for one in asked]
        found = np.searchsorted(counts, ranks)
        return {one: middles[at] for one, at in zip(asked, found, strict=True)}


class JobFigures(Struct, frozen=True):
    """A job with all directions; percent are of one CPU."""

    place: JobPlace
    record: RunRecord
    spans: tuple[Span, ...]
    directions: Mapping[Direction, DirectionFigures]
    sync_ios: int
    sync: DirectionFigures
    """Of the flushes; without figures where the backend only counts them."""
    user_percent: float
    system_percent: float


def job_figures(
    places: Sequence[JobPlace], runs: Mapping[str, tuple[RunRecord, RunDetail]]
) -> Iterator[JobFigures]:
    """Each job of which the run did I/O; `runs` are by the titles of tests."""
    alone = {p.test for p in places if sum(o.test == p.test for o in places) == 1}
    for place in places:
        if place.test in runs and runs[place.test][0].streams:
            record, detail = runs[place.test]
            yield _job(place, record, detail, place.test in alone)


def _job(
    place: JobPlace, record: RunRecord, detail: RunDetail, alone: bool
) -> JobFigures:
    by_name = {one.name: one for one in record.streams}
    # a run of one stream has no name for it
    stream = record.streams[0] if alone else by_name[place.stream]
    run_s = stream.run_s or record.run_s
    spans = tuple(_spans(detail, stream.name))
    generator = record.telemetry.generator_cpu_percent if record.telemetry else None
    user = record.telemetry.generator_user_percent if record.telemetry else None
    asked = asked_percents(place.job.text("percentile_list") or "")
    whole = generator if generator is not None else record.cpu_percent or 0.0
    figures = {
        name: DirectionFigures(
            result=stream.directions.get(name),
            run_s=run_s,
            buckets=_buckets(detail, stream.name, name),
            bandwidth=_rates(spans, name, lambda one: one.bytes),
            iops=_rates(spans, name, lambda one: one.ios),
            asked_percents=asked,
        )
        for name in (*DIRECTIONS, FLUSH)
    }
    return JobFigures(
        place=place,
        record=record,
        spans=spans,
        sync=figures.pop(FLUSH),
        directions=figures,
        sync_ios=stream.sync_ios,
        user_percent=user or 0.0,
        system_percent=whole - (user or 0.0),
    )


def _spans(detail: RunDetail, stream: str) -> Iterator[Span]:
    for one in IntervalCounts(detail.intervals) if detail.intervals else ():
        own = {key[1]: cell for key, cell in one.cells.items() if key[0] == stream}
        if one.length_ns:
            yield Span(one.end_ns, one.length_ns, own)


def _rates(
    spans: Iterable[Span], name: Direction, amount: Callable[[CountsBuilder], int]
) -> Rates:
    """A second's amount in each interval; none where the direction did nothing."""
    found = tuple(
        amount(one.counts.get(name, CountsBuilder())) * SECOND_NS / one.length_ns
        for one in spans
    )
    return Rates(found) if any(found) else Rates()


def _buckets(detail: RunDetail, stream: str, direction: str) -> dict[int, int]:
    """By the middle of fio's bucket, in order."""
    bins = [
        Histogram.of(one.bins, one.bits)
        for one in detail.histograms
        if (one.stream, one.direction) == (stream, direction)
    ]
    found: dict[int, int] = {}
    for one in bins:
        for index, count in zip(one.index.tolist(), one.count.tolist(), strict=True):
            middle = fio_middle(bucket_range(index, one.bits)[0])
            found[middle] = found.get(middle, 0) + count
    return dict(sorted(found.items()))


def fio_middle(value_ns: int) -> int:
    """What fio tells of a latency: `plat_idx_to_val` of its stat.c."""
    if value_ns < 2 << FIO_BITS:
        return value_ns
    shift = value_ns.bit_length() - 1 - FIO_BITS
    return (value_ns >> shift << shift) + (1 << shift) // 2


def shares(figures: JobFigures) -> dict[str, dict[str, float]]:
    """The percent of all I/Os of a job up to each edge, beyond the one before."""
    edges = [(unit, str(e), e * factor) for unit, factor in UNITS for e in EDGES]
    edges += [("latency_ms", "2000", 2_000_000_000)]
    found: dict[str, dict[str, float]] = {unit: {} for unit, _ in UNITS}
    parts = figures.directions.values()
    buckets = [pair for one in parts for pair in one.buckets.items()]
    total, before = sum(count for _, count in buckets), 0
    for unit, name, edge_ns in edges:
        upto = sum(count for ns, count in buckets if ns < edge_ns)
        found[unit][name] = _percent(upto - before, total)
        before = upto
    found["latency_ms"][">=2000"] = _percent(total - before, total)
    return found


UNITS = (("latency_ns", 1), ("latency_us", 1000), ("latency_ms", 1_000_000))


def _percent(count: int, total: int) -> float:
    """fio shows 0.01 for what is less and not nothing."""
    if not count:
        return 0.0
    return max(100 * count / total, 0.01)
