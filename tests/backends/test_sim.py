"""The simulated drive as a backend: its figures agree, and it behaves like an SSD."""

from typing import Any

import pytest
from sim_drive import (
    FILL,
    SECOND_NS,
    WRITES,
    Bench,
    counts,
    iops,
    made_once,
    mean_ns,
    moved_bytes,
    size,
    stream,
)

from ioplan.backends import TargetRequest
from ioplan.results.measure import Histogram
from ioplan.workload import DIRECTIONS, Rate
from ioplan_sim import DriveSpec, SimBackend

GIB = 1 << 30
MIX = stream(
    read_percent=70,
    trim_percent=5,
    read_sizes=(*size(4096, 60), *size(65536, 40)),
    write_sizes=(*size(512, 10), *size(8192, 90)),
    qd=16,
    sync_every=32,
    verify=True,
    pause_ns=1000,
    pause_every=8,
)


def drive(gib=64):
    return Bench(DriveSpec(), gib * GIB)


@made_once
def filled():
    """A drive that was written once, in order."""
    on = drive()
    on.run(FILL, passes=1)
    return on


@made_once
def aged():
    """A drive in the steady state of random writes."""
    on = drive(4)
    on.run(WRITES, run_ns=60 * SECOND_NS)
    return on


def run(on, *streams, **limits):
    return on.run(*streams, **limits)[0]


@pytest.mark.promise("figures.simulated")
def test_same_seed_same_figures():
    limits = {"run_ns": SECOND_NS}
    assert drive().run(MIX, **limits) == drive().run(MIX, **limits)
    assert drive().run(MIX, **limits, seed=2) != drive().run(MIX, **limits)


def test_a_read_of_nothing_is_fast():
    """The trap of a new drive: what was never written need not be read."""
    assert drive().latency_ns(stream()) < 15_000
    assert filled().latency_ns(stream()) > 60_000


@pytest.mark.long
def test_steady_state_does_not_depend_on_the_length_of_intervals():
    second, minute = (
        drive(16).iops(WRITES, run_ns=200 * SECOND_NS, interval_ns=n * SECOND_NS)
        for n in (1, 60)
    )
    assert minute == pytest.approx(second, rel=0.03)


