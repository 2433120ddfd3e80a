"""What a plan costs before it has run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from plans import checked

from ioplan.planner import Estimator, RoundsOf, Run, unfold, with_repetitions
from ioplan.planner.estimate import Assumptions, Cost
from ioplan.workload import Replay

CAPACITY = 100 * 10**9
FILLED = "precondition filled { purge write sequential 128KiB, qd 32, 2 passes }\n"
DRIVE = Assumptions()


def cost_of(body: str, before: str = "", scale: float = 1.0) -> Cost:
    plan = checked(f'{before}test "T" {{ {body} }}', scale)
    return Estimator(CAPACITY).total(unfold(plan))


@given(
    seconds=st.lists(st.integers(1, 10_000), min_size=1, max_size=4),
    warmup=st.integers(1, 100),
    pause=st.integers(1, 10_000),
    times=st.integers(1, 20),
)
def test_timed_reads_are_exact(
    seconds: list[int], warmup: int, pause: int, times: int
) -> None:
    cost = cost_of(
        f"vary (t, size) in {', '.join(f'({s}s, {4 * (i + 1)}KiB)' for i, s in enumerate(seconds))}"
        f"\n repeat {times} {{ run random 100/0 for t, warmup {warmup}s\n idle {pause}s }}"
    )
    assert cost.run_s == pytest.approx(
        times * (sum(seconds) + len(seconds) * (warmup + pause)), rel=1e-12
    )
    assert cost.written_bytes == 0


def test_a_precondition_writes_its_passes() -> None:
    cost = cost_of("after filled\n run random 4KiB 100/0 for 10s", FILLED)
    assert cost.written_bytes == pytest.approx(2 * CAPACITY, rel=1e-12)
    assert cost.run_s == pytest.approx(
        10 + 2 * CAPACITY / DRIVE.bandwidth_bytes_per_s, rel=1e-12
    )


def test_a_region_is_a_part_of_a_pass() -> None:
    state = "precondition p { write random 4KiB, region 10%..35%, 3 passes }\n"
    cost = cost_of("after p\n run random 4KiB 100/0 for 1s", state)
    assert cost.written_bytes == pytest.approx(0.75 * CAPACITY, rel=1e-9)


def test_a_stream_writes_in_its_part_of_the_run() -> None:
    """Times within a run go with the run's, so that a short try has all parts."""
    duo = (
        "workload duo { a = random 4KiB 100/0, rate 10 iops "
        "b = random 4KiB 0/100, rate 1_000 iops, starts after 2s, ends after 6s }\n"
    )
    found = cost_of("run duo for 8s", duo)
    assert found.written_bytes == pytest.approx(4 * 1000 * 4096)
    tenth = cost_of("run duo for 8s", duo, 0.1)
    assert tenth.written_bytes == pytest.approx(found.written_bytes / 10)


def test_a_rate_that_changes_writes_its_mean() -> None:
    burst = "burst 2s of 1_000 iops, then 3s of 500 iops"
    found = cost_of(f"run random 4KiB 0/100, qd 32, {burst} for 10s")
    assert found.written_bytes == pytest.approx(2 * 3_500 * 4096)
    assert cost_of(
        f"run random 4KiB 0/100, qd 32, {burst} for 10s", "", 0.1
    ).written_bytes == (pytest.approx(found.written_bytes / 10))
    ramp = cost_of("run random 4KiB 0/100, qd 32, ramp 100 iops..900 iops for 10s")
    assert ramp.written_bytes == pytest.approx(5_000 * 4096)


def test_until_steady_is_counted_as_if_it_never_were() -> None:
    state = "precondition p {{ write random 4KiB, until steady iops every 1min, at most {} }}"
    body = "after p\n run random 4KiB 100/0 for 1s"
    passes = cost_of(body, state.format("4 passes"))
    assert passes.written_bytes == pytest.approx(4 * CAPACITY, rel=1e-9)
    assert cost_of(body, state.format("30min")).run_s == pytest.approx(1801)


def test_a_rate_bounds_what_is_written() -> None:
    by_bytes = cost_of("run sequential 128KiB 0/100, qd 32, rate 200MiB/s for 10s")
    assert by_bytes.written_bytes == pytest.approx(10 * 200 * 2**20)
    by_ios = cost_of("run random 4KiB 50/50, qd 32, rate 1_000 iops for 10s")
    assert by_ios.written_bytes == pytest.approx(10 * 500 * 4096)
    slow = cost_of("run random 4KiB 0/100, qd 1, rate 10_000_000 iops for 10s")
    assert slow.written_bytes == pytest.approx(10 * 4096 / DRIVE.latency_s)


