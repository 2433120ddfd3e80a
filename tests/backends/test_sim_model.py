"""The model of the simulated drive: batches, limits, arrivals and shaped writes."""

from math import exp
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sim_drive import FILL, SECOND_NS, Bench, filled, iops, size, spare_drive, stream

from ioplan import job_streams
from ioplan.job import Progress, Result
from ioplan.workload import Rate, Region, Workload
from ioplan_sim import DriveSpec, FlashSpec, HostSpec, batch, execution
from ioplan_sim.flash import Flash
from ioplan_sim.load import GammaArrivals, StreamLoad
from ioplan_sim.placement import Shaped, fall
from ioplan_sim.queue_model import Condition
from ioplan_sim.spec import MAP_BYTES
from ioplan_sim.speed import Speeds
from ioplan_sim.ssd import large_blocks
from ioplan_witness import gamma_below, ks_distance

WRITES = stream(read_percent=0, qd=32)
CORNERS = [
    *((100, "client", 1), (95, "client", 32), (70, "datacentre", 1)),
    *((5, "client", 1), (5, "datacentre", 8), (0, "datacentre", 32)),
]
"""Shares of reads and queue depths, on either drive."""


def streams_of(bench, *streams):
    return job_streams(Workload(streams=streams), bench.facts.capacity_bytes, 512)


def pace(bench, asked):
    """From a batch of its own, on a drive that is full and does not collect."""
    (one,) = streams_of(bench, asked)
    load = StreamLoad(one, None)
    condition = Condition(0.0, cached=False, stored=((1.0, 4.0),))
    return Speeds(bench.device.spec, (one,)).at([load], condition)[0]


def reads_per_s(bench, *streams):
    result, _ = bench.run(*streams)
    return result.streams[0].directions["read"].ios * 1e9 / result.run_ns


def test_a_few_writes_do_not_halve_the_reads():
    bench, read = filled("datacentre"), stream(qd=32)
    alone = reads_per_s(bench, read)
    seldom = stream(name="w", read_percent=0, qd=1, rate=Rate(iops=10))
    assert reads_per_s(bench, read, seldom) == pytest.approx(alone, rel=0.02)
    mixed = bench.iops(stream(read_percent=99, qd=32))
    assert mixed == pytest.approx(alone, rel=0.1)


@pytest.mark.long_but_first
@pytest.mark.slow
@pytest.mark.parametrize(("read_percent", "name", "qd"), CORNERS)
def test_a_batch_is_long_enough(read_percent, name, qd, monkeypatch):
    """Within 5 % of one that is 20 times as long as the shortest. Where few reads
    among writes wait for very different times, the cap on its length costs more.
    """
    bound = 0.1 if read_percent == 5 else 0.05
    bench, asked = Bench.of(name), stream(read_percent=read_percent, qd=qd)
    found = pace(bench, asked)
    for limit in ("MIN_WORK", "MAX_WORK"):
        monkeypatch.setattr(batch, limit, 20 * 2 * batch.DRAWS)
    assert found.cycle_ns == pytest.approx(pace(bench, asked).cycle_ns, rel=bound)


def test_what_ran_before_does_not_change_a_batch():
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
def steady():
    """A client drive in the steady state of random writes; its cache is full."""
    bench = filled("client")
    bench.run(WRITES, run_ns=4000 * SECOND_NS, interval_ns=60 * SECOND_NS)
    return bench


class Rests(NamedTuple):
    """What some rests did: bytes programmed, what the dies can, and IOPS after."""

    programmed_bytes: float
    able_bytes: float
    speed: list[float]


def rests(bench, rest_s, count=12):
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
def test_no_rest_programs_more_than_the_dies_can(steady):
    """Blocks are whole: to make one free may take more than a rest has, and the
    next rest has so much less."""
    for rest_s in (5, 25):
        found = rests(steady, rest_s)
        assert 0.8 < found.programmed_bytes / found.able_bytes < 1.1


def test_recovery_rises_with_the_rest(steady):
    means = [fmean(rests(steady, rest_s).speed) for rest_s in (5, 10, 15, 25, 50)]
    assert means == sorted(means) and means[-1] > 2 * means[0]


