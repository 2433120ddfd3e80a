"""fio's figures as a record's: exact sums, and a histogram where there is one.

Of plain JSON there is a summary: mean, extremes, deviation and the percentiles that fio
wrote. It is kept as it is. No histogram is made of percentiles, so that no other
percentile can be had of it, and none of several runs together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from ioplan.job import SECOND_NS
from ioplan.records import (
    BEYOND,
    DirectionResult,
    Percentile,
    StoredHistogram,
    StreamResult,
)
from ioplan.results.measure import READ_WRITE, CountsBuilder, no_bins
from ioplan.workload import DIRECTIONS, Direction
from ioplan_fio.counts import LAST_EDGE_NS, LAST_NS, to_bins
from ioplan_fio.document import JobReport, Latency

MS_NS = 1_000_000


class Part(Struct, frozen=True):
    """One direction of one stream, over its threads."""

    counts: CountsBuilder
    percentiles: tuple[Percentile, ...]
    """Percentiles that fio wrote; none for several threads, or beside a histogram."""
    is_measured: bool = True
    """Whether fio measured the latencies of all threads."""
    is_saturated: bool = False
    """Whether the last bucket of fio's histogram has longer ones than it says."""

    @property
    def has_histogram(self) -> bool:
        """Whether fio gave one (json+)."""
        return bool(self.counts.bins.any())

    def result(self, run_ns: int) -> DirectionResult:
        """The figures over a measured time."""
        made = self.counts.result(run_ns)
        if not self.is_measured:
            return made.model_copy(update={"latency": None})
        if made.latency is None or self.has_histogram or not self.percentiles:
            return made
        latency = made.latency.model_copy(update={"percentiles": self.percentiles})
        return made.model_copy(update={"latency": latency})


Parts = dict[Direction, Part]


def parts_of(jobs: Sequence[JobReport]) -> Parts:
    """Each direction in which the threads of a job did something."""
    found = {direction: _part(jobs, direction) for direction in DIRECTIONS}
    return {d: part for d, part in found.items() if part.counts.ios}


def _part(jobs: Sequence[JobReport], direction: Direction) -> Part:
    counts, given = CountsBuilder(), []
    for job in jobs:
        report = job.part(direction)
        latency = _latency_of(job, direction)
        if not report.total_ios:
            continue
        given.append(latency)
        counts.merge(_counts(report.total_ios, report.io_bytes, latency))
    known = [latency for latency in given if latency]
    saturated = any(map(_is_saturated, known))
    if saturated or not all(latency and latency.bins for latency in given):
        counts.bins = no_bins()  # of some threads only it would mislead
    alone = given[0] if len(given) == 1 else None
    percentiles = _percentiles(alone, counts.ios) if alone else ()
    return Part(counts, percentiles, len(known) == len(given), saturated)


def _is_saturated(latency: Latency) -> bool:
    """Whether figures of its histogram are only bounds."""
    used = (*latency.bins, *latency.percentile.values())
    return latency.max_ns > LAST_EDGE_NS and max(used, default=0) >= LAST_NS


def _latency_of(job: JobReport, direction: Direction) -> Latency | None:
    """The completion latency, or the total one where only that has percentiles."""
    report = job.part(direction)
    lat, clat = (
        one if one and one.is_measured else None for one in (report.lat, report.clat)
    )
    if clat and (clat.bins or clat.percentile):
        return clat
    if lat and (lat.bins or lat.percentile or not clat):
        return lat
    return clat


def _counts(ios: int, io_bytes: int, latency: Latency | None) -> CountsBuilder:
    """fio's mean and deviation as sums; its deviation is that of a sample."""
    if latency is None:
        return CountsBuilder(ios=ios, bytes=io_bytes)
    counted = latency.count if latency.count is not None else ios
    sum_ns = round(latency.mean_ns * ios)
    spread = latency.stddev_ns**2 * max(0, counted - 1) / max(1, counted) * ios
    counts = CountsBuilder(
        ios=ios,
        bytes=io_bytes,
        min_ns=latency.min_ns,
        max_ns=latency.max_ns,
        sum_ns=sum_ns,
        sum_sq_ns2=spread + latency.mean_ns**2 * ios,
    )
    if latency.bins:
        bins = Counter(latency.bins)
        counts.bins = to_bins(bins, latency.min_ns, latency.max_ns, sum_ns)
    return counts


def _percentiles(latency: Latency, ios: int) -> tuple[Percentile, ...]:
    pairs = sorted((float(text), ns) for text, ns in latency.percentile.items())
    saturated = _is_saturated(latency)
    return tuple(
        Percentile(
            percent=percent,
            latency_ns=latency_ns,
            supported=ios * (1 - percent / 100) >= BEYOND,
            is_bound=saturated and latency_ns >= LAST_NS,
        )
        for percent, latency_ns in pairs
    )


def alike(parts: list[Parts]) -> list[Parts]:
    """Without any histogram where not all have one: a part is not the whole."""
    found = [part for one in parts for part in one.values()]
    if not all(part.has_histogram for part in found):
        for part in found:
            part.counts.bins = no_bins()
    return parts


def total_of(parts: Sequence[Parts]) -> Part:
    """Reads and writes together; percentiles only where there is one part."""
    return _together([one[d] for one in parts for d in READ_WRITE if d in one])


def direction_of(parts: Sequence[Parts], direction: Direction) -> Part | None:
    """One direction of all streams."""
    found = [one[direction] for one in parts if direction in one]
    return _together(found) if found else None


def _together(found: Sequence[Part]) -> Part:
    counts = CountsBuilder.merged(part.counts for part in found)
    return Part(
        counts,
        found[0].percentiles if len(found) == 1 else (),
        all(part.is_measured for part in found),
        any(part.is_saturated for part in found),
    )


def stream_result(name: str, jobs: Sequence[JobReport], parts: Parts) -> StreamResult:
    """One stream's figures over its own time."""
    run_ns = run_ns_of(jobs)
    return StreamResult(
        name=name,
        run_s=run_ns / SECOND_NS,
        directions={d: part.result(run_ns) for d, part in parts.items()},
        total=total_of([parts]).result(run_ns),
    )


def run_ns_of(jobs: Sequence[JobReport]) -> int:
    """The longest of the threads; a millisecond at least."""
    return max(1, *(job.run_ms for job in jobs)) * MS_NS


def histograms(name: str, parts: Parts) -> list[StoredHistogram]:
    """The histograms that fio gave."""
    return [
        StoredHistogram(stream=name, direction=d, bits=found.bits, bins=found.flat())
        for d, part in parts.items()
        if part.has_histogram
        for found in [part.counts.histogram()]
    ]