def test_a_trim_writes_nothing() -> None:
    cost = cost_of("run random 4KiB 50/50, qd 32, trim 20%, rate 1_000 iops for 10s")
    assert cost.written_bytes == pytest.approx(10 * 400 * 4096)


def test_sizes_count_by_their_share() -> None:
    sizes = "sizes { 4KiB 75%, 64KiB 25% }"
    cost = cost_of(f"run random {sizes} 0/100, qd 32, rate 1_000 iops for 10s")
    assert cost.written_bytes == pytest.approx(10_000 * 19 * 1024)


def test_streams_share_the_drive() -> None:
    streams = """workload w {
      a = sequential 1MiB 0/100, qd 64
      b = sequential 1MiB 100/0, qd 64
    }
    """
    cost = cost_of("run w for 10s", streams)
    assert cost.written_bytes == pytest.approx(5 * DRIVE.bandwidth_bytes_per_s)


ROUNDS = "run random 4KiB 0/100 for 60s\n rounds until steady iops, at most 25\n after "


def test_rounds_are_prepared_as_often_as_the_plan_says() -> None:
    """Not with every round, unless the plan asks for it."""
    once = cost_of(f"{ROUNDS} filled", FILLED)
    fill_s = 2 * CAPACITY / DRIVE.bandwidth_bytes_per_s
    assert once.run_s == pytest.approx(fill_s + 25 * 60)
    each = cost_of(f"{ROUNDS} filled before each round", FILLED)
    assert each.run_s == pytest.approx(25 * (fill_s + 60))


def test_a_state_that_is_kept_is_not_paid_again() -> None:
    text = FILLED + "\n".join(
        f'test "{n}" {{ after filled\n run random 4KiB 100/0 for 1s }}'
        for n in range(3)
    )
    cost = Estimator(CAPACITY).total(unfold(checked(text)))
    assert cost.written_bytes == pytest.approx(2 * CAPACITY)


def test_a_total_is_the_sum_of_its_steps() -> None:
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


def test_estimates_do_not_disturb_the_steps() -> None:
    """What a plan costs is asked while it runs."""
    text = f'{FILLED}test "A" {{ {ROUNDS} filled }}'
    (rounds,) = unfold(checked(text))
    assert isinstance(rounds, RoundsOf)
    Estimator(CAPACITY).cost(rounds)
    kinds = [[type(s).__name__ for s in rounds.round(n)] for n in (1, 2)]
    assert kinds == [["Prepare", "Prepare", "Run"], ["Run"]]


def test_times_scale() -> None:
    body = "run random 4KiB 100/0 for 100s, warmup 10s\n idle 20s"
    assert cost_of(body, scale=0.01).run_s == pytest.approx(1.3)


def test_a_region_in_bytes_is_as_many_of_a_pass() -> None:
    state = "precondition p { write random 4KiB, region 1GiB..+2GiB, 3 passes }\n"
    cost = cost_of("after p\n run random 4KiB 100/0 for 1s", state)
    assert cost.written_bytes == pytest.approx(3 * (2 << 30), rel=1e-9)


@pytest.mark.parametrize(
    ("burst", "seconds", "ios"),
    [
        ("5s of 50_000 iops, then 55s of 500 iops", 5, 250_000),
        ("5s of 50_000 iops, then 55s of 500 iops", 65, 527_500),
        ("30s of 0 iops, then 1s of 10_000 iops", 20, 0),
        ("30s of 0 iops, then 1s of 10_000 iops", 31, 10_000),
        ("1s of 900_000 iops, then 1s of 0 iops", 4, 400_000),  # DRIVE does 200,000
        ("1s of 40MB/s, then 3s of 0B/s", 2, 40e6 / 4096),
    ],
)
def test_bursts_count_as_far_as_a_run_goes(
    burst: str, seconds: int, ios: float
) -> None:
    cost = cost_of(f"run random 4KiB 0/100, qd 64, burst {burst} for {seconds}s")
    assert cost.written_bytes == pytest.approx(4096 * ios)


def test_flushes_of_a_trace_take_its_time_and_move_nothing() -> None:
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
