"""The worst second and the share of intervals above a limit, against the device's log."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command import ioplan, plan_file
from fio_jobs import NEEDS_FIO

from ioplan_witness import Device, seen

pytestmark = [pytest.mark.slow, pytest.mark.machine]
RATE, SECONDS, BLOCK = 200, 5, 4096
SLOW = range(2 * RATE + 20, 2 * RATE + 60)
"""The I/Os by number that take long: all of them in the third second."""
SLOW_MS, FAST_MS = 100, 1
PLAN = """test "Seconds" {
  run sequential 4KiB 0/100, qd 64, rate 200 iops for 5s, interval 100ms
  expect worst_second.p90 < 5ms
  expect intervals of max above 90ms <= 1%
  expect p50 < 90ms
}"""


@pytest.mark.long
def test_one_bad_second_is_told(
    device: Callable[..., Device], tmp_path: Path, store_path: Path
) -> None:
    """The median of the run hides it."""
    place = [f"{SLOW.start * BLOCK}B", f"{SLOW.stop * BLOCK}B"]
    # a bucket of the histogram is 0.8 % wide, and counts as its middle
    slow = [{"range": place, "value": f"{SLOW_MS + 1}ms"}, {"value": f"{FAST_MS}ms"}]
    one = device(size="64MiB", latency=slow)
    target = ("--target", one.disk, "--overwrite-data", one.disk)
    plan = plan_file(tmp_path, PLAN)
    done = ioplan("run", plan, "--backend", "io_uring", *target)
    assert done.code == 1, done
    told = json.loads(ioplan("export", "last", "--format", "json").out)
    verdicts = told["runs"][0]["verdicts"]
    assert [v["outcome"] for v in verdicts] == ["failed", "failed", "held"]
    worst_ns, share = (one["actual"] for one in verdicts[:2])
    log = seen(one)
    log = np.sort(log[log["kind"] == 1], order="done_ns")
    took_ns = (log["done_ns"] - log["arrived_ns"]).astype(np.int64)
    number = (log["offset"] // BLOCK).astype(np.int64)
    in_slow = np.isin(number, SLOW)
    assert in_slow.sum() == len(SLOW) and len(log) >= (SECONDS - 1) * RATE
    assert np.percentile(took_ns[in_slow], 50) == pytest.approx(SLOW_MS * 1e6, rel=0.2)
    # 40 of the 200 of a second: its 90th percentile is a slow one
    assert SLOW_MS * 1e6 <= worst_ns <= took_ns.max() + 90e6
    # they are due within 200 ms, and done 100 ms later
    assert 2 * 2 <= share <= 2 * 6


@NEEDS_FIO
@pytest.mark.long
def test_fio_is_refused_unless_its_intervals_are_allowed(
    device: Callable[..., Device], tmp_path: Path, store_path: Path
) -> None:
    one = device(size="64MiB", latency=[{"value": "1ms"}])
    target = ("--target", one.disk, "--overwrite-data", one.disk)
    text = (
        'test "T" { run random 4KiB 100/0, qd 4 for 3s expect worst_second.p50 < 1s }'
    )
    call = ("run", plan_file(tmp_path, text), "--backend", "fio", *target)
    done = ioplan(*call)
    assert done.code == 2 and "to about 0.1 s" in done.err, done
    done = ioplan(*call, "--allow", "interval")
    assert done.code == 0, done