def test_a_drive_recovers_while_it_only_reads_and_a_purge_makes_it_new():
    on, short = aged(), {"run_ns": SECOND_NS // 10}
    steady = on.iops(WRITES, **short)
    on.run(stream(), run_ns=60 * SECOND_NS)
    assert on.iops(WRITES, **short) > 1.5 * steady
    opened = SimBackend().open(TargetRequest(create_bytes=4 * GIB))
    opened.ssd, fresh = on.device, drive(4).iops(WRITES)
    assert "erased" in opened.purge()
    on.device = opened.ssd
    assert on.iops(WRITES) == pytest.approx(fresh, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("slow", [{"write_sizes": size(512)}, {"align_bytes": 512}])
def test_partial_pages_cost(slow):
    """Behind the buffer: the dies read before they program."""
    partial = WRITES.model_copy(update=slow)
    assert aged().iops(partial) < 0.9 * aged().iops(WRITES)


def test_equal_streams_share_the_drive_equally():
    result = run(filled(), stream(name="a", qd=128), stream(name="b", qd=128))
    assert iops(result, 0) == pytest.approx(iops(result, 1), rel=0.01)
    assert iops(result, 0) == pytest.approx(300_000, rel=0.02)


@pytest.mark.parametrize("arrivals", ["fixed", "poisson", "gamma"])
@pytest.mark.parametrize(
    "rate", [{"iops": 5000.5}, {"bytes_per_s": 5000.5 * 4096}], ids=["iops", "bytes"]
)
def test_a_rate_is_kept(rate, arrivals):
    asked = stream(qd=8, rate=Rate(**rate, arrivals=arrivals, gap_variation=0.5))
    result = run(filled(), asked, run_ns=10 * SECOND_NS)
    slack = 1 if arrivals == "fixed" else 5 * 50_005**0.5
    assert result.run_ns == 10 * SECOND_NS
    assert abs(counts(result)[0].ios - 50_005) <= slack
    assert mean_ns(result) == pytest.approx(75_000, rel=0.05)
    assert result.streams[0].backlog_ios <= 8


def test_an_overload_grows_the_backlog_and_the_latency():
    able = drive().iops(stream(qd=8))
    asked = stream(qd=8, rate=Rate(iops=2 * able))
    result, series = drive().run(asked, run_ns=10 * SECOND_NS)
    backlog = result.streams[0].backlog_ios
    assert iops(result) == pytest.approx(able, rel=0.02)
    assert iops(result) * 10 + backlog == pytest.approx(2 * able * 10, rel=0.001)
    # Half of what came waits; the last to complete was due halfway through.
    assert mean_ns(series[-1]) == pytest.approx(4.75 * SECOND_NS, rel=0.03)
    assert counts(result)[0].max_ns < 5.25 * SECOND_NS
    assert series[-1].streams[0].backlog_ios == backlog


def test_sums_beyond_64_bits_are_right():
    asked = stream(rate=Rate(iops=1e6))
    result = run(drive(), asked, run_ns=8 * 3600 * SECOND_NS, interval_ns=10**12)
    (one,) = counts(result)
    assert one.sum_ns > 2**64
    assert Histogram.of(one.bins).mean_ns() == pytest.approx(mean_ns(result), rel=0.005)


def test_a_rated_stream_leaves_the_rest_to_others():
    # Below its fair share, 64 of 320 outstanding I/Os or 120,000 IOPS.
    result = run(filled(), stream(qd=64, rate=Rate(iops=50_000)), stream(qd=256))
    assert iops(result, 0) == pytest.approx(50_000, rel=0.001)
    assert iops(result, 1) == pytest.approx(550_000, rel=0.03)


def test_the_first_limit_ends_the_run():
    result = run(drive(), WRITES, run_ns=SECOND_NS // 4, limit_bytes=GIB, passes=1)
    assert result.run_ns == SECOND_NS // 4
    result = run(drive(), WRITES, run_ns=SECOND_NS * 9, limit_bytes=GIB, passes=1)
    assert moved_bytes(result) == GIB and result.run_ns < SECOND_NS


def test_what_goes_on_is_read_from_the_page_that_was_read_before():
    """Reads that begin where the last one ended are cheap, in proportion."""
    on = drive(8)
    on.run(FILL, passes=1)
    means = [on.latency_ns(stream(random_percent=percent)) for percent in (100, 50, 2)]
    sequential = on.latency_ns(stream(pattern="sequential"))
    assert means[0] > 1.1 * means[1] > 1.2 * means[2]
    assert means[2] == pytest.approx(sequential, rel=0.1)
    half = (means[0] + sequential) / 2
    assert means[1] == pytest.approx(half, rel=0.15)


def test_a_write_with_fua_takes_until_it_is_durable():
    """Little's law: as many are outstanding as there are threads."""
    plain = WRITES.model_copy(update={"fua": True, "threads": 4, "qd": 1})
    result = run(drive(), plain)
    (found,) = counts(result)
    assert found.sum_ns / result.run_ns == pytest.approx(4, rel=0.02)


# flushes and commits, against sums of the drive's own latencies

LOG: dict[str, Any] = {"read_percent": 0, "pattern": "sequential"}
FLUSH_NS = DriveSpec().buffer.flush


def of(result, direction):
    found = result.streams[0].directions[direction]
    return found.sum_ns / found.ios


@pytest.mark.parametrize("every", [1, 4, 32, 2_000_000])
def test_a_commit_is_its_writes_and_the_flush(every):
    """Of one I/O at a time; of the last there are more writes than a batch has."""
    length_ns = SECOND_NS if every < 1000 else 200 * SECOND_NS
    result = run(drive(), stream(**LOG, qd=1, sync_every=every), run_ns=length_ns)
    found = result.streams[0].directions
    assert found["flush"].ios == found["commit"].ios == result.streams[0].sync_ios > 0
    assert of(result, "flush") == pytest.approx(FLUSH_NS, rel=0.02)
    writes_ns = every * of(result, "write")
    assert of(result, "commit") == pytest.approx(writes_ns + FLUSH_NS, rel=0.03)
    if every < 1000:
        each_ns = result.run_ns / found["commit"].ios
        assert each_ns == pytest.approx(writes_ns + FLUSH_NS, rel=0.03)
    for direction in ("flush", "commit"):
        assert Histogram.of(found[direction].bins).total == found[direction].ios
        assert found[direction].bytes == 0


def test_a_commit_of_a_rate_waits_for_its_writes():
    log = stream(**LOG, qd=8, sync_every=10, rate=Rate(iops=1000))
    result = run(drive(), log, run_ns=10 * SECOND_NS)
    assert of(result, "commit") == pytest.approx(9 * 10**6, rel=0.02)


def test_the_intervals_add_up_to_the_commits():
    """A stream that only reads has none."""
    result, series = drive().run(stream(**LOG, sync_every=3), run_ns=3 * SECOND_NS)
    for direction in ("flush", "commit"):
        total = result.streams[0].directions[direction]
        parts = [one.streams[0].directions[direction] for one in series]
        assert sum(part.ios for part in parts) == total.ios
        assert sum(part.sum_ns for part in parts) == total.sum_ns
    reads = run(drive(), stream(sync_every=1)).streams[0].directions
    assert set(reads) <= set(DIRECTIONS)
