"""What each interval counts of each stream and direction, against the device's log.

The log tells when the device had done an I/O; the engine sees that a little later. So
there must be one start of the run for which each interval has just the I/Os that were
done in it, and each latency is the device's, and what lies between the two.
"""

from math import inf

import numpy as np
import pytest
from command import plan_file, succeed
from device_parts import Case, histogram_longer, parts_of, plan_of, short_first
from fio_jobs import NEEDS_FIO
from without_io_uring import engine_without_io_uring

from ioplan.results.measure import CountsBuilder, IntervalCounts
from ioplan.results.store import Store
from ioplan_testing import calmly
from ioplan_witness import seen

NEAR_NS = 15_000_000
"""What FUSE adds to an I/O, but for a few: measured up to 3 ms, and less than 0.4 for 97 of
100. What an interval adds to its latencies beyond that fails, as does an I/O that is
counted so much later."""
MOST_NEAR_NS = 90_000_000
"""On a host that is so busy that the device itself answers late."""
FIO_BIN = 0.9
"""What fio's buckets and the rank among few I/Os may take off."""
FEW = 0.05
"""The share of I/Os that a busy host may add more to."""
LATENCIES = ({"values": ["1ms", "5ms", "110ms"], "weights": [60, 35, 5]},)
DEVICE = {
    "size": "64MiB",
    "latency": [
        {"direction": "flush", "value": "15ms"},
        *({"shape": "values", **one} for one in LATENCIES),
    ],
}


def starts_ns(slices, key, part, near_ns):
    """The earliest and the latest start of the run by which the counts are right."""
    low_ns, high_ns, so_far = -inf, inf, 0
    for one in slices[:-1]:
        so_far += one.cells[key].ios if key in one.cells else 0
        if so_far:
            low_ns = max(low_ns, part.done_ns[so_far - 1] - one.end_ns)
        if so_far < len(part.done_ns):
            high_ns = min(high_ns, part.done_ns[so_far] + near_ns - one.end_ns)
    return low_ns, high_ns


def check_cell(cell, surely, perhaps, near_ns):
    """An interval between what it must have counted, and what it may have."""
    counts = cell or CountsBuilder()
    histogram = counts.histogram()
    assert surely.size.sum() <= counts.bytes <= perhaps.size.sum()
    for limit_ns in (0, *range(500_000, 130_000_000, 500_000)):
        assert histogram_longer(histogram, limit_ns) >= surely.longer(limit_ns)
        if near_ns < inf:
            longer = histogram_longer(histogram, limit_ns + near_ns)
            assert longer <= perhaps.longer(limit_ns) + 1 + FEW * histogram.total


def check(slices, parts, depth, in_order, near_ns=NEAR_NS):
    """Every I/O, but those under way at the end; `in_order` if none waits on its way."""
    assert {key for one in slices for key in one.cells} == parts.keys()
    for key, part in parts.items():
        counted = sum(one.cells[key].ios for one in slices if key in one.cells)
        assert 0 <= len(part.done_ns) - counted <= depth, key
    found = [starts_ns(slices, key, part, near_ns) for key, part in parts.items()]
    low_ns, high_ns = max(f[0] for f in found), min(f[1] for f in found)
    assert low_ns <= high_ns
    for at, one in enumerate(slices):
        begin_ns = -inf if at == 0 else one.begin_ns
        end_ns = inf if at == len(slices) - 1 else one.end_ns
        for key, part in parts.items():
            done_ns = part.done_ns
            surely = (done_ns >= high_ns + begin_ns) & (
                done_ns < low_ns + end_ns - near_ns
            )
            if end_ns == inf:
                surely[:] = False  # what was under way at the end is not counted
            perhaps = (done_ns >= low_ns + begin_ns - near_ns) & (
                done_ns < high_ns + end_ns
            )
            cell = one.cells.get(key)
            more_ns = near_ns if in_order else inf
            check_cell(cell, part.where(surely), part.where(perhaps), more_ns)


def near_of(log):
    """What this host adds, by how late the device was at its own times."""
    late_ns = int((log["done_ns"] - log["due_ns"]).astype(np.int64).max())
    return min(NEAR_NS + 2 * late_ns, MOST_NEAR_NS)


