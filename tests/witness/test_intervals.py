"""A stall of a device, in the interval in which the device saw it, and no other."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from pathlib import Path

import numpy as np
import pytest
from command import ioplan, plan_file

from ioplan.results.measure import Histogram, IntervalCounts, Slice, counts_of
from ioplan.results.store import Store
from ioplan_witness import Device, seen

pytestmark = [pytest.mark.slow, pytest.mark.machine]
LONG_NS = 150_000_000
"""Only what meets the stall of 200 ms takes so long."""
QD = 2
WRITE = 1
LONG_BIN = 128 * (27 - 7 + 1)
"""From 2^27 ns, 134 ms, on."""
PLAN = """
workload two {
  reader = random 4KiB 100/0, qd 2
  writer = random 4KiB 0/100, qd 2
}
test "Stall" { run two for 3s }
"""


def long_writes(one: Slice) -> int:
    _, histogram = one.cells.get(("writer", "write"), (None, Histogram.of(())))
    return int(histogram.count[histogram.index >= LONG_BIN].sum())


@pytest.mark.long
def test_stalls_are_where_the_device_saw_them(
    device: Callable[..., Device], tmp_path: Path, store_path: Path
) -> None:
    """Writes, as ioplan reads the device before the run."""
    stall = {"at": "1s", "length": "200ms", "every": "1500ms"}
    one = device(size="64MiB", latency=[{"value": "2ms"}], stall=[stall])
    target = ("--target", one.disk, "--overwrite-data", one.disk)
    asked = ("--backend", "io_uring", "--interval", "100ms")
    done = ioplan("run", plan_file(tmp_path, PLAN), *target, *asked)
    assert done.code == 0, done.err
    with Store.open(store_path) as store:
        packed = store.intervals(store.session("last").id, 1)
    slices = list(IntervalCounts(packed).between(-inf, inf))
    log = seen(one)
    log = log[log["kind"] == WRITE]
    counted = counts_of(slices)["writer"].directions["write"].ios
    assert 0 <= len(log) - counted <= QD  # what is under way at the end is not counted
    stalled = log[log["done_ns"] - log["arrived_ns"] > LONG_NS]
    assert len(stalled) >= QD and sum(map(long_writes, slices)) == len(stalled)
    ended_ns = (stalled["done_ns"] - log["arrived_ns"].min()).astype(np.int64)
    for one_slice in slices:
        near_ns = one_slice.end_ns - one_slice.begin_ns
        away = ended_ns + near_ns < one_slice.begin_ns
        away |= ended_ns - near_ns > one_slice.end_ns
        if away.all():
            assert not long_writes(one_slice)
