"""Think time on the simulated drive, against what follows from latencies alone."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest
from sim_drive import FILL, SECOND_NS, Bench, filled, made_once, stream

from ioplan.job import Counts, Result
from ioplan.workload import DIRECTIONS, Stream
from ioplan_sim import DriveSpec, FlashSpec, HostSpec

MS_NS = 1_000_000
STEADY = DriveSpec(
    flash=FlashSpec(dies=1024, channels=1024, spread="0%", retries="0%", in_place=True),
    host=HostSpec(overhead="0us", commands="1_000_000_000 iops", bandwidth="1TB/s"),
)
"""A drive without queues: each read takes as long as any other."""


@made_once
def steady() -> Bench:
    bench = Bench(STEADY, 1 << 30)
    bench.run(FILL, passes=1)
    return bench


def counts(result: Result, place: int = 0) -> Counts:
    moved = result.streams[place].directions.items()
    (found,) = (one for direction, one in moved if direction in DIRECTIONS)
    return found


def latency_ns(result: Result, place: int = 0) -> float:
    found = counts(result, place)
    return found.sum_ns / found.ios


def group_ns(result: Result, asked: Stream, place: int = 0) -> float:
    """The time from the beginning of one group of I/Os to that of the next."""
    groups = counts(result, place).ios / asked.pause_every / asked.threads
    return result.run_ns / groups


def run(bench: Bench, **fields: Any) -> tuple[Result, Stream]:
    asked = stream(**fields)
    return bench.run(asked, run_ns=100 * SECOND_NS)[0], asked


@pytest.mark.parametrize("pause_ms", [0.01, 1, 50])
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("read_percent", [100, 0])
def test_at_depth_one_a_pause_is_added_to_each_latency(
    read_percent: int, threads: int, pause_ms: float
) -> None:
    bench, pause_ns = filled("datacentre"), round(pause_ms * MS_NS)
    fields = {"read_percent": read_percent, "threads": threads}
    plain, _ = run(bench, **fields)
    paused, asked = run(bench, **fields, pause_ns=pause_ns)
    found_ns = latency_ns(paused) + pause_ns
    assert group_ns(paused, asked) == pytest.approx(found_ns, rel=1e-3)
    if threads == 1:  # with more of them, fewer meet at a die
        assert latency_ns(paused) == pytest.approx(latency_ns(plain), rel=0.02)


@pytest.mark.parametrize(
    ("qd", "every"),
    [(1, 1), (1, 7), (4, 8), (4, 9), (8, 4), (32, 128), (4, 8192), (8, 100_000), (1, 20_000)],
)  # fmt: skip
def test_a_group_takes_its_waves_and_a_pause(qd: int, every: int) -> None:
    """Without queues, so many I/Os take as long as one; a group ends when its last one
    has completed."""
    bench = steady()
    plain, _ = run(bench)
    paused, asked = run(bench, qd=qd, pause_ns=5 * MS_NS, pause_every=every)
    waves = -(-every // min(qd, every))
    each_ns = latency_ns(plain)
    assert latency_ns(paused) == pytest.approx(each_ns, rel=0.02)
    expected_ns = waves * each_ns + 5 * MS_NS
    assert group_ns(paused, asked) == pytest.approx(expected_ns, rel=0.02)


@pytest.mark.parametrize(
    ("name", "read_percent", "qd", "threads"),
    [
        *(("datacentre", 100, 1, 1), ("client", 100, 32, 1), ("client", 70, 1, 1)),
        *(("datacentre", 70, 8, 4), ("datacentre", 0, 32, 1), ("client", 0, 8, 4)),
    ],
)
@pytest.mark.long
def test_rare_pauses_change_nothing(
    name: str, read_percent: int, qd: int, threads: int
) -> None:
    """Nor does it that only a part of so long a group is followed. Names seed: one
    batch may be 8 % off."""
    fields = {"read_percent": read_percent, "qd": qd, "threads": threads}
    every = {"pause_ns": 1000, "pause_every": 10_000_000}
    plain, paused = (
        fmean(
            filled(name).iops(stream(name=f"s{n}", **fields, **more)) for n in range(4)
        )
        for more in ({}, every)
    )
    assert paused == pytest.approx(plain, rel=0.06)


def test_a_group_is_no_deeper_than_itself() -> None:
    bench = filled("datacentre")
    deep, _ = run(bench, qd=256, pause_ns=MS_NS, pause_every=2)
    flat, _ = run(bench, qd=2, pause_ns=MS_NS, pause_every=2)
    assert latency_ns(deep) == pytest.approx(latency_ns(flat), rel=0.02)
    assert counts(deep).ios == pytest.approx(counts(flat).ios, rel=0.01)


def test_flushes_belong_to_a_group() -> None:
    bench = filled("client")
    fields = {"read_percent": 0, "pause_ns": 5 * MS_NS, "pause_every": 4}
    plain, asked = run(bench, **fields)
    synced, _ = run(bench, **fields, sync_every=1)
    more_ns = group_ns(synced, asked) - group_ns(plain, asked)
    assert more_ns == pytest.approx(4 * bench.device.spec.buffer.flush, rel=0.02)
    assert latency_ns(synced) == pytest.approx(latency_ns(plain), rel=0.05)


def test_a_seldom_stream_meets_the_load_of_others() -> None:
    """Though none of its pauses ends while the batch is followed."""
    bench = filled("datacentre")
    busy = stream(name="busy", qd=256)
    seldom = stream(name="seldom", pause_ns=SECOND_NS)
    result, _ = bench.run(busy, seldom, run_ns=100 * SECOND_NS)
    alone, _ = bench.run(busy)
    busy_ns = latency_ns(alone)
    assert latency_ns(result, 0) == pytest.approx(busy_ns, rel=0.05)
    assert counts(result, 1).ios == pytest.approx(100, abs=1)
    light_ns, _ = run(bench)
    assert latency_ns(light_ns) < latency_ns(result, 1) < 1.5 * busy_ns


def test_a_pause_lets_the_buffer_run_empty() -> None:
    """Writes in groups that fit are as fast as the link, however slow the flash is."""
    bench = filled("client")
    bench.run(stream(read_percent=0, qd=32), passes=1.5, interval_ns=60 * SECOND_NS)
    sustained = bench.iops(stream(read_percent=0, qd=32))
    result, asked = run(
        bench, read_percent=0, qd=32, pause_ns=SECOND_NS, pause_every=32
    )
    assert latency_ns(result) < 32 / sustained * SECOND_NS / 10
    assert group_ns(result, asked) == pytest.approx(SECOND_NS, rel=0.01)
