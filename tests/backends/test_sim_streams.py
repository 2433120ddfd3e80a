"""What streams ask of the simulated drive: parts, pauses and passes."""

import pytest
from command import ioplan, plan_file
from sim_drive import FILL, SECOND_NS, Bench, filled, made_once, stream

from ioplan.job import Progress
from ioplan.workload import DIRECTIONS, Rate, RatePhase
from ioplan_sim import DriveSpec, FlashSpec, HostSpec

MS_NS = SECOND_NS // 1000


def test_a_stream_does_its_io_in_its_part_of_the_run_only():
    """At a rate each interval has its I/Os; the warm-up goes before the part."""
    streams = (
        stream(name="whole", rate=Rate(iops=1000)),
        stream(
            name="part",
            rate=Rate(iops=2000),
            starts_ns=3 * SECOND_NS,
            ends_ns=6 * SECOND_NS,
        ),
        stream(name="early", rate=Rate(iops=4000), ends_ns=1500 * MS_NS),
    )
    times = {"run_ns": 8 * SECOND_NS, "warmup_ns": 2 * SECOND_NS}
    result, events = filled("datacentre").run(*streams, **times)
    seen = [
        {one.name: sum(c.ios for c in one.directions.values()) for one in event.streams}
        for event in events
        if isinstance(event, Progress) and not event.warmup
    ]
    assert [one["part"] for one in seen] == pytest.approx(
        [0, 0, 0, 2000, 2000, 2000, 0, 0], abs=8
    )
    assert [one["early"] for one in seen] == pytest.approx(
        [4000, 2000, *[0] * 6], abs=8
    )
    assert [one["whole"] for one in seen] == pytest.approx([1000] * 8, abs=8)
    whole, part, early = result.streams
    assert (part.run_ns, early.run_ns) == (3 * SECOND_NS, 1500 * MS_NS)
    assert result.run_ns == 8 * SECOND_NS and whole.run_ns is None


def test_another_stream_has_the_drive_to_itself_meanwhile():
    """A closed loop is as fast as alone where the other one is not there."""
    bench = filled("datacentre")
    fields = {"read_percent": 100, "qd": 4}
    alone, _ = bench.run(stream(**fields), run_ns=4 * SECOND_NS)
    beside = stream(name="beside", qd=256, starts_ns=2 * SECOND_NS)
    _, events = bench.run(stream(**fields), beside, run_ns=4 * SECOND_NS)
    series = [
        event.streams[0].directions["read"].ios
        for event in events
        if isinstance(event, Progress)
    ]
    each = alone.streams[0].directions["read"].ios / len(series)
    half = len(series) // 2
    assert series[:half] == pytest.approx([each] * half, rel=0.03)
    assert max(series[half:]) < 0.9 * each


def series(events):
    return [
        event.streams[0].directions["read"].ios if event.streams[0].directions else 0
        for event in events
        if not event.warmup
    ]


def test_a_burst_has_the_ios_of_its_phases():
    """Also where one ends within an interval, and with a warm-up before the first."""
    lengths = ((1500, 2000.0), (500, 0.0), (1000, 300.0))
    phases = tuple(
        RatePhase(length_ns=ms * MS_NS, per_s=per_s) for ms, per_s in lengths
    )
    rate = Rate(iops=1100.0, phases=phases)
    times = {"run_ns": 6 * SECOND_NS, "warmup_ns": 700 * MS_NS}
    result, events = filled("datacentre").run(stream(qd=8, rate=rate), **times)
    assert series(events) == pytest.approx([2000, 1000, 300] * 2, abs=8)
    assert result.streams[0].directions["read"].ios == pytest.approx(6600, abs=8)


@pytest.mark.long
def test_a_ramp_has_the_ios_below_its_line_until_the_drive_can_do_no_more():
    """Latencies count from the intended start, and so grow where the drive is behind."""
    bench = filled("datacentre")
    rate = Rate(iops=5_000.0, first_per_s=0.0, last_per_s=10_000.0)
    _, events = bench.run(stream(qd=8, rate=rate), run_ns=10 * SECOND_NS)
    assert series(events) == pytest.approx([500 + 1000 * n for n in range(10)], abs=40)
    able = bench.iops(stream(qd=1))
    steep = Rate(iops=1.5 * able, first_per_s=0.0, last_per_s=3 * able)
    short = {"run_ns": 900 * MS_NS, "interval_ns": 100 * MS_NS}
    _, events = bench.run(stream(qd=1, rate=steep), **short)
    seen = [10 * ios for ios in series(events)]
    assert seen[:2] == pytest.approx([able / 6, able / 2], rel=0.03)
    assert seen[-4:] == pytest.approx([able] * 4, rel=0.03)
    first, *_, last = (e.streams[0].directions["read"] for e in events)
    assert last.sum_ns / last.ios > 1000 * first.sum_ns / first.ios


# think time on the simulated drive, against what follows from latencies alone

