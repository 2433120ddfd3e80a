"""What a plan costs before it has run, and what else is asked of it as a whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from plans import checked

from ioplan.planner import (
    Estimator,
    RoundsOf,
    Run,
    summary_of,
    unfold,
    with_repetitions,
)
from ioplan.workload import Replay

CAPACITY = 100 * 10**9
FILLED = "precondition filled { purge write sequential 128KiB, qd 32, 2 passes }\n"
BANDWIDTH_BYTES_PER_S, LATENCY_S = 1e9, 80e-6
"""Of the drive that is assumed; it does 200,000 IOPS."""


def cost_of(body, before="", scale=1.0):
    plan = checked(f'{before}test "T" {{ {body} }}', scale)
    return Estimator(CAPACITY).total(unfold(plan))


@given(
    seconds=st.lists(st.integers(1, 10_000), min_size=1, max_size=4),
    warmup=st.integers(1, 100),
    pause=st.integers(1, 10_000),
    times=st.integers(1, 20),
)
def test_timed_reads_are_exact(seconds, warmup, pause, times):
    cost = cost_of(
        f"vary (t, size) in {', '.join(f'({s}s, {4 * (i + 1)}KiB)' for i, s in enumerate(seconds))}"
        f"\n repeat {times} {{ run random 100/0 for t, warmup {warmup}s\n idle {pause}s }}"
    )
    assert cost.run_s == pytest.approx(
        times * (sum(seconds) + len(seconds) * (warmup + pause)), rel=1e-12
    )
    assert cost.written_bytes == 0


DUO = """workload duo { a = random 4KiB 100/0, rate 10 iops
  b = random 4KiB 0/100, rate 1_000 iops, starts after 2s, ends after 6s }
"""
HEAD = f"""{FILLED}{DUO}
precondition a_part {{ write random 4KiB, region 10%..35%, 3 passes }}
precondition some_bytes {{ write random 4KiB, region 1GiB..+2GiB, 3 passes }}
workload shared {{ a = sequential 1MiB 0/100, qd 64
  b = sequential 1MiB 100/0, qd 64 }}
workload small = random 4KiB 0/100, qd 32
workload deep = small, qd 64
"""
BURST = "burst 2s of 1_000 iops, then 3s of 500 iops"
READ = "run random 4KiB 100/0 for 1s"
WRITTEN = {
    f"after filled {READ}": 2 * CAPACITY,
    f"after a_part {READ}": 0.75 * CAPACITY,
    f"after some_bytes {READ}": 3 * (2 << 30),
    "run duo for 8s": 4 * 1000 * 4096,
    f"run small, {BURST} for 10s": 2 * 3_500 * 4096,
    "run small, ramp 100 iops..900 iops for 10s": 5_000 * 4096,
    "run small, size 128KiB, rate 200MiB/s for 10s": 10 * 200 * 2**20,
    "run small, 50/50, rate 1_000 iops for 10s": 10 * 500 * 4096,
    "run small, qd 1, rate 10_000_000 iops for 10s": 10 * 4096 / LATENCY_S,
    "run small, 50/50, trim 20%, rate 1_000 iops for 10s": 10 * 400 * 4096,
    "run random sizes { 4KiB 75%, 64KiB 25% } 0/100, qd 32, rate 1_000 iops for 10s": (
        10_000 * 19 * 1024
    ),
    "run shared for 10s": 5 * BANDWIDTH_BYTES_PER_S,
    "run deep, burst 5s of 50_000 iops, then 55s of 500 iops for 5s": 1.024e9,
    "run deep, burst 5s of 50_000 iops, then 55s of 500 iops for 65s": 527_500 * 4096,
    "run deep, burst 30s of 0 iops, then 1s of 10_000 iops for 20s": 0,
    "run deep, burst 30s of 0 iops, then 1s of 10_000 iops for 31s": 10_000 * 4096,
    "run deep, burst 1s of 900_000 iops, then 1s of 0 iops for 4s": 400_000 * 4096,
    "run deep, burst 1s of 40MB/s, then 3s of 0B/s for 2s": 40e6,
}


@pytest.mark.parametrize("body", WRITTEN)
def test_what_is_written(body):
    found = cost_of(body, HEAD).written_bytes
    assert found == pytest.approx(WRITTEN[body], rel=1e-9)


def test_a_short_try_has_all_parts():
    """Times within a run go with the run's."""
    for body, before in (
        (f"run small, {BURST} for 10s", HEAD),
        ("run duo for 8s", HEAD),
    ):
        whole, tenth = cost_of(body, before), cost_of(body, before, 0.1)
        assert tenth.written_bytes == pytest.approx(whole.written_bytes / 10)
    body = "run random 4KiB 100/0 for 100s, warmup 10s\n idle 20s"
    assert cost_of(body, scale=0.01).run_s == pytest.approx(1.3)
    filled = cost_of("after filled\n run random 4KiB 100/0 for 10s", FILLED)
    assert filled.run_s == pytest.approx(10 + 2 * CAPACITY / BANDWIDTH_BYTES_PER_S)


