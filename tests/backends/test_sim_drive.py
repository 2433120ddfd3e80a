"""Drive files: what they may say, the drives of the examples, and the drive's state."""

import json

import numpy as np
import pytest
from command import ioplan
from sim_drive import DRIVES, FILL, SECOND_NS, WRITES, Bench, counts, made_once, stream

from ioplan.backends import BackendError, TargetRequest
from ioplan.workload import Normal, Pareto, Region, Zipf
from ioplan_sim import DriveSpec, FlashSpec, HostSpec, SimBackend
from ioplan_witness import popularity

GIB = 1 << 30
HALF = {"region": Region(end_percent=50)}


def opened(drive, **more):
    return SimBackend().open(TargetRequest(options={"drive": drive}, **more))


def written(folder, text):
    path = folder / "drive.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[flash]\nreed = '60us'", "flash.reed: there is no such key, did you mean"),
        ("colour = 'red'", "colour: there is no such key; there are model, capacity"),
        ("[flash]\nread = 60", "flash.read: 60 is not a time; write for example '30s'"),
        ("[flash]\nread = '60'", "flash.read: '60' is a number, not a time"),
        ("[flash]\nread = '60uss'", "flash.read: unknown unit 'uss'; did you mean"),
        ("[flash]\ndies = 0", "flash.dies: Input should be greater than or equal to 1"),
        ("[flash]\ndies = '8'", "flash.dies: Input should be a valid integer"),
        ("over_provisioning = '0.5%'", "over_provisioning: Input should be greater"),
        (
            "[host]\ncommands = '2_000_000_000 iops'",
            "host.commands: Input should be less",
        ),
        ("capacity = '1TB", "is not TOML"),
    ],
)
def test_a_wrong_drive_file_is_told_at_its_key(text, message, tmp_path):
    path = written(tmp_path, text)
    with pytest.raises(BackendError) as refused:
        opened(path)
    assert message in str(refused.value) and path in str(refused.value)


def test_all_that_is_wrong_is_told_at_once(tmp_path):
    path = written(tmp_path, "x = 1\n[flash]\nread = 1\n[host]\ny = 2")
    with pytest.raises(BackendError) as refused:
        opened(path)
    assert all(key in str(refused.value) for key in ("x:", "flash.read:", "host.y:"))


def test_an_option_that_is_not_there_is_refused():
    with pytest.raises(BackendError, match="did you mean 'drive'"):
        SimBackend().open(TargetRequest(options={"drivee": "x.toml"}))
    with pytest.raises(BackendError, match=r"cannot read the drive nowhere.toml"):
        opened("nowhere.toml")
    with pytest.raises(BackendError, match="multiple of 512"):
        SimBackend().open(TargetRequest(create_bytes=1000))


def test_a_file_says_how_large_the_drive_is_unless_the_call_does():
    client = str(DRIVES / "client.toml")
    assert opened(client).facts.capacity_bytes == 512 * 10**9
    assert opened(client).facts.identity["model"] == "client"
    assert opened(client, create_bytes=GIB).facts.capacity_bytes == GIB


# the stories of the example drives


def prepared(name, passes=1):
    """An example drive after a fill, rested."""
    bench = Bench.of(name)
    bench.run(FILL, passes=passes)
    bench.device.rest(3600 * SECOND_NS)
    return bench


def test_latency_is_flat_to_a_depth_of_32_and_rises_at_128():
    bench = prepared("datacentre")
    at = {qd: bench.latency_ns(stream(qd=qd)) for qd in (1, 32, 128)}
    assert at[32] < 1.15 * at[1]
    assert at[128] > 2.5 * at[1]


def test_a_mix_is_slower_than_reads_and_than_writes():
    bench = prepared("client", passes=0.15)
    region = {"region": Region(end_percent=15), "qd": 32}
    speed = {p: bench.iops(stream(read_percent=p, **region)) for p in (100, 70, 0)}
    assert speed[70] < 0.75 * min(speed[100], speed[0])


def test_the_cache_fills_and_is_emptied_at_rest():
    bench = Bench.of("client")
    write = FILL.model_copy(update={"qd": 64})
    fast = bench.iops(write)
    result, series = bench.run(write, run_ns=60 * SECOND_NS)
    assert result.facts["cache_fill"] == 1
    moved = np.cumsum([one.streams[0].directions["write"].bytes for one in series])
    slow = bench.iops(write)
    assert slow < 0.6 * fast
    speed = np.diff(moved) / (128 << 10)
    edge = moved[int(np.argmax(speed < 0.7 * fast))]
    assert edge == pytest.approx(40e9, rel=0.1)
    bench.device.rest(3600 * SECOND_NS)
    assert bench.device.facts()["cache_fill"] == 0
    assert bench.iops(write) == pytest.approx(fast, rel=0.05)


# what streams ask is in the model


@made_once
def small():
    bench = Bench(DriveSpec(), 2 * GIB)
    bench.run(FILL, passes=1)
    return bench


@pytest.mark.parametrize(
    ("distribution", "share"),
    [(Pareto(h=0.2), 0.2), (Zipf(theta=1.0), 0.2), (Normal(deviation_percent=5), 0.1)],
    ids=lambda one: getattr(one, "kind", ""),
)
def test_draws_fall_as_the_distribution_says(distribution, share):
    """Of few writes over a new drive, as many pages are stored as draws hit."""
    bench = Bench(DriveSpec(), 256 << 20)
    count = (256 << 20) // 4096
    bench.run(
        WRITES.model_copy(update={"distribution": distribution}), limit_bytes=256 << 20
    )
    stored = float(np.mean(bench.device.flash.where >= 0))
    assert stored == pytest.approx(hit_share(distribution, count), abs=0.02)
    assert stored < 1 - share


