"""The simulated drive as a backend: its figures agree, and it behaves like an SSD."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sim_drive import made_once

from ioplan import job_streams
from ioplan.backends import Backend, BackendError, TargetRequest
from ioplan.job import (
    Counts,
    Failure,
    Job,
    Progress,
    Result,
    Started,
)
from ioplan.results.measure import Histogram, bucket_range
from ioplan.workload import (
    DIRECTIONS,
    Rate,
    Region,
    SizeShare,
    Stream,
    Workload,
)
from ioplan_sim import SimBackend
from ioplan_sim.backend import SimDrive
from ioplan_sim.execution import fit

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


def drive(gib: int = 64) -> SimDrive:
    return SimBackend().open(TargetRequest(create_bytes=gib * GIB))


@made_once
def filled(gib: int = 64) -> SimDrive:
    """A drive that was written once, in order."""
    on = drive(gib)
    run(on, FILL, passes=1)
    return on


def job(on: SimDrive, *streams: Stream, **fields: Any) -> Job:
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


def events(on: SimDrive, *streams: Stream, **fields: Any) -> list[Any]:
    with on.start(job(on, *streams, **fields)) as execution:
        return list(execution)


def run(on: SimDrive, *streams: Stream, **fields: Any) -> Result:
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


def test_events_come_in_order_and_are_json() -> None:
    first, *middle, last = events(drive(), MIX, run_ns=2_500_000_000)
    assert isinstance(first, Started) and first.mode == "virtual"
    assert [one.interval_ns for one in middle] == [SECOND_NS, SECOND_NS, SECOND_NS // 2]
    assert [one.t_ns for one in middle] == [SECOND_NS, 2 * SECOND_NS, last.run_ns]
    for event in (first, *middle, last):
        assert type(event).model_validate_json(event.model_dump_json()) == event


@pytest.mark.promise("figures.simulated")
def test_same_seed_same_figures() -> None:
    assert events(drive(), MIX) == events(drive(), MIX)
    assert events(drive(), MIX, seed=2)[1:] != events(drive(), MIX)[1:]


def added(parts: list[Counts]) -> Counts:
    bins = sum((Histogram.of(one.bins) for one in parts), Histogram.of(()))
    return Counts(
        ios=sum(one.ios for one in parts),
        bytes=sum(one.bytes for one in parts),
        min_ns=min(one.min_ns for one in parts),
        max_ns=max(one.max_ns for one in parts),
        sum_ns=sum(one.sum_ns for one in parts),
        sum_sq_ns2=sum(one.sum_sq_ns2 for one in parts),
        bins=bins.bins(),
    )


def test_totals_are_the_sums_of_the_measured_intervals() -> None:
    mix = MIX.model_copy(update={"region": Region(end_percent=50)})
    write = WRITE.model_copy(update={"region": Region(start_percent=50)})
    _, *series, result = events(
        drive(), mix, write, run_ns=3_300_000_000, warmup_ns=1_500_000_000
    )
    assert [one.warmup for one in series] == [True] * 2 + [False] * 4
    assert [one.t_ns for one in series[:2]] == [SECOND_NS, 3 * SECOND_NS // 2]
    for place, total in enumerate(result.streams):
        parts = [one.streams[place] for one in series if not one.warmup]
        for direction, one in total.directions.items():
            assert added([part.directions[direction] for part in parts]) == one
        assert total.sync_ios == sum(part.sync_ios for part in parts)
        assert total.verified_bytes == sum(part.verified_bytes for part in parts)
    read, write = (result.streams[0].directions[d] for d in ("read", "write"))
    assert result.streams[0].verified_bytes == read.bytes
    assert result.streams[0].sync_ios == pytest.approx(write.ios / 32, abs=1)


@settings(max_examples=25, deadline=None)
@given(
    read=st.sampled_from([0, 30, 100]),
    qd=st.integers(1, 64),
    threads=st.integers(1, 4),
    interval_ms=st.integers(3, 1500),
    sizes_=st.sampled_from([sizes(b4096=100), sizes(b512=50, b131072=50)]),
)
@pytest.mark.long
def test_figures_of_an_interval_agree(
    read: int, qd: int, threads: int, interval_ms: int, sizes_: tuple[SizeShare, ...]
) -> None:
    asked = stream(read_percent=read, qd=qd, threads=threads, read_sizes=sizes_)
    for event in events(drive(), asked, interval_ns=interval_ms * 10**6)[1:]:
        for one in counts(event):
            bins = Histogram.of(one.bins)
            assert bins.total == one.ios > 0
            assert bins.mean_ns() == pytest.approx(one.sum_ns / one.ios, rel=0.005)
            for index, edge_ns in ((0, one.min_ns), (-1, one.max_ns)):
                lower, upper = bucket_range(int(bins.index[index]))
                assert lower <= edge_ns < upper
            assert one.sum_sq_ns2 * one.ios >= one.sum_ns**2 * (1 - 1e-9)


@pytest.mark.parametrize("qd", [1, 2, 4, 8, 16, 32, 64, 128, 256])
@pytest.mark.parametrize("read", [0, 70, 100])
def test_littles_law(read: int, qd: int) -> None:
    result = run(drive(), stream(read_percent=read, qd=qd))
    assert iops(result) * mean_ns(result) / 1e9 == pytest.approx(qd, rel=0.02)


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


@pytest.mark.long
def test_write_cliff_recovery_and_purge() -> None:
    on = drive(16)
    _, *series, _ = events(on, WRITE, run_ns=500 * SECOND_NS)
    speed = np.array([iops(one) for one in series])
    written = np.cumsum([moved_bytes(one) for one in series])
    cliff = int(np.argmax(speed < speed[0] * 0.9))
    fresh, steady = speed[:cliff].mean(), speed[-200:].mean()
    assert 1.0 < written[cliff] / on.facts.capacity_bytes < 1.35
    assert 3 < fresh / steady < 6
    assert np.ptp(speed[:cliff]) / fresh < 0.05
    assert np.ptp(speed[-200:]) / steady < 0.2

    on.idle(30 * SECOND_NS)
    rested = [iops(one) for one in events(on, WRITE, run_ns=10 * SECOND_NS)[1:-1]]
    assert rested[0] > 1.5 * steady
    assert rested[-1] < 1.5 * steady

    assert "erased" in on.purge()
    assert iops(run(on, WRITE)) == pytest.approx(fresh, rel=0.05)


@made_once
def aged() -> SimDrive:
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


def test_shares_and_sizes_are_those_asked_within_statistics() -> None:
    done = run(drive(), MIX, run_ns=10 * SECOND_NS).streams[0].directions
    ios = {direction: one.ios for direction, one in done.items()}
    total = ios["read"] + ios["write"] + ios["trim"]
    expected = {
        "trim": (ios["trim"], 0.05, total),
        "read": (ios["read"], 0.70, total - ios["trim"]),
        "64K": ((done["read"].bytes / 4096 - ios["read"]) / 15, 0.4, ios["read"]),
        "8K": ((done["write"].bytes / 512 - ios["write"]) / 15, 0.9, ios["write"]),
    }
    for name, (hits, share, among) in expected.items():
        sigma = (among * share * (1 - share)) ** 0.5
        assert abs(hits - among * share) < 5 * sigma, name
        assert abs(hits - among * share) > 0, f"{name} is not drawn"


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


def test_stop_ends_at_the_present_time() -> None:
    on = drive()
    with on.start(job(on, MIX, run_ns=100 * SECOND_NS)) as execution:
        seen = []
        for event in execution:
            seen.append(event)
            if len(seen) == 4:
                execution.stop()
    assert isinstance(seen[-1], Result) and len(seen) == 5
    assert seen[-1].stopped and seen[-1].run_ns == 3 * SECOND_NS


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


@given(
    ios=st.lists(st.integers(0, 50), min_size=3, max_size=3),
    limit=st.integers(1, 10**7),
)
def test_fit_overshoots_by_less_than_one_io(ios: list[int], limit: int) -> None:
    sizes_bytes, kinds = np.array([4096, 131072, 512]), np.array(ios)
    fit(kinds, sizes_bytes, limit)
    assert min(kinds) >= 0
    assert 0 <= int(kinds @ sizes_bytes) - limit < 131072


@pytest.mark.parametrize(
    ("asked", "fields", "cause"),
    [
        (WRITE, {"read_only": True}, "bad-job"),
        (stream(trim_percent=1), {"read_only": True}, "bad-job"),
        (WRITE, {"run_ns": None}, "bad-job"),
        (stream(read_sizes=sizes(b1000=100)), {}, "unaligned"),
        (stream(align_bytes=100), {}, "unaligned"),
        (stream(region=Region(end_percent=1e-6)), {}, "too-small"),
    ],
)
def test_what_cannot_run_fails(
    asked: Stream, fields: dict[str, Any], cause: str
) -> None:
    (failure,) = events(drive(), asked, **fields)
    assert isinstance(failure, Failure) and failure.cause == cause and failure.message


def test_a_region_beyond_the_drive_fails() -> None:
    small = drive(1)
    with small.start(job(drive(2), WRITE)) as execution:
        (failure,) = execution
    assert isinstance(failure, Failure) and failure.cause == "too-small"


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