def test_until_steady_is_counted_as_if_it_never_were():
    state = "precondition p {{ write random 4KiB, until steady iops every 1min, at most {} }}"
    body = "after p\n run random 4KiB 100/0 for 1s"
    passes = cost_of(body, state.format("4 passes"))
    assert passes.written_bytes == pytest.approx(4 * CAPACITY, rel=1e-9)
    assert cost_of(body, state.format("30min")).run_s == pytest.approx(1801)


ROUNDS = "run random 4KiB 0/100 for 60s\n rounds until steady iops, at most 25\n after "


def test_rounds_are_prepared_as_often_as_the_plan_says():
    """Not with every round, unless the plan asks for it."""
    once = cost_of(f"{ROUNDS} filled", FILLED)
    fill_s = 2 * CAPACITY / BANDWIDTH_BYTES_PER_S
    assert once.run_s == pytest.approx(fill_s + 25 * 60)
    each = cost_of(f"{ROUNDS} filled before each round", FILLED)
    assert each.run_s == pytest.approx(25 * (fill_s + 60))


def test_a_state_that_is_kept_is_not_paid_again():
    text = FILLED + "\n".join(
        f'test "{n}" {{ after filled\n run random 4KiB 100/0 for 1s }}'
        for n in range(3)
    )
    cost = Estimator(CAPACITY).total(unfold(checked(text)))
    assert cost.written_bytes == pytest.approx(2 * CAPACITY)


def test_a_total_is_the_sum_of_its_steps():
    text = (
        f'{FILLED}test "A" {{ {ROUNDS} filled before each round\n vary qd in 1 }}\n'
        'test "B" { after filled\n run random 4KiB 30/70 for 5s\n vary qd in 1, 2 }'
    )
    estimator = Estimator(CAPACITY)
    steps = list(unfold(checked(text)))
    total = estimator.total(steps)
    single = [estimator.cost(step).repeated(n) for step, n in with_repetitions(steps)]
    whole = [estimator.cost(step) for step in steps]
    assert isinstance(steps[0], RoundsOf)
    for costs in (single, whole):
        assert total.run_s == pytest.approx(sum(cost.run_s for cost in costs))
        assert total.written_bytes == pytest.approx(sum(c.written_bytes for c in costs))


def test_flushes_of_a_trace_take_its_time_and_move_nothing():
    """2 reads and 49 flushes within 5 s take 5 s."""
    (step,) = unfold(checked('test "T" { run random 4KiB 100/0, 1 pass }'))
    assert isinstance(step, Run)
    replay = Replay(
        digest="0", ios=51, span_ns=5 * 10**9, end_bytes=8192, moved_bytes=8192
    )
    (stream,) = step.workload.streams
    streams = (stream.model_copy(update={"replay": replay}),)
    workload = step.workload.model_copy(update={"streams": streams})
    cost = Estimator(CAPACITY).cost(replace(step, workload=workload))
    assert cost.run_s == pytest.approx(5.0)


# summary


@pytest.mark.parametrize(("mix", "writing"), [("100/0", False), ("99/1", True)])
def test_only_a_plan_that_writes_opens_for_writing(mix, writing):
    plan = checked(f'test "A" {{ idle 1s\n run random 4KiB {mix} for 1s }}')
    assert summary_of(plan).writes is writing
    rest = checked(
        'precondition p { idle 1s }\ntest "A" { after p\n run random 4KiB 100/0 for 1s }'
    )
    assert not summary_of(rest).writes


def test_hosts_are_those_of_all_streams_each_once():
    plan = checked(
        "workload w { a = random 4KiB 100/0, on hosts h2, h1 b = random 4KiB 100/0, on hosts h1 }\n"
        'test "A" { run w for 1s }\ntest "B" { run random 4KiB 100/0, on hosts h3 for 1s }'
    )
    assert summary_of(plan).hosts == ("h2", "h1", "h3")


PREPARED = """precondition filled { write sequential 128KiB, 1 pass }
test "A" {
  after filled before each round
  run random 4KiB %s for 1s
  idle 1s
  rounds until steady iops, at most 9
}"""


def test_rounds_count_at_most_and_rests_touch_nothing():
    summary = summary_of(checked(PREPARED % "0/100"))
    times = [(type(step).__name__, times) for step, times in summary.steps]
    assert times == [("Prepare", 9), ("Run", 9), ("Idle", 9)]
    assert [type(step).__name__ for step in summary.io_steps] == ["Prepare", "Run"]
