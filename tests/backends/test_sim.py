"""The simulated drive as a backend: its figures agree, and it behaves like an SSD."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sim_drive import made_once

from ioplan import job_streams
from ioplan.backends import Backend, BackendError, TargetRequest
from ioplan.job import Counts, Job, Progress, Result
from ioplan.results.measure import Histogram
from ioplan.workload import DIRECTIONS, Rate, Region, SizeShare, Stream, Workload
from ioplan_sim import SimBackend

SECOND_NS = 10**9
GIB = 1 << 30


def sizes(**percents: float) -> tuple[SizeShare, ...]:
    """`sizes(b4096=60, b65536=40)`."""
    return tuple(
        SizeShare(size_bytes=int(name[1:]), percent=percent)
        for name, percent in percents.items()
    )


def stream(**fields: Any) -> Stream:
    """Random 4 KiB reads, except for what is given."""
    plain = {
        "pattern": "random",
        "read_percent": 100,
        "read_sizes": sizes(b4096=100),
        "write_sizes": sizes(b4096=100),
    }
    return Stream(**{**plain, **fields})


def drive(gib: int = 64) -> Any:
    return SimBackend().open(TargetRequest(create_bytes=gib * GIB))


@made_once
def filled(gib: int = 64) -> Any:
    """A drive that was written once, in order."""
    on = drive(gib)
    run(on, FILL, passes=1)
    return on


def job(on: Any, *streams: Stream, **fields: Any) -> Job:
    """A run of a second, except for what is given."""
    capacity, block = on.facts.capacity_bytes, on.facts.block_bytes
    plain = {
        "target": on.facts.path,
        "capacity_bytes": capacity,
        "block_bytes": block,
        "streams": job_streams(Workload(streams=streams), capacity, block),
        "read_only": False,
    }
    limits = {"run_ns", "limit_bytes", "passes"} & fields.keys()
    return Job(**{**plain, **({} if limits else {"run_ns": SECOND_NS}), **fields})


def events(on: Any, *streams: Stream, **fields: Any) -> list[Any]:
    with on.start(job(on, *streams, **fields)) as execution:
        return list(execution)


def run(on: Any, *streams: Stream, **fields: Any) -> Result:
    result = events(on, *streams, **fields)[-1]
    assert isinstance(result, Result)
    return result


def counts(event: Result | Progress, place: int = 0) -> list[Counts]:
    parts = event.streams[place].directions
    return [parts[direction] for direction in DIRECTIONS if direction in parts]


def iops(event: Result | Progress, place: int = 0) -> float:
    time_ns = event.run_ns if isinstance(event, Result) else event.interval_ns
    return sum(one.ios for one in counts(event, place)) * 1e9 / time_ns


def mean_ns(event: Result | Progress, place: int = 0) -> float:
    done = counts(event, place)
    return sum(one.sum_ns for one in done) / sum(one.ios for one in done)


def moved_bytes(event: Result | Progress, place: int = 0) -> int:
    return sum(one.bytes for one in counts(event, place))


WRITE = stream(read_percent=0, qd=32)
FILL = stream(
    read_percent=0, pattern="sequential", qd=32, write_sizes=sizes(b131072=100)
)
MIX = stream(
    read_percent=70,
    trim_percent=5,
    read_sizes=sizes(b4096=60, b65536=40),
    write_sizes=sizes(b512=10, b8192=90),
    qd=16,
    sync_every=32,
    verify=True,
)


def test_it_is_a_backend() -> None:
    backend = SimBackend()
    assert isinstance(backend, Backend)
    assert backend.availability({}).usable and backend.virtual_time
    assert SimBackend().gaps(job(drive(), MIX), {}) == []
    assert drive().facts == drive().facts
    with pytest.raises(BackendError, match="multiple of 512"):
        backend.open(TargetRequest(create_bytes=1000))


@pytest.mark.promise("figures.simulated")
def test_same_seed_same_figures() -> None:
    assert events(drive(), MIX) == events(drive(), MIX)
    assert events(drive(), MIX, seed=2)[1:] != events(drive(), MIX)[1:]


def test_reads_are_verified_and_writes_are_synced() -> None:
    result = run(drive(), MIX, run_ns=3 * SECOND_NS)
    read, write = (result.streams[0].directions[d] for d in ("read", "write"))
    assert result.streams[0].verified_bytes == read.bytes
    assert result.streams[0].sync_ios == pytest.approx(write.ios / 32, abs=1)


def test_reads_scale_with_outstanding_ios_and_saturate() -> None:
    by_qd = {qd: run(filled(), stream(qd=qd)) for qd in (1, 8, 256)}
    assert iops(by_qd[8]) == pytest.approx(8 * iops(by_qd[1]), rel=0.05)
    assert iops(by_qd[256]) == pytest.approx(600_000, rel=0.02)
    threads = run(filled(), stream(qd=64, threads=4))
    assert iops(threads) == pytest.approx(iops(by_qd[256]), rel=0.01)


def test_bandwidth_is_capped() -> None:
    large = stream(pattern="sequential", read_sizes=sizes(b1048576=100), qd=64)
    result = run(drive(), large)
    assert moved_bytes(result) == pytest.approx(3.2e9, rel=0.03)


def test_a_read_of_nothing_is_fast() -> None:
    """The trap of a new drive: what was never written need not be read."""
    assert mean_ns(run(drive(), stream())) < 15_000
    assert mean_ns(run(filled(), stream())) > 60_000


@made_once
def aged() -> Any:
    """A drive in the steady state of random writes."""
    on = drive(4)
    run(on, WRITE, run_ns=60 * SECOND_NS)
    return on


@pytest.mark.long
def test_steady_state_does_not_depend_on_the_length_of_intervals() -> None:
    fine, coarse = drive(16), drive(16)
    second = run(fine, WRITE, run_ns=200 * SECOND_NS)
    minute = run(coarse, WRITE, run_ns=200 * SECOND_NS, interval_ns=60 * SECOND_NS)
    assert iops(minute) == pytest.approx(iops(second), rel=0.03)


def test_a_drive_recovers_while_it_only_reads() -> None:
    on = aged()
    short = {"run_ns": SECOND_NS // 10}
    steady = iops(run(on, WRITE, **short))
    run(on, stream(), run_ns=60 * SECOND_NS)
    assert iops(run(on, WRITE, **short)) > 1.5 * steady


def test_a_purge_makes_it_new() -> None:
    on = aged()
    assert "erased" in on.purge()
    fresh = iops(run(drive(4), WRITE))
    assert iops(run(on, WRITE)) == pytest.approx(fresh, rel=0.05)


def test_sequential_writes_stay_faster_than_random_ones() -> None:
    order = drive(4)
    run(order, FILL, passes=3)
    steady = moved_bytes(run(aged(), WRITE))
    assert moved_bytes(run(order, FILL)) > 2 * steady


def test_trim_frees_a_drive() -> None:
    on = aged()
    steady = iops(run(on, WRITE))
    run(on, stream(pattern="sequential", trim_percent=100), passes=1)
    assert iops(run(on, WRITE)) > 2 * steady


@pytest.mark.slow
@pytest.mark.parametrize(
    "slow", [{"write_sizes": sizes(b512=100)}, {"align_bytes": 512}]
)
def test_partial_pages_cost(slow: dict[str, Any]) -> None:
    """Behind the buffer: the dies read before they program."""
    plain = stream(read_percent=0, qd=64)
    partial = plain.model_copy(update=slow)
    assert iops(run(aged(), partial)) < 0.9 * iops(run(aged(), plain))


def test_a_flush_costs() -> None:
    plain = run(drive(), stream(read_percent=0))
    synced = run(drive(), stream(read_percent=0, sync_every=1))
    assert iops(synced) < 0.6 * iops(plain)


def test_reads_are_slower_beside_writes() -> None:
    alone = run(filled(), stream(qd=4))
    both = run(filled(), stream(qd=4), stream(name="w", read_percent=0, qd=8))
    assert mean_ns(both) > 1.2 * mean_ns(alone)


def test_equal_streams_share_the_drive_equally() -> None:
    result = run(filled(), stream(name="a", qd=128), stream(name="b", qd=128))
    assert iops(result, 0) == pytest.approx(iops(result, 1), rel=0.01)
    assert iops(result, 0) == pytest.approx(300_000, rel=0.02)


@pytest.mark.parametrize("arrivals", ["fixed", "poisson", "gamma"])
@pytest.mark.parametrize(
    "rate", [{"iops": 5000.5}, {"bytes_per_s": 5000.5 * 4096}], ids=["iops", "bytes"]
)
def test_a_rate_is_kept(rate: dict[str, float], arrivals: Any) -> None:
    asked = stream(qd=8, rate=Rate(**rate, arrivals=arrivals, gap_variation=0.5))
    result = run(filled(), asked, run_ns=10 * SECOND_NS)
    slack = 1 if arrivals == "fixed" else 5 * 50_005**0.5
    assert result.run_ns == 10 * SECOND_NS
    assert abs(counts(result)[0].ios - 50_005) <= slack
    assert mean_ns(result) == pytest.approx(75_000, rel=0.05)
    assert result.streams[0].backlog_ios <= 8


def test_an_overload_grows_the_backlog_and_the_latency() -> None:
    able = iops(run(drive(), stream(qd=8)))
    asked = stream(qd=8, rate=Rate(iops=2 * able))
    _, *series, result = events(drive(), asked, run_ns=10 * SECOND_NS)
    backlog = result.streams[0].backlog_ios
    assert iops(result) == pytest.approx(able, rel=0.02)
    assert iops(result) * 10 + backlog == pytest.approx(2 * able * 10, rel=0.001)
    # Half of what came waits; the last to complete was due halfway through.
    assert mean_ns(series[-1]) == pytest.approx(4.75 * SECOND_NS, rel=0.03)
    assert counts(result)[0].max_ns < 5.25 * SECOND_NS
    assert series[-1].streams[0].backlog_ios == backlog


def test_sums_beyond_64_bits_are_right() -> None:
    asked = stream(rate=Rate(iops=1e6))
    result = run(drive(), asked, run_ns=8 * 3600 * SECOND_NS, interval_ns=10**12)
    (one,) = counts(result)
    assert one.sum_ns > 2**64
    assert Histogram.of(one.bins).mean_ns() == pytest.approx(mean_ns(result), rel=0.005)


def test_a_rated_stream_leaves_the_rest_to_others() -> None:
    # Below its fair share, 64 of 320 outstanding I/Os or 120,000 IOPS.
    result = run(filled(), stream(qd=64, rate=Rate(iops=50_000)), stream(qd=256))
    assert iops(result, 0) == pytest.approx(50_000, rel=0.001)
    assert iops(result, 1) == pytest.approx(550_000, rel=0.03)


@pytest.mark.long
@settings(max_examples=15, deadline=None)
@given(
    limit=st.integers(1, 3 * GIB),
    qds=st.lists(st.integers(1, 64), min_size=1, max_size=3),
    warmup_ms=st.sampled_from([0, 700]),
    mixed=st.booleans(),
)
def test_limit_bytes_is_exact(
    limit: int, qds: list[int], warmup_ms: int, mixed: bool
) -> None:
    plain = MIX if mixed else WRITE
    streams = [plain.model_copy(update={"qd": qd}) for qd in qds]
    result = run(drive(), *streams, limit_bytes=limit, warmup_ns=warmup_ms * 10**6)
    moved = sum(moved_bytes(result, place) for place in range(len(streams)))
    assert 0 <= moved - limit < (65536 if mixed else 4096)
    assert result.run_ns > 0


@pytest.mark.long_but_first
@pytest.mark.parametrize("passes", [0.3, 1, 2])
@pytest.mark.parametrize("plain", [WRITE, MIX, stream(read_percent=0, qd=1)])
def test_passes_are_exact_for_each_stream(plain: Stream, passes: float) -> None:
    half = plain.model_copy(update={"verify": False, "region": Region(end_percent=50)})
    whole = half.model_copy(update={"name": "whole", "region": Region()})
    result = run(drive(4), whole, half, passes=passes)
    for place, region_bytes in enumerate((4 * GIB, 2 * GIB)):
        assert 0 <= moved_bytes(result, place) - passes * region_bytes < 65536


def test_the_first_limit_ends_the_run() -> None:
    result = run(drive(), WRITE, run_ns=SECOND_NS // 4, limit_bytes=GIB, passes=1)
    assert result.run_ns == SECOND_NS // 4
    result = run(drive(), WRITE, run_ns=SECOND_NS * 9, limit_bytes=GIB, passes=1)
    assert moved_bytes(result) == GIB and result.run_ns < SECOND_NS


def test_what_goes_on_is_read_from_the_page_that_was_read_before() -> None:
    """Reads that begin where the last one ended are cheap, in proportion."""
    on = drive(8)
    run(on, FILL, passes=1)
    means = [
        mean_ns(run(on, stream(random_percent=percent))) for percent in (100, 50, 2)
    ]
    sequential = mean_ns(run(on, stream(pattern="sequential")))
    assert means[0] > 1.1 * means[1] > 1.2 * means[2]
    assert means[2] == pytest.approx(sequential, rel=0.1)
    half = (means[0] + sequential) / 2
    assert means[1] == pytest.approx(half, rel=0.15)


def test_a_write_with_fua_takes_until_it_is_durable() -> None:
    """Little's law: as many are outstanding as there are threads."""
    plain = WRITE.model_copy(update={"fua": True, "threads": 4, "qd": 1})
    result = run(drive(), plain, run_ns=SECOND_NS)
    counts = result.streams[0].directions["write"]
    assert counts.sum_ns / result.run_ns == pytest.approx(4, rel=0.02)