STEADY = DriveSpec(
    flash=FlashSpec(dies=1024, channels=1024, spread="0%", retries="0%", in_place=True),
    host=HostSpec(overhead="0us", commands="1_000_000_000 iops", bandwidth="1TB/s"),
)
"""A drive without queues: each read takes as long as any other."""


@made_once
def steady():
    bench = Bench(STEADY, 1 << 30)
    bench.run(FILL, passes=1)
    return bench


def counts(result, place=0):
    moved = result.streams[place].directions.items()
    (found,) = (one for direction, one in moved if direction in DIRECTIONS)
    return found


def latency_ns(result, place=0):
    found = counts(result, place)
    return found.sum_ns / found.ios


def group_ns(result, asked, place=0):
    """The time from the beginning of one group of I/Os to that of the next."""
    groups = counts(result, place).ios / asked.pause_every / asked.threads
    return result.run_ns / groups


def run(bench, **fields):
    asked = stream(**fields)
    return bench.run(asked, run_ns=100 * SECOND_NS)[0], asked


@pytest.mark.parametrize("pause_ms", [0.01, 1, 50])
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("read_percent", [100, 0])
def test_at_depth_one_a_pause_is_added_to_each_latency(read_percent, threads, pause_ms):
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
def test_a_group_takes_its_waves_and_a_pause(qd, every):
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


def test_flushes_belong_to_a_group():
    bench = filled("client")
    fields = {"read_percent": 0, "pause_ns": 5 * MS_NS, "pause_every": 4}
    plain, asked = run(bench, **fields)
    synced, _ = run(bench, **fields, sync_every=1)
    more_ns = group_ns(synced, asked) - group_ns(plain, asked)
    assert more_ns == pytest.approx(4 * bench.device.spec.buffer.flush, rel=0.02)
    assert latency_ns(synced) == pytest.approx(latency_ns(plain), rel=0.05)


def test_a_seldom_stream_meets_the_load_of_others():
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


def test_a_pause_lets_the_buffer_run_empty():
    """Writes in groups that fit are as fast as the link, however slow the flash is."""
    bench = filled("client")
    bench.run(stream(read_percent=0, qd=32), passes=1.5, interval_ns=60 * SECOND_NS)
    sustained = bench.iops(stream(read_percent=0, qd=32))
    result, asked = run(
        bench, read_percent=0, qd=32, pause_ns=SECOND_NS, pause_every=32
    )
    assert latency_ns(result) < 32 / sustained * SECOND_NS / 10
    assert group_ns(result, asked) == pytest.approx(SECOND_NS, rel=0.01)


# passes on the simulated drive have the I/Os and bytes that the engine's have

KIB = 1024
RUNS = (
    "sequential 4KiB 0/100, qd 4, 1 pass",
    "sequential 48KiB 0/100, qd 4, 3 passes",
    "sequential 48KiB 70/30, qd 4 each, threads 3, 3 passes",
    "sequential 128KiB 0/100, qd 4, 2.3 passes",
    "sequential 4KiB 100/0, qd 4 each, threads 3, 0.7 passes",
    "random 48KiB 0/100, qd 4, permuted, 3 passes",
    "random 12KiB 0/100, qd 4 each, threads 3, permuted, 3 passes",
)


def totals(plan, folder, *target):
    """I/Os and bytes of its runs."""
    store = ("--store", folder / "results.db")
    done = ioplan("run", plan, *target, *store, "-q")
    assert done.code in (0, 1), done.err
    rows = ioplan("export", "last", "--format", "jsonl", *store).lines
    return [(row["total"]["ios"], row["total"]["bytes"]) for row in rows]


@pytest.mark.slow
def test_passes_are_those_of_the_engine(tmp_path, rough_sim):
    """Of a target that is a whole number of none of these sizes."""
    tests = (f'test "T{n}" {{ run {run} }}' for n, run in enumerate(RUNS))
    plan = plan_file(tmp_path, "\n".join(tests))
    size = ("--create", "10036KiB")
    by_engine = totals(plan, tmp_path, *size, "--target", tmp_path / "scratch")
    by_sim = totals(plan, tmp_path, *size, "--backend", "sim")
    assert len(by_sim) == len(RUNS) and dict(zip(RUNS, by_sim, strict=True)) == dict(
        zip(RUNS, by_engine, strict=True)
    )


@pytest.mark.parametrize(
    ("io", "ios", "moved_bytes"),
    [
        ("sequential 128KiB 0/100", 22_888_185, 3 * 10**12),
        ("sequential 128KiB 50/50", 22_888_185, 3 * 10**12),
        ("random 128KiB 0/100, permuted", 3 * 7_629_394, 3 * 7_629_394 * 128 * KIB),
    ],
)
def test_the_last_io_of_each_pass_is_cut(io, ios, moved_bytes, tmp_path, rough_sim):
    """7,629,394.53 times 128 KiB are 1 TB."""
    plan = plan_file(tmp_path, f'test "T" {{ run {io}, qd 32, 3 passes }}\n')
    target = ("--backend", "sim", "--create", "1TB", "--interval", "60s")
    assert totals(plan, tmp_path, *target) == [(ios, moved_bytes)]