def test_speed_after_equal_rests_is_alike(steady):
    """Once it has settled, not eight times as high after one as after the next."""
    for rest_s in (15, 25, 50):
        speed = rests(steady, rest_s).speed[4:]
        assert max(speed) < 1.5 * min(speed)


# no figure of the simulated drive is above what its own parts can do, and the deviation

GIB = 1 << 30
REGION = Region(end_percent=15)
DRIVES = st.builds(
    lambda flash, host, over, cache: DriveSpec(
        flash=flash, host=host, over_provisioning=over, cache={"size": cache}
    ),
    st.builds(
        FlashSpec,
        channels=st.sampled_from((2, 7, 16)),
        dies=st.sampled_from((8, 56, 128)),
        page=st.sampled_from(("4KiB", "16KiB", "64KiB")),
        read=st.sampled_from(("2us", "60us")),
        program=st.sampled_from(("4us", "800us")),
        channel_bandwidth=st.sampled_from(("200MB/s", "2GB/s")),
        in_place=st.booleans(),
    ),
    st.builds(
        HostSpec,
        bandwidth=st.sampled_from(("300MB/s", "2.4GB/s", "7GB/s")),
        overhead=st.sampled_from(("0s", "4us", "50us")),
        commands=st.sampled_from(("20_000 iops", "420_000 iops")),
    ),
    st.sampled_from(("7%", "28%")),
    st.sampled_from(("0B", "1GiB")),
)
SIZES = st.sampled_from((512, 4096, 131072, 1 << 20))
STREAMS = st.builds(
    lambda reads, writes, rate, **fields: stream(
        **fields, read_sizes=reads, write_sizes=writes, rate=rate
    ),
    reads=st.builds(size, SIZES) | st.just((*size(4096), *size(131072))),
    writes=st.builds(size, SIZES),
    rate=st.sampled_from((None, None, Rate(iops=30_000, arrivals="poisson"))),
    pattern=st.sampled_from(("random", "sequential")),
    read_percent=st.sampled_from((0, 30, 70, 100)),
    qd=st.sampled_from((1, 3, 32, 512)),
    threads=st.sampled_from((1, 4)),
)


def check_within_limits(event, spec, slack):
    """`slack` I/Os may have begun before. The result of a run has none."""
    time_ns = event.run_ns if isinstance(event, Result) else event.interval_ns
    directions = [one.directions for one in event.streams]
    ios = sum(counts.ios for found in directions for counts in found.values())
    time_s = time_ns * (1 + 1e-9) / SECOND_NS
    assert ios <= spec.host.commands * time_s + slack
    for name in ("read", "write"):
        counted = [found[name] for found in directions if name in found]
        moved = sum(counts.bytes for counts in counted)
        most = spec.host.bandwidth * time_s
        assert moved <= most + slack * (1 << 20), f"{moved / time_s:.4g} B/s {name}"


@settings(max_examples=10, deadline=None)
@given(
    spec=DRIVES,
    streams=st.lists(STREAMS, min_size=1, max_size=2),
    interval_ms=st.sampled_from((20, 500)),
    is_filled=st.booleans(),
)
def test_no_part_of_a_drive_does_more_than_it_can(
    spec, streams, interval_ms, is_filled
):
    bench = Bench(spec, GIB, 1 << 14)
    if is_filled:
        bench.run(FILL, passes=1)
    named = [one.model_copy(update={"name": f"{n}"}) for n, one in enumerate(streams)]
    interval_ns = interval_ms * SECOND_NS // 1000
    result, series = bench.run(*named, run_ns=SECOND_NS, interval_ns=interval_ns)
    check_within_limits(result, spec, 0)
    for event in series:
        check_within_limits(event, spec, 1)
    for one, counts in zip(named, result.streams, strict=True):
        if one.rate is None:  # Little's law, but for what buckets round
            waited = sum(found.sum_ns for found in counts.directions.values())
            assert waited / result.run_ns <= one.qd * one.threads * 1.01


