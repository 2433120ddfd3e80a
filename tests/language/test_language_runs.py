"""Every construct of the language runs: on the simulated drive and for real."""

from pathlib import Path

import pytest
from command import ioplan, plan_file, succeed

pytestmark = pytest.mark.usefixtures("rough_sim", "store_path")


CLAUSES = [
    "random 4KiB 100/0",
    "sequential 128KiB 0/100",
    "random 8KiB 70/30, qd 32",
    "random sizes { 512B 10%, 4KiB 60%, 64KiB 30% } 80/20",
    "random read sizes { 4KiB 50%, 8KiB 50% } write sizes { 16KiB 100% } 50/50",
    "random sizes 4KiB..16KiB step 4KiB 100/0, align 4KiB",
    "random 4KiB 100/0, threads 2, qd 4 each",
    "random 4KiB 100/0, threads 2, qd 4 total",
    "sequential 64KiB 50/50, threads 2, qd 2 each",
    "random 4KiB 100/0, rate 2_000 iops",
    "random 4KiB 70/30, rate 20MiB/s",
    "random 4KiB 100/0, qd 8, rate 2_000 iops poisson",
    "random 4KiB 100/0, qd 8, rate 2_000 iops gamma 1.33",
    "random 4KiB 100/0, qd 8, burst 20ms of 5_000 iops, then 30ms of 500 iops poisson",
    "random 4KiB 100/0, threads 2, qd 4 each, ramp 2MiB/s..20MiB/s total",
    "random 4KiB 100/0, qd 4, pause 1ms",
    "random 4KiB 70/30, qd 8, pause 2ms every 32",
    "random 4KiB 0/100, region 25%..50%",
    "random 4KiB 0/100, region 1MiB..+25%",
    "random 4KiB 100/0, hotspots { 50% in 5%, 30% in 15%, 20% in 80% }",
    "random 65% 4KiB 70/30, qd 4",
    "random 4KiB 70/30, read random 65%, write random 0%, qd 4",
    "random 4KiB 100/0, zipf 1.1",
    "random 4KiB 100/0, pareto 0.2",
    "random 4KiB 100/0, normal 10%",
    "random 4KiB 100/0, align 512B",
    "random 4KiB 100/0, align size",
    "random 4KiB 0/100, data zeros",
    "random 4KiB 0/100, data compressible 50%",
    "random 4KiB 0/100, data random",
    "random 4KiB 0/100, dedup 30%",
    "random 4KiB 50/50, trim 10%",
    "random 4KiB 0/100, qd 4, sync every 32",
    "random 4KiB 0/100, qd 4, flush every 32, fua",
    "random 4KiB 50/50, qd 4, verify",
    "random 4KiB 100/0, errors allowed up to 1%, hang 2min",
    "oltp",
    "oltp, rate 2_000 iops poisson",
    "logging",
    "staggered",
    "replay sampled, speed 2",
    "replay sampled, offsets scaled",
    "replay sampled 20ms..60ms as fast as possible, qd 4",
    "replay answered after completion, qd 8",
    "replay logged, only reads",
    "replay logged, only writes",
    "replay logged, writes as reads",
]
STATEMENTS = [
    "run random 4KiB 100/0 for 100ms, warmup 50ms",
    "run random 4KiB 100/0 for 1MiB",
    "run sequential 64KiB 0/100, 2 passes",
    "repeat 2 { run random 4KiB 0/100 for 1MiB idle pause } vary pause in 5ms, 10ms",
    "run random 4KiB for 1MiB vary (size, qd) in (4KiB, 2), (8KiB, 8) vary read in 0%",
    "run random 4KiB 100/0 for 1MiB vary size in 512B..8KiB doubling skip when size > 4KiB",
    "after ready before each size run random 4KiB 0/100 for 1MiB vary size in 4KiB, 8KiB",
    "after ready before each run run random 4KiB 0/100 for 1MiB vary qd in 1, 2",
    "run random 4KiB 0/100 for 1MiB vary data in random, zeros, compressible 30%",
    "run random 4KiB 100/0 for 1MiB vary region in 0%..50%, 50%..100%",
    "run random 4KiB 100/0 for 1MiB vary pattern in random, sequential",
    "run random 4KiB 100/0, qd 2 each for 1MiB vary threads in 1, 2",
    "run random 4KiB 100/0 for 1MiB vary rate in 1_000 iops, 2_000 iops",
    "run oltp for 1MiB vary workload in oltp, logging",
    "run logging for 1MiB vary reader.qd in 1, 4 chart lines reader.iops by reader.qd",
    "run random 4KiB for 100ms vary read in 0%, 100% vary qd in 1, 2 "
    "rounds until steady iops when read == 0% and qd == 2, at most 9, range 90%, slope 90%",
    "after steady run random 4KiB 100/0 for 1MiB",
    "after shaped run random 4KiB 100/0 for 1MiB",
    "after ready then pressed before each qd run random 4KiB 0/100 for 1MiB vary qd in 1, 2",
    "after steady run random 4KiB 0/100, qd 4 for 2s, until steady iops every 20ms, at most 4 passes, "
    "over 3, range 100%, slope 100%",
    "run random 4KiB 100/0, qd 4, burst 200ms of 2_000 iops as peak, then 300ms of "
    "500 iops as rest for 2s, interval 100ms expect p50 < 1s during peak "
    "expect p50 during 1s..2s <= 900% of p50 during rest expect worst_second.p50 < 1s "
    "expect intervals of p50 above 1s == 0% headline p50 during peak "
    "chart table p50 during rest, worst_second.p50 chart lines p50 over time "
    "chart heatmap latency over time",
    "run random 4KiB 100/0 for 1MiB expect read.mean < 1s expect errors == 0 "
    "chart histogram read.mean",
]
BACKENDS = ["sim", pytest.param("io_uring", marks=[pytest.mark.slow, pytest.mark.long])]
HEAD = """
trace sampled = "std/sample.iotrace"
trace logged = "std/logged.iotrace"
trace answered = "std/answered.iotrace"
workload oltp = random 8KiB 70/30, qd 4
workload logging {
  reader = random 4KiB 100/0, qd 1
  writer = sequential 128KiB 0/100, qd 2, rate 20MiB/s
}
workload staggered {
  reader = random 4KiB 100/0, qd 2, ends after 80ms
  writer = random 4KiB 0/100, starts after 20ms
}
precondition ready { purge write sequential 128KiB, qd 8, 1 pass idle 10ms }
precondition pressed { write random 4KiB, qd 8 for 100ms }
precondition shaped { write random 4KiB shaped, spare 15%, qd 8, threads 1 }
precondition steady {
  ready
  write random 16KiB, qd 8, until steady iops every 20ms, at most 4 passes,
    over 3, range 100%, slope 100%
}
"""


