"""The simulated drive against theory: collection, queueing, and its own scale."""

import numpy as np
import pytest
from sim_drive import FILL, SECOND_NS, WRITES, Bench, amplification, iops, stream

from ioplan.workload import Rate
from ioplan_sim import DriveSpec, FlashSpec, HostSpec
from ioplan_sim.flash import Flash
from ioplan_sim.spec import Geometry, geometry
from ioplan_sim.ssd import Ssd, below_theory_percent, large_blocks, small_blocks

GIB = 1 << 30


def test_the_formula_is_the_published_one():
    """Xiang and Kurkoski's own figure: 2.36 for an over-provisioning of 0.3."""
    assert large_blocks(0.3) == pytest.approx(2.36, abs=0.005)
    assert small_blocks(0.3, 10**6) == pytest.approx(large_blocks(0.3), rel=1e-3)


@pytest.mark.parametrize("over", [0.1, 0.15, 0.28, 0.5, 1.0])
def test_greedy_collection_costs_what_theory_says(over):
    found = amplification(over, 256)
    assert found == pytest.approx(large_blocks(over), rel=0.05)
    assert found == pytest.approx(small_blocks(over, 256), rel=0.025)


@pytest.mark.parametrize("pages", [32, 64, 128])
def test_small_blocks_cost_less(pages):
    found = amplification(0.28, pages, pages=1 << 16)
    assert found == pytest.approx(small_blocks(0.28, pages), rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("over", [7, 15, 28])
@pytest.mark.parametrize("mib", [64, 4 << 10, 16 << 10])
def test_the_error_of_the_drive_at_hand_is_said(mib, over):
    """A small drive has few blocks, and is below theory: by no more than it says, and
    by more than a third of that."""
    spec = DriveSpec().model_copy(update={"over_provisioning": float(over)})
    shape = geometry(spec, mib << 20)
    said = below_theory_percent(over / 100, shape)
    facts = Ssd(spec, mib << 20).facts()
    assert facts["write_amplification_below_theory_percent"] == round(said, 1)
    rng, flash = np.random.default_rng(1), Flash(shape)
    flash.write(np.arange(shape.pages), 1)
    part = shape.pages // 4
    for _ in range(16):
        flash.write(rng.integers(shape.pages, size=part), 1)
    host, programmed = flash.host_pages, flash.programmed_pages
    for _ in range(12):
        flash.write(rng.integers(shape.pages, size=part), 1)
    found = (flash.programmed_pages - programmed) / (flash.host_pages - host)
    below = 100 * (1 - found / large_blocks(over / 100))
    assert said / 3 < below < said + 1


def test_a_large_drive_is_within_five_percent():
    assert below_theory_percent(0.15, geometry(DriveSpec(), 1 << 40)) < 5
    assert below_theory_percent(0.15, geometry(DriveSpec(), 4 * GIB)) > 10


def test_writing_in_order_costs_nothing():
    flash = Flash(Geometry(1 << 14, 80, 256, 1.0, 1.0, 0))
    for _ in range(6):
        flash.write(np.arange(1 << 14), 1)
    assert flash.programmed_pages == flash.host_pages


def test_the_map_keeps_its_books():
    """After writes, trims, folding and collection, all counts are right."""
    rng = np.random.default_rng(7)
    shape = Geometry(4096, 80, 64, 1.0, 1.0, 500)
    flash = Flash(shape)
    for _ in range(60):
        flash.write(rng.integers(4096, size=700), 1)
        flash.trim(rng.integers(4096, size=90))
        flash.rest(300.0, 0.5)
        held = np.flatnonzero(flash.where >= 0)
        assert (flash.holds[flash.where[held]] == held).all()
        inside = flash.where[held][flash.where[held] < flash.places]
        count = np.bincount(inside // 64, minlength=shape.blocks)
        assert (flash.valid == count).all()
        assert len(set(flash.free)) == len(flash.free)
        assert not flash.valid[list(flash.free)].any()


# queueing

PLAIN = FlashSpec.model_construct(
    channels=8,
    dies=32,
    planes=1,
    page=16384,
    erase_block=64 << 20,
    read=50_000,
    program=500_000,
    erase=0,
    spread=0.0,
    retries=0.0,
    channel_bandwidth=1e9,
    in_place=False,
)


def plain(**host):
    """A drive without chance, filled once."""
    usual = {"bandwidth": 4e9, "overhead": 10_000, "commands": 5e6, "trim": 30_000}
    host_spec = HostSpec.model_construct(**{**usual, **host})
    spec = DriveSpec().model_copy(update={"flash": PLAIN, "host": host_spec})
    bench = Bench(spec, 4 * GIB)
    bench.run(FILL, passes=1)
    return bench


@pytest.mark.parametrize("size_bytes", [4096, 16384])
def test_alone_a_read_takes_the_sum_of_its_parts(size_bytes):
    """Overhead, a page of the flash, the channel and the link."""
    parts_ns = 10_000 + 50_000 + size_bytes / 1 + size_bytes / 4
    assert plain().latency_ns(stream(size_bytes)) == pytest.approx(parts_ns, rel=0.01)


@pytest.mark.parametrize(
    ("what", "asked", "host", "most"),
    [
        ("dies", stream(qd=512), {}, 32 / 50e-6),
        ("link", stream(1 << 20, qd=32), {"bandwidth": 1e9}, 1e9 / (1 << 20)),
        ("channels", stream(65536, qd=256), {"bandwidth": 1e11}, 8e9 / 65536),
        ("commands", stream(qd=512), {"commands": 1e5}, 1e5),
    ],
)
def test_throughput_is_what_the_bottleneck_does(what, asked, host, most):
    assert isinstance(asked, type(WRITES))
    found = plain(**host).iops(asked)
    assert most * 0.9 < found < most * 1.02, what


def test_programs_limit_writes():
    """32 dies that program 16 KiB in 500 us each."""
    found = plain().iops(stream(16384, read_percent=0, pattern="sequential", qd=64))
    assert found == pytest.approx(32 / 500e-6, rel=0.03)


def test_an_open_loop_waits_less_than_a_closed_one_at_its_limit():
    """At two fifths of what the dies can do, most reads find their die idle; bursts
    make some wait. M/D/1: u / (2 (1 - u)) of a read more."""
    bench, use = plain(), 0.4
    rate = Rate(iops=use * 32 / 50e-6, arrivals="poisson")
    found = bench.latency_ns(stream(qd=256, rate=rate))
    alone = 10_000 + 50_000 + 4096 * 1.25
    assert found == pytest.approx(alone + 50_000 * use / 2 / (1 - use), rel=0.05)


# over time, and its scale


def story(capacity_bytes, most_pages):
    """Fill, write at random until steady; where the cliff is, and what follows."""
    flash = FlashSpec(**{"erase_block": "1MiB", "erase": "0ns"})
    spec = DriveSpec(flash=flash, over_provisioning="15%")
    bench = Bench(spec, capacity_bytes, most_pages)
    bench.run(FILL, passes=1)
    gib, fine_ns = capacity_bytes // GIB, SECOND_NS // 250
    _, series = bench.run(WRITES, run_ns=gib * SECOND_NS, interval_ns=fine_ns * gib)
    speed = np.array([iops(one) for one in series])
    cliff = int(np.argmax(speed < 0.9 * speed[0]))
    bench.run(WRITES, run_ns=30 * gib * SECOND_NS)
    last, _ = bench.run(WRITES, run_ns=10 * gib * SECOND_NS)
    return {
        "scale": bench.device.shape.scale,
        "fresh": speed[0],
        "cliff": speed[:cliff].sum() * fine_ns * 4096 / 1e9 / GIB,
        "amplification": float(last.facts["write_amplification"]),
        "steady": iops(last),
    }


@pytest.mark.long
def test_a_scaled_drive_is_like_a_whole_one():
    """The bounds that docs/sim.md states: 4 % in what it costs, 2 % of a drive write."""
    whole, scaled = story(2 * GIB, 1 << 24), story(2 * GIB, 1 << 16)
    assert whole["scale"] == 1 and scaled["scale"] > 8
    for name in ("amplification", "steady", "fresh"):
        assert scaled[name] == pytest.approx(whole[name], rel=0.04), name
    assert scaled["cliff"] == pytest.approx(whole["cliff"], abs=0.02)


@pytest.mark.slow
@pytest.mark.long
def test_the_cliff_comes_when_the_spare_is_used_up():
    """Of 15 % beyond a full drive, nearly all is written before it falls."""
    found = story(GIB, 1 << 17)
    assert found["cliff"] == pytest.approx(0.15, abs=0.03)
    assert found["fresh"] > 3 * found["steady"]
    assert found["amplification"] == pytest.approx(large_blocks(0.15), rel=0.05)


def test_rest_brings_speed_back_for_as_much_as_was_made_free():
    bench = Bench(DriveSpec(), 8 * GIB)
    bench.run(FILL, passes=1)
    bench.run(WRITES, run_ns=120 * SECOND_NS)
    steady = bench.iops(WRITES)
    bench.device.rest(60 * SECOND_NS)
    short = {"run_ns": 4 * SECOND_NS, "interval_ns": SECOND_NS // 50}
    _, series = bench.run(WRITES, **short)
    speed = np.array([iops(one) for one in series])
    fast = speed > 2 * steady
    freed = 0.5 * 0.15 * 8 * GIB
    assert speed[fast].sum() / 50 * 4096 == pytest.approx(freed, rel=0.25)
    assert speed[-1] < 1.3 * steady


@pytest.mark.parametrize("qd", [1, 4])
@pytest.mark.parametrize("read_percent", [37, 50, 90])
def test_littles_law_holds_in_short_mixed_runs(read_percent, qd):
    """However many slow I/Os chance draws: they leave time for fewer."""
    bench = Bench(DriveSpec(), GIB)
    bench.run(FILL, passes=1)
    for time_ns in (SECOND_NS // 50, SECOND_NS // 20, SECOND_NS // 5):
        mixed = stream(read_percent=read_percent, qd=qd)
        counts = bench.run(mixed, run_ns=time_ns)[0].streams[0].directions.values()
        last_ns = max(one.max_ns for one in counts)
        busy_ns = sum(one.sum_ns for one in counts)
        assert 0.9 * qd * time_ns < busy_ns < qd * (1.02 * time_ns + last_ns)