@pytest.mark.parametrize("direction", ["read", "write"])
@pytest.mark.parametrize(("kib", "qd"), [(64, 512), (128, 2048), (1024, 256), (4, 512)])
def test_a_full_link_carries_what_it_can(kib, qd, direction):
    """More outstanding I/Os on a full link wait longer; they are no faster."""
    bench = Bench.of("crosspoint")
    read_percent = 100 if direction == "read" else 0
    asked = stream(kib << 10, pattern="sequential", read_percent=read_percent, qd=qd)
    host = bench.device.spec.host
    most = min(host.bandwidth / (kib << 10), host.commands)
    assert 0.99 * most < bench.iops(asked, run_ns=10 * SECOND_NS) <= most


MIXES: list[dict[str, Any]] = [
    {"read_percent": percent, "qd": qd} for percent in (100, 70, 5) for qd in (1, 32)
]
AT_A_LIMIT = 0.005
"""Where the host is the limit, deviations go down only, and the mean with them."""


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("name", ["client", "datacentre", "crosspoint"])
def test_the_deviation_of_intervals_contains_the_truth(name, monkeypatch):
    """Each is drawn by itself; so one of these six may be beyond its deviation."""
    within = [_holds_truth(name, stream(**mix), monkeypatch) for mix in MIXES]
    assert sum(within) >= len(MIXES) - 1, within


def _holds_truth(name, asked, patch):
    def series():
        bench = Bench.of(name)
        bench.run(FILL, passes=0.2)
        asked_there = asked.model_copy(update={"region": REGION})
        _, found = bench.run(asked_there, run_ns=20 * SECOND_NS)
        return [iops(one) for one in found]

    found = np.array(series())
    with patch.context() as exact:
        for limit in ("MIN_WORK", "MAX_WORK"):
            exact.setattr(batch, limit, 20 * 2 * batch.DRAWS)
        for part in ("NOISE", "ERRORS"):
            exact.setattr(execution, part, 0.0)
        truth = np.mean(series())
    most = max(found.std(), AT_A_LIMIT * truth)
    return bool(abs(found.mean() - truth) <= most)


# a shaped write on the simulated drive, by the map of its pages alone

SPARES = (7, 15, 28)
PAGES = 1 << 15


@pytest.mark.parametrize("spare", SPARES)
def test_the_last_block_keeps_what_theory_says(spare):
    """Write amplification is 1 / (1 - kept), by a formula without `kept`."""
    kept = exp(-fall(spare))
    assert 1 / (1 - kept) == pytest.approx(large_blocks(spare / 100), rel=1e-9)


@pytest.mark.parametrize("spare", SPARES)
@pytest.mark.parametrize("step", [1, 100, 5000, 10**6])
def test_each_slot_is_written_and_the_flash_once(spare, step):
    count = 5000
    shaped, found = Shaped(count, spare, np.random.default_rng(1)), []
    for _ in range(0, 2 * count, step):
        found += shaped.take(step).tolist()
    assert {*found} == {*range(count)}
    assert len(found) == pytest.approx(count * (1 + spare / 100), rel=0.01)
    last = {slot: place for place, slot in enumerate(found)}
    valid = np.array([last[slot] == place for place, slot in enumerate(found)])
    for part, flags in enumerate(np.array_split(valid, 5)):
        expected = exp(-fall(spare) * (1 - (part + 0.5) / 5))
        assert flags.mean() == pytest.approx(expected, abs=0.05)


