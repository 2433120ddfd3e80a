"""Flushes and commits of the simulated drive, against sums of its own latencies."""

from __future__ import annotations

from typing import Any

import pytest
from sim_drive import stream
from test_sim import drive, events, run

from ioplan.job import Counts, Result
from ioplan.results.measure import Histogram
from ioplan.workload import DIRECTIONS, Rate
from ioplan_sim import DriveSpec

LOG: dict[str, Any] = {"read_percent": 0, "pattern": "sequential"}
FLUSH_NS = DriveSpec().buffer.flush


def mean_ns(result: Result, direction: Any) -> float:
    found: Counts = result.streams[0].directions[direction]
    return found.sum_ns / found.ios


@pytest.mark.parametrize("every", [1, 4, 32, 2_000_000])
def test_a_commit_is_its_writes_and_the_flush(every: int) -> None:
    """Of one I/O at a time; of the last there are more writes than a batch has."""
    length_ns = 10**9 if every < 1000 else 200 * 10**9
    result = run(drive(), stream(**LOG, qd=1, sync_every=every), run_ns=length_ns)
    found = result.streams[0].directions
    assert found["flush"].ios == found["commit"].ios == result.streams[0].sync_ios > 0
    assert mean_ns(result, "flush") == pytest.approx(FLUSH_NS, rel=0.02)
    writes_ns = every * mean_ns(result, "write")
    assert mean_ns(result, "commit") == pytest.approx(writes_ns + FLUSH_NS, rel=0.03)
    for direction in ("flush", "commit"):
        assert Histogram.of(found[direction].bins).total == found[direction].ios
        assert found[direction].bytes == 0


def test_a_commit_of_a_rate_waits_for_its_writes() -> None:
    log = stream(**LOG, qd=8, sync_every=10, rate=Rate(iops=1000))
    result = run(drive(), log, run_ns=10**10)
    assert mean_ns(result, "commit") == pytest.approx(9 * 10**6, rel=0.02)


def test_the_intervals_add_up_to_the_commits() -> None:
    *progress, result = events(drive(), stream(**LOG, sync_every=3), run_ns=3 * 10**9)
    parts = [p.streams[0].directions for p in progress[1:]]
    for direction in ("flush", "commit"):
        total = result.streams[0].directions[direction]
        assert sum(part[direction].ios for part in parts) == total.ios
        assert sum(part[direction].sum_ns for part in parts) == total.sum_ns


def test_a_stream_that_only_reads_has_neither() -> None:
    found = run(drive(), stream(sync_every=1)).streams[0].directions
    assert set(found) <= set(DIRECTIONS)
