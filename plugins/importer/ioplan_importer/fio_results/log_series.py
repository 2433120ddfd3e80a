"""fio's logs as the series of a run.

A log of latencies without `log_avg_msec` has every I/O, and a log of histograms every
I/O's bucket: they say all that an interval has. Averages say less: I/Os are `iops`
times the interval, bytes `bw` times it, and there is a mean, but no percentile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ioplan.records import Interval
from ioplan.results.measure import (
    PERCENTS,
    READ_WRITE,
    CountsBuilder,
    bucket_index,
)
from ioplan.workload import DIRECTIONS, Direction
from ioplan_fio.counts import edges_ns, to_bins
from ioplan_importer.findings import Findings, ImportFault
from ioplan_importer.fio.numbers import NumberFault, whole
from ioplan_importer.fio_results.log_file import (
    BEFORE_BUCKETS,
    HISTOGRAM,
    IN_GROUP,
    LogFile,
    Rows,
    whole_windows,
    window_of,
)

# Averages that fio logs (`log_avg_msec`) as intervals.
#
# A row holds since the row before it, and rows come when fio gets to it: the first
# may be of 408 ms where 250 were asked, and threads are not in step. So each log
# becomes a sum that grows in straight lines (I/Os, bytes, I/Os times latency), of
# which an interval has its difference.

MS_PER_S, KIB = 1000, 1024
LEAST_SHARE = 0.5
"""The last interval of a run is left out where it is shorter than this part."""
Values = npt.NDArray[np.float64]
Sums = Callable[[Values], Values]
"""What has come up to each of some times in ms."""


def averaged(
    iops: Sequence[LogFile],
    bandwidths: Sequence[LogFile],
    latencies: Sequence[LogFile],
    step_ms: int,
) -> list[Interval]:
    """The intervals that all threads logged. Percentiles cannot be had of averages."""
    edges_ms = _edges(iops, step_ms)
    ios = _by_direction(iops, edges_ms, lambda log, way: _growing(log, way, 1))
    moved = _by_direction(bandwidths, edges_ms, lambda log, w: _growing(log, w, KIB))
    rates = {log.thread: log for log in iops}
    times = _by_direction(
        [log for log in latencies if log.thread in rates],
        edges_ms,
        lambda log, way: _waited(log, rates[log.thread], way),
    )
    return list(_intervals(edges_ms / MS_PER_S, ios, moved, times))


def _edges(iops: Sequence[LogFile], step_ms: int) -> Values:
    """The intervals' ends, up to where the first thread ended."""
    end_ms = min((int(log.rows[-1, 0]) for log in iops if len(log.rows)), default=0)
    whole = np.arange(0, end_ms + 1, step_ms, dtype=float)
    if end_ms - whole[-1] >= LEAST_SHARE * step_ms:
        return np.append(whole, end_ms)
    return whole


def _by_direction(
    logs: Sequence[LogFile], edges_ms: Values, sums: Callable[[LogFile, int], Sums]
) -> dict[Direction, Values]:
    """Each direction that a log has, over all threads; by interval."""
    return {
        direction: sum(
            (np.diff(sums(log, way)(edges_ms)) for log in logs),
            np.zeros(len(edges_ms) - 1),
        )
        for way, direction in enumerate(DIRECTIONS)
        if any((log.rows[:, 2] == way).any() for log in logs)
    }


def _growing(log: LogFile, way: int, unit: int) -> Sums:
    """The sum of a rate per second."""
    rows = log.rows[log.rows[:, 2] == way]
    ends_ms = np.concatenate([[0], rows[:, 0]]).astype(float)
    grown = np.cumsum(rows[:, 1] * np.diff(ends_ms)) * unit / MS_PER_S
    return lambda at_ms: np.interp(at_ms, ends_ms, np.concatenate([[0], grown]))


def _waited(log: LogFile, iops: LogFile, way: int) -> Sums:
    """The sum of all latencies: each mean counts for the I/Os that it is of."""
    rows = log.rows[log.rows[:, 2] == way]
    ends_ms = np.concatenate([[0], rows[:, 0]]).astype(float)
    waited = np.cumsum(rows[:, 1] * np.diff(_growing(iops, way, 1)(ends_ms)))
    return lambda at_ms: np.interp(at_ms, ends_ms, np.concatenate([[0], waited]))


