"""Cumulative documents of one run (--status-interval) as its series."""

from __future__ import annotations

from itertools import pairwise

from ioplan.importer.fio_results.asked import groups_of
from ioplan.importer.fio_results.figures import parts_of, run_ns_of, total_of
from ioplan.importer.fio_results.model import JobReport, Report
from ioplan.job import SECOND_NS
from ioplan.measure.tally import CountsBuilder
from ioplan.records.record import Interval
from ioplan.workload import DIRECTIONS, Direction


def series_of(reports: list[Report], group: int) -> tuple[Interval, ...]:
    """What came between two documents; nothing of a file with one.

    Percentiles of an interval are those of a histogram, and so of none here.
    """
    seen: list[list[list[JobReport]]] = []
    for report in reports:
        groups = groups_of(report)
        if group < len(groups):
            seen.append(groups[group])
    times = [0, *(run_ns_of([j for jobs in one for j in jobs]) for one in seen)]
    if len(seen) < 2 or any(after <= before for before, after in pairwise(times)):
        return ()
    before: list[list[JobReport]] = []
    found = []
    for one, (start_ns, end_ns) in zip(seen, pairwise(times), strict=True):
        found.append(_interval(before, one, start_ns, end_ns))
        before = one
    return tuple(found)


def _interval(
    before: list[list[JobReport]],
    after: list[list[JobReport]],
    start_ns: int,
    end_ns: int,
) -> Interval:
    first, last = _counts(before), _counts(after)
    ios = {d: last[d].ios - first[d].ios for d in DIRECTIONS if last[d].ios}
    moved = {d: last[d].bytes - first[d].bytes for d in DIRECTIONS if last[d].ios}
    whole = total_of([parts_of(jobs) for jobs in after]).counts
    old = total_of([parts_of(jobs) for jobs in before]).counts
    new_ios = whole.ios - old.ios
    return Interval(
        t_s=end_ns / SECOND_NS,
        length_s=(end_ns - start_ns) / SECOND_NS,
        ios=ios,
        bytes=moved,
        errors=0,
        mean_ns=(whole.sum_ns - old.sum_ns) / new_ios if new_ios > 0 else None,
        p50_ns=None,
        p99_ns=None,
        p99_9_ns=None,
        max_ns=whole.max_ns if whole.max_ns > old.max_ns else 0,
    )


def _counts(groups: list[list[JobReport]]) -> dict[Direction, CountsBuilder]:
    parts = [parts_of(jobs) for jobs in groups]
    return {
        d: CountsBuilder.merged(one[d].counts for one in parts if d in one)
        for d in DIRECTIONS
    }
