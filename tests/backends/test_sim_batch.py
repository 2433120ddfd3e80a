"""Batches of the simulated drive: long enough, the same in any order, and what rest
between them costs and brings."""

from __future__ import annotations

from statistics import fmean
from typing import NamedTuple

import pytest
from sim_drive import SECOND_NS, Bench, filled, stream

from ioplan import JobStream, job_streams
from ioplan.workload import Rate, Stream, Workload
from ioplan_sim import batch
from ioplan_sim.latency import Pace
from ioplan_sim.load import StreamLoad
from ioplan_sim.queue_model import Condition
from ioplan_sim.spec import MAP_BYTES
from ioplan_sim.speed import Speeds

WRITES = stream(read_percent=0, qd=32)
CORNERS = [
    *((100, "client", 1), (95, "client", 32), (70, "datacentre", 1)),
    *((5, "client", 1), (5, "datacentre", 8), (0, "datacentre", 32)),
]
"""Shares of reads and queue depths, on either drive."""


def streams_of(bench: Bench, *streams: Stream) -> tuple[JobStream, ...]:
    return job_streams(Workload(streams=streams), bench.facts.capacity_bytes, 512)


def pace(bench: Bench, asked: Stream) -> Pace:
    """From a batch of its own, on a drive that is full and does not collect."""
    (one,) = streams_of(bench, asked)
    load = StreamLoad(one, None)  # type: ignore[arg-type]
    condition = Condition(0.0, cached=False, stored=((1.0, 4.0),))
    return Speeds(bench.device.spec, (one,)).at([load], condition)[0]


def reads_per_s(bench: Bench, *streams: Stream) -> float:
    result, _ = bench.run(*streams)
    return result.streams[0].directions["read"].ios * 1e9 / result.run_ns


def test_a_few_writes_do_not_halve_the_reads() -> None:
    bench, read = filled("datacentre"), stream(qd=32)
    alone = reads_per_s(bench, read)
    seldom = stream(name="w", read_percent=0, qd=1, rate=Rate(iops=10))
    assert reads_per_s(bench, read, seldom) == pytest.approx(alone, rel=0.02)
    mixed = bench.iops(stream(read_percent=99, qd=32))
    assert mixed == pytest.approx(alone, rel=0.1)


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize(("read_percent", "name", "qd"), CORNERS)
def test_a_batch_is_long_enough(
    read_percent: int, name: str, qd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within 5 % of one that is 20 times as long as the shortest. Where few reads
    among writes wait for very different times, the cap on its length costs more.
    """
    bound = 0.1 if read_percent == 5 else 0.05
    bench, asked = Bench.of(name), stream(read_percent=read_percent, qd=qd)
    found = pace(bench, asked)
    for limit in ("MIN_WORK", "MAX_WORK"):
        monkeypatch.setattr(batch, limit, 20 * 2 * batch.DRAWS)
    assert found.cycle_ns == pytest.approx(pace(bench, asked).cycle_ns, rel=bound)


def test_what_ran_before_does_not_change_a_batch() -> None:
    """The same streams in the same state are as fast, whatever came first."""
    mix, other = stream(read_percent=70, qd=8), stream(read_percent=30, qd=2)
    paces = []
    for first in ((), (other, WRITES)):
        bench = filled("datacentre")
        for one in first:
            bench.run(one, run_ns=SECOND_NS // 1000)
        bench.run(mix, run_ns=SECOND_NS // 1000)
        (speeds,) = (
            found
            for streams, found in bench.device._speeds.items()
            if streams == streams_of(bench, mix)
        )
        paces.append({key: known[0].cycle_ns for key, known in speeds.known.items()})
    assert paces[0] and paces[0] == paces[1]


# rest


@pytest.fixture(scope="module")
def steady() -> Bench:
    """A client drive in the steady state of random writes; its cache is full."""
    bench = filled("client")
    bench.run(WRITES, run_ns=4000 * SECOND_NS, interval_ns=60 * SECOND_NS)
    return bench


class Rests(NamedTuple):
    """What some rests did: bytes programmed, what the dies can, and IOPS after."""

    programmed_bytes: float
    able_bytes: float
    speed: list[float]


def rests(bench: Bench, rest_s: int, count: int = 12) -> Rests:
    """Rest, write for 5 s, and so on."""
    bench.run(WRITES, run_ns=300 * SECOND_NS, interval_ns=60 * SECOND_NS)
    flash, programmed, speed = bench.device.flash, 0.0, []
    for _ in range(count):
        before = flash.programmed_pages
        bench.device.rest(rest_s * SECOND_NS)
        programmed += flash.programmed_pages - before
        speed.append(bench.iops(WRITES, run_ns=5 * SECOND_NS))
    able_pages = count * rest_s * SECOND_NS / bench.device.spec.copy_ns()
    return Rests(
        programmed * bench.device.shape.scale * MAP_BYTES, able_pages * MAP_BYTES, speed
    )


@pytest.mark.long
def test_no_rest_programs_more_than_the_dies_can(steady: Bench) -> None:
    """Blocks are whole: to make one free may take more than a rest has, and the
    next rest has so much less."""
    for rest_s in (5, 25):
        found = rests(steady, rest_s)
        assert 0.8 < found.programmed_bytes / found.able_bytes < 1.1


def test_recovery_rises_with_the_rest(steady: Bench) -> None:
    means = [fmean(rests(steady, rest_s).speed) for rest_s in (5, 10, 15, 25, 50)]
    assert means == sorted(means) and means[-1] > 2 * means[0]


def test_speed_after_equal_rests_is_alike(steady: Bench) -> None:
    """Once it has settled, not eight times as high after one as after the next."""
    for rest_s in (15, 25, 50):
        speed = rests(steady, rest_s).speed[4:]
        assert max(speed) < 1.5 * min(speed)