def hit_share(distribution, pages):
    """The share of pages that as many draws as there are pages hit."""
    return float(np.mean(1 - np.exp(-pages * popularity(distribution, pages))))


def test_trims_leave_what_they_should():
    bench = small()
    trim = stream(128 << 10, pattern="sequential", trim_percent=100, **HALF)
    result, _ = bench.run(trim, passes=1)
    assert result.facts["mapped_share"] == pytest.approx(0.5, abs=0.01)


def test_reads_in_order_suffer_from_writes_at_random():
    """Four pages in one of the flash are read at once, scattered ones are not."""
    few_dies = DriveSpec(flash=FlashSpec(dies=16))
    bench, read = Bench(few_dies, GIB), stream(128 << 10, pattern="sequential", qd=16)
    bench.run(FILL, passes=1)
    before = bench.iops(read)
    bench.run(WRITES, run_ns=20 * SECOND_NS)
    assert bench.iops(read) < 0.5 * before


# the state


STATE = ("mapped_share", "valid_digest", "stored_digest", "free_blocks_share")


def state(bench):
    facts = bench.device.facts()
    return tuple(facts[name] for name in STATE)


def test_the_state_tells_preparations_apart():
    one, same, other = (small.__wrapped__() for _ in range(3))  # each by itself
    assert state(one) == state(same)
    one.run(WRITES, run_ns=SECOND_NS)
    same.run(WRITES, run_ns=SECOND_NS)
    assert state(one) == state(same) != state(other)


def test_reading_leaves_the_state_and_results_say_it():
    bench = small()
    before = state(bench)
    result, _ = bench.run(stream(qd=8))
    assert state(bench) == before == tuple(result.facts[name] for name in STATE)


def test_a_run_tells_the_state_that_it_began_in(tmp_path, store_path):
    plan = tmp_path / "p.ioplan"
    plan.write_text(
        'plan "P"\nprecondition filled { purge write sequential 128KiB, qd 8, 1 pass }\n'
        'test "T" { after filled before each run\n'
        "run random 4KiB 0/100, qd 8 for 1s\n repeat 1 { run random 4KiB 0/100, qd 8 for 2s } }\n"
    )
    call = ("run", plan, "--backend", "sim", "--create", "1GiB", "--json")
    done = ioplan(*call)
    runs = [one for one in done.records if one["asked"]["kind"] == "run"]
    begun = {one["backend"]["facts"]["before_valid_digest"] for one in runs}
    ended = {one["backend"]["facts"]["valid_digest"] for one in runs}
    assert len(runs) == 2 and len(begun) == 1 and len(ended) == 2


# rehearsal

PLAN = """plan "P"
precondition filled { write sequential 128KiB, qd 32, 1 pass }
test "T" {
  after filled
  run random 4KiB 100/0, qd 32 for 10s, warmup 2s
  vary qd in 8, 32
  rounds until steady iops when qd == 32, at most 25
}
test "R" { run random 4KiB 100/0 for 1min  idle 5s }
"""


@pytest.mark.long
def test_a_rehearsal_says_what_a_plan_takes(tmp_path):
    plan = tmp_path / "p.ioplan"
    plan.write_text(PLAN)
    sim = DRIVES / "datacentre.toml"
    call = ("plan", plan, "--rehearse", "--sim", sim)
    found = json.loads(ioplan(*call, "--json").out)
    assert found["drive"]["capacity_bytes"] == 10**12
    by_text = {(step["test"], step["text"]): step for step in found["steps"]}
    rounds = by_text["T", "qd=32"]["times"]
    assert 5 <= rounds < 25 and f"steady after {rounds} rounds" in found["rounds"]["T"]
    assert by_text["T", "qd=32"]["run_s"] == pytest.approx(12 * rounds)
    fill = found["steps"][0]
    assert fill["written_bytes"] == pytest.approx(1e12, rel=0.001)
    assert fill["run_s"] == pytest.approx(1e12 / 1.9e9, rel=0.05)
    total = fill["run_s"] + 24 * rounds + 65
    assert found["total"]["run_s"] == pytest.approx(total, rel=0.001)
    text = ioplan(*call).out
    assert "rehearsed on data-centre TLC, 1.00 TB" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_sim_chooses_backend_and_drive(tmp_path, store_path):
    plan = tmp_path / "p.ioplan"
    plan.write_text('plan "P"\ntest "T" { run random 4KiB 100/0 for 1s }\n')
    sim = DRIVES / "crosspoint.toml"
    record = ioplan("run", plan, "--sim", sim, "--json").record
    assert record["backend"]["name"] == "sim"
    assert record["target"]["identity"]["model"] == "crosspoint"
    wrong = ioplan("run", plan, "--sim", sim, "--backend", "fio")
    assert wrong.code == 2 and "--sim is for the backend sim, not fio" in wrong.err


def test_less_than_a_nanosecond_is_a_latency():
    """In the histogram's first bucket, of a drive that has nothing to read."""
    host = HostSpec(overhead="0s", commands="1_000_000_000 iops", bandwidth="1000TB/s")
    result, _ = Bench(DriveSpec(host=host), GIB).run(stream())
    (found,) = counts(result)
    assert found.sum_ns / found.ios < 2 and found.bins[0] == 0