def _intervals(
    edges_s: Values,
    ios: dict[Direction, Values],
    moved: dict[Direction, Values],
    times: dict[Direction, Values],
) -> Iterator[Interval]:
    for number, (start_s, end_s) in enumerate(pairwise(edges_s)):
        done = sum(float(ios[d][number]) for d in READ_WRITE if d in ios)
        waited_ns = sum(float(times[d][number]) for d in READ_WRITE if d in times)
        yield Interval(
            t_s=float(end_s),
            length_s=float(end_s - start_s),
            ios={d: round(float(part[number])) for d, part in ios.items()},
            bytes={d: round(float(part[number])) for d, part in moved.items()},
            errors=0,
            mean_ns=waited_ns / done if waited_ns and done else None,
            p50_ns=None,
            p99_ns=None,
            p99_9_ns=None,
            max_ns=0,
        )


OFF_PERCENT = 5
"""Averages are rounded."""
LATENCIES = ("clat", "lat")
"""In this order, as of a document's latencies."""
Windows = Mapping[int, Mapping[Direction, CountsBuilder]]
"""By the number of the interval, from 0 on."""


def series_of_logs(
    logs: Sequence[LogFile],
    options: Mapping[str, object],
    ios: Mapping[Direction, int],
    run_s: float,
    findings: Findings,
) -> tuple[Interval, ...]:
    """The series of one run, from its threads' logs. Raises ImportFault.

    `ios` is what the document counted, which the logs have to add up to, and `run_s`
    its time: the last interval may be shorter than the others.
    """
    averaged_ms = _number(options, "log_avg_msec")
    by_kind = {kind: [log for log in logs if log.kind == kind] for kind in _kinds(logs)}
    latencies = next((by_kind[k] for k in LATENCIES if k in by_kind), [])
    if latencies and not averaged_ms:
        series = _counted(_of_ios(latencies), MS_PER_S)
    elif HISTOGRAM in by_kind:
        step_ms = _number(options, "log_hist_msec") or MS_PER_S
        series = _counted(_of_histograms(by_kind[HISTOGRAM], step_ms), step_ms)
    elif averaged_ms and {"iops", "bw"} <= by_kind.keys():
        parts = by_kind["iops"], by_kind["bw"], latencies
        series = averaged(*parts, averaged_ms)
    else:
        raise ImportFault(
            "these logs say too little for a series",
            logs[0].span,
            "it takes a latency log of every I/O (write_lat_log without "
            "log_avg_msec), one of histograms (write_hist_log), or averages of both "
            "write_iops_log and write_bw_log",
        )
    _check(series, ios, run_s, logs[0], findings)
    return tuple(_ended(series, run_s))


def _kinds(logs: Sequence[LogFile]) -> set[str]:
    return {log.kind for log in logs}


def _number(options: Mapping[str, object], name: str) -> int:
    try:
        return whole(str(options.get(name, "0")))
    except NumberFault:
        return 0


def _of_ios(logs: Sequence[LogFile]) -> Windows:
    """Every I/O, in intervals of a second. Logs have millions: they are sorted once."""
    found: dict[int, dict[Direction, CountsBuilder]] = {}
    rows = np.concatenate([log.rows for log in logs])
    rows = rows[rows[:, 2] < len(DIRECTIONS)]
    windows = (rows[:, 0] - (rows[:, 0] > 0)) // MS_PER_S  # 1000 ms end the first
    groups = windows * len(DIRECTIONS) + rows[:, 2]
    order = np.argsort(groups, kind="stable")
    numbers, starts = np.unique(groups[order], return_index=True)
    parts = np.split(rows[order], starts[1:])
    for group, part in zip(
        numbers.tolist(), parts, strict=False
    ):  # none of an empty log
        number, way = divmod(group, len(DIRECTIONS))
        by = found.setdefault(number, {})
        by[DIRECTIONS[way]] = _exact(part[:, 1], int(part[:, 3].sum()))
    return found