def amplification(flash, rng, passes):
    """Of so many passes of random writes."""
    host, programmed = flash.host_pages, flash.programmed_pages
    for _ in range(int(passes * PAGES) // 256):
        flash.write(rng.integers(0, PAGES, 256), 1.0)
    return (flash.programmed_pages - programmed) / (flash.host_pages - host)


@pytest.mark.parametrize("spare", SPARES)
def test_the_next_writes_are_amplified_as_in_steady_state(spare):
    """After what is left of the erased blocks, a twentieth of a pass."""
    rng = np.random.default_rng(1)
    old, new = (Flash(spare_drive(PAGES, spare)) for _ in range(2))
    old.write(rng.permutation(PAGES), 1.0)
    amplification(old, rng, 3)
    shaped = Shaped(PAGES, spare, rng)
    while len(places := shaped.take(4096)):
        new.write(places, 1.0)
    assert new.programmed_pages <= 1.001 * PAGES * (1 + spare / 100)
    amplification(new, rng, 0.1)
    steady, found = amplification(old, rng, 1), amplification(new, rng, 1)
    assert found == pytest.approx(steady, rel=0.03)


def writes(size_bytes, **more):
    return stream(size_bytes, read_percent=0, qd=8, **more)


def amplified(passes, *before):
    """By random 4 KiB on units of 16 KiB, after so many passes of other writes."""
    flash = FlashSpec.model_validate({"map": "16KiB", "erase_block": "1MiB"})
    spec = DriveSpec.model_construct(over_provisioning=15.0, flash=flash)
    bench = Bench(spec, 1 << 28)
    for written, count in before:
        bench.run(written, passes=count)
    found, _ = bench.run(writes(4096), passes=passes)
    return float(found.facts["write_amplification"])


def test_a_write_smaller_than_a_unit_writes_all_of_it():
    assert amplified(0.1) == pytest.approx(4.0, rel=0.01)


@pytest.mark.parametrize("size_bytes", [4096, 16384])
@pytest.mark.long
def test_a_shaped_pass_leaves_the_steady_state_of_units(size_bytes):
    """Also of pieces of units, for four times the flash."""
    steady = amplified(0.3, (writes(4096), 2))
    found = amplified(0.3, (writes(size_bytes, spare_percent=15), 1.15))
    assert steady > 8
    assert found == pytest.approx(steady, rel=0.05)


# gamma arrivals on the simulated drive: their law, and what bursts cost


@pytest.mark.parametrize("variation", [0.3, 1.0, 1.33, 3.0])
def test_gaps_have_the_law_that_was_asked(variation):
    """As fine as a hundredth of the mean gap."""
    source = GammaArrivals(variation, np.random.default_rng(3))
    steps = [source.count(0.01) for _ in range(1_000_000)]
    gaps = np.diff(np.repeat(np.arange(len(steps)) / 100, steps))
    assert len(gaps) == pytest.approx(10_000, abs=500 * variation)
    assert gaps.std() / gaps.mean() == pytest.approx(variation, rel=0.06)
    below = gamma_below(variation)
    assert ks_distance(gaps, lambda x: below(x + 0.005), 0.05) < 2.2


@pytest.mark.long
def test_counts_in_a_run_vary_as_the_gaps_do():
    """In intervals of n I/Os, by the variation times the root of n; 1 is Poisson's."""
    for variation in (0.2, 1.0, 3.0):
        rate = Rate(iops=20_000, arrivals="gamma", gap_variation=variation)
        result, events = filled("datacentre").run(
            stream(qd=256, read_percent=100, rate=rate),
            run_ns=100 * SECOND_NS,
            interval_ns=SECOND_NS // 4,
        )
        ios = [
            sum(c.ios for c in event.streams[0].directions.values())
            for event in events
            if isinstance(event, Progress)
        ]
        assert np.std(ios) / 5000**0.5 == pytest.approx(variation, rel=0.2)
        allowed = 5 * variation * 2_000_000**0.5
        backlog = result.streams[0].backlog_ios
        assert sum(ios) + backlog == pytest.approx(2_000_000, abs=allowed)


def test_bursts_wait_longer_and_even_arrivals_less():
    """At the same rate; of variation 1, as long as Poisson's."""
    found = []
    for rate in (
        Rate(iops=250_000, arrivals="gamma", gap_variation=0.2),
        Rate(iops=250_000, arrivals="poisson"),
        Rate(iops=250_000, arrivals="gamma"),
        Rate(iops=250_000, arrivals="gamma", gap_variation=4),
    ):
        asked = stream(qd=256, read_percent=100, rate=rate)
        found.append(filled("datacentre").latency_ns(asked))
    even, poisson, one, bursts = found
    assert one == pytest.approx(poisson, rel=0.02)
    assert even < poisson * 0.995 and bursts > poisson * 1.05
