"""Averages that fio logs (`log_avg_msec`) as intervals.

A row holds since the row before it, and rows come when fio gets to it: the first may be
of 408 ms where 250 were asked, and threads are not in step. So each log becomes a sum
that grows in straight lines (I/Os, bytes, I/Os times latency), of which an interval has
its difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ioplan.records.record import Interval
from ioplan.results.measure.tally import READ_WRITE
from ioplan.workload import DIRECTIONS, Direction
from ioplan_importer.fio_results.log_file import LogFile

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