def _exact(latencies_ns: Rows, moved_bytes: int) -> CountsBuilder:
    values_ns, counts = np.unique(latencies_ns, return_counts=True)
    made = CountsBuilder(
        ios=len(latencies_ns),
        bytes=moved_bytes,
        min_ns=int(values_ns[0]),
        max_ns=int(values_ns[-1]),
        sum_ns=int(latencies_ns.sum()),
        sum_sq_ns2=float((latencies_ns.astype(float) ** 2).sum()),
    )
    np.add.at(made.bins, [bucket_index(one) for one in values_ns.tolist()], counts)
    return made


def _of_histograms(logs: Sequence[LogFile], step_ms: int) -> Windows:
    """A row is what came since the one before it, of its direction and thread."""
    found: dict[int, dict[Direction, CountsBuilder]] = {}
    for log in whole_windows(logs, step_ms):
        for row in log.rows:
            number = window_of(int(row[0]), step_ms)
            direction = DIRECTIONS[int(row[1])]
            part = _bucketed(row[BEFORE_BUCKETS:], int(row[2]))
            by = found.setdefault(number, {})
            by.setdefault(direction, CountsBuilder()).merge(part)
    return found


def _bucketed(counts: Rows, size_bytes: int) -> CountsBuilder:
    """fio's buckets; a latency is the middle of its bucket, also the extremes."""
    bins = Counter({_middle_ns(int(i)): int(counts[i]) for i in counts.nonzero()[0]})
    if not bins:
        return CountsBuilder()
    ios, sum_ns = bins.total(), sum(at * count for at, count in bins.items())
    return CountsBuilder(
        ios=ios,
        bytes=ios * size_bytes,
        min_ns=min(bins),
        max_ns=max(bins),
        sum_ns=sum_ns,
        bins=to_bins(bins, *edges_ns(bins), sum_ns),
    )


def _middle_ns(index: int) -> int:
    """fio's plat_idx_to_val (stat.c)."""
    if index < 2 * IN_GROUP:
        return index
    bits = index // IN_GROUP - 1
    return (1 << (bits + 6)) + (2 * (index % IN_GROUP) + 1) * (1 << bits) // 2


def _counted(windows: Windows, step_ms: int) -> list[Interval]:
    return [_interval(n, windows[n], step_ms) for n in sorted(windows)]


def _interval(
    number: int, parts: Mapping[Direction, CountsBuilder], step_ms: int
) -> Interval:
    whole_of = CountsBuilder.merged(parts[d] for d in READ_WRITE if d in parts)
    none = (None,) * len(PERCENTS)
    p50_ns, p99_ns, p99_9_ns = whole_of.percentiles_ns(PERCENTS) or none
    return Interval(
        t_s=(number + 1) * step_ms / MS_PER_S,
        length_s=step_ms / MS_PER_S,
        ios={d: part.ios for d, part in parts.items()},
        bytes={d: part.bytes for d, part in parts.items()},
        errors=0,
        mean_ns=whole_of.sum_ns / whole_of.ios if whole_of.ios else None,
        p50_ns=p50_ns,
        p99_ns=p99_ns,
        p99_9_ns=p99_9_ns,
        max_ns=whole_of.max_ns,
    )


def _ended(series: Sequence[Interval], run_s: float) -> Iterator[Interval]:
    for one in series:
        over_s = one.t_s - run_s
        if 0 < over_s < one.length_s:
            ends = {"t_s": run_s, "length_s": one.length_s - over_s}
            yield one.model_copy(update=ends)
        else:
            yield one


def _check(
    series: Sequence[Interval],
    ios: Mapping[Direction, int],
    run_s: float,
    log: LogFile,
    findings: Findings,
) -> None:
    """Logs of another run do not add up to what the document counted."""
    covered = min(1.0, series[-1].t_s / run_s) if series else 0.0
    for direction, counted in ios.items():
        logged = sum(one.ios.get(direction, 0) for one in series)
        if abs(logged - counted * covered) * 100 > OFF_PERCENT * counted:
            findings.error(
                f"the logs have {logged} {direction}s, and the result has {counted}",
                log.span,
                "name the logs of the same run, of all its threads",
            )