LOG = "sequential 4KiB 0/100, sync every"
READER = "random 4KiB 100/0, qd 4"
BURSTS = "random 4KiB 100/0, qd 64, burst 300ms of 300 iops, then 400ms of 20 iops"
SIZES = "random sizes { 4KiB 60%, 16KiB 30%, 64KiB 10% } 100/0, qd 4"
TWO = {"reader": READER, "writer": "sequential 16KiB 0/100, qd 1"}
CASES = {
    "mix": Case({"a": "random 4KiB 70/30, qd 4"}, 4),
    "two streams": Case(TWO, 5, in_order=True),
    "flushes": Case({"log": "sequential 16KiB 0/100, sync every 4"}, 1, in_order=True),
    "a reader beside a log": Case({"reader": READER, "log": f"{LOG} 1"}, 5),
    "poisson": Case({"a": "random 4KiB 100/0, qd 64, rate 200 iops poisson"}, 64, in_order=True),
    "bursts": Case({"a": BURSTS}, 64, in_order=True),
    "sizes": Case({"a": SIZES}, 4, in_order=True),
    "blocking calls": Case({"reader": READER, "log": f"{LOG} 2"}, 5, blocking=True),
    "trims": Case({"a": "random 4KiB 50/50, qd 2, trim 20%"}, 2),
    "verification": Case({"a": "random 4KiB 50/50, qd 2, verify"}, 2),
}  # fmt: skip
SHORT = ("two streams", "blocking calls")


@pytest.mark.slow
@pytest.mark.machine
@pytest.mark.parametrize("name", short_first(CASES, SHORT))
def test_intervals_have_what_the_device_did_in_them(
    name, device, tmp_path, store_path, monkeypatch
):
    case, plan = CASES[name], plan_file(tmp_path, plan_of(CASES[name]))
    if case.blocking:
        monkeypatch.setenv("IOPLAN_ENGINE", engine_without_io_uring(tmp_path))

    def measured(number):
        one = device(**DEVICE)
        target = ("--target", one.disk, "--overwrite-data", one.disk)
        asked = ("--backend", "io_uring", "--interval", "200ms")
        succeed("run", plan, *target, *asked)
        with Store.open(store_path) as store:
            (record,) = store.records(store.session("last").id)
            packed = store.intervals(record.session, record.seq)
        assert record.backend.mode == "sync" or not case.blocking
        slices = list(IntervalCounts(packed))
        assert len(slices) >= 10
        log = seen(one)
        check(slices, parts_of(case, log), case.depth, case.in_order, near_of(log))

    calmly(measured)  # with a rate, what the host holds up is in the latencies


@NEEDS_FIO
@pytest.mark.slow
@pytest.mark.machine
@pytest.mark.parametrize("name", ["mix", "two streams", "flushes"])
@pytest.mark.long
def test_fio_counts_each_io_in_one_interval(name, device, tmp_path, store_path):
    """Which of them, fio's documents do not tell to the millisecond; commits it has
    none."""
    case, one = CASES[name], device(**DEVICE)
    target = ("--target", one.disk, "--overwrite-data", one.disk)
    asked = ("--backend", "fio", "--interval", "200ms")
    succeed("run", plan_file(tmp_path, plan_of(case)), *target, *asked)
    with Store.open(store_path) as store:
        slices = list(IntervalCounts(store.intervals(store.session("last").id, 1)))
    log = seen(one)
    parts, near_ns = parts_of(case, log), near_of(log)
    parts.pop(("log", "commit"), None)
    assert {key for one in slices for key in one.cells} == parts.keys()
    for key, part in parts.items():
        cells = [one.cells[key] for one in slices if key in one.cells]
        assert len(cells) > 1
        counted = sum(cell.ios for cell in cells)
        assert 0 <= len(part.done_ns) - counted <= case.depth, key
        whole = CountsBuilder.merged(cells).histogram()
        assert whole.total == counted
        for percent in (50, 90):
            seen_ns = np.percentile(part.took_ns, percent)
            told_ns = whole.percentile_ns(percent)
            assert FIO_BIN * seen_ns <= told_ns <= seen_ns + near_ns, (key, percent)


# the worst second and the share of intervals above a limit