def run_on(backend, plan, folder, *more):
    """Run a plan on a small drive of its own."""
    target: list[str | Path] = ["--create", "32MiB"]
    if backend == "io_uring":
        target = ["--create", "8MiB", "--target", folder / "scratch.bin"]
    return ioplan("run", plan, "--backend", backend, *target, *more, "--json")


@pytest.mark.slow
@pytest.mark.parametrize(
    "backend", ["sim", pytest.param("io_uring", marks=pytest.mark.long)]
)
def test_each_clause_runs(backend, tmp_path):
    """All in one session; each is a test, which has its clauses as its title."""
    state = "after ready" if backend == "sim" else ""  # it warns of what is not written
    clauses = [one for one in CLAUSES if backend != "sim" or "after c" not in one]
    tests = (f'test "{one}" {{ {state} run {one} for 100ms }}\n' for one in clauses)
    plan = plan_file(tmp_path, "on failure continue\n" + HEAD + "".join(tests))
    done = run_on(backend, plan, tmp_path)
    assert done.code == 0, done.err + done.out[-1500:]
    records = [line["record"] for line in done.of("record")]
    runs = [one for one in records if one["asked"]["kind"] == "run"]
    assert [one["asked"]["test"] for one in runs] == clauses
    for record in runs:
        assert record["status"] == "ok" and record["total"]["ios"] > 0, record
        own = [one for one in record["warnings"] if "another session" not in one]
        assert own == [] or backend == "io_uring", (record["asked"]["test"], own)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("statements", STATEMENTS)
def test_each_statement_runs(statements, backend, tmp_path):
    plan = plan_file(tmp_path, HEAD + f'test "T" {{ {statements} }}')
    done = run_on(backend, plan, tmp_path)
    # real rounds of 100 ms need not become steady
    noise = backend == "io_uring" and done.code == 1 and "not steady" in done.out
    assert done.code == 0 or noise, done.err + done.out[-1500:]
    succeed("plan", plan, "--json", "--capacity", "32MiB")
    assert all(line["record"]["status"] == "ok" for line in done.of("record"))
